"""How long after a load healthy pods start as fast as before it."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.slo.judge import judge
from crashloop.slo.measurements import Lifecycle, Phase, SloVerdict
from crashloop.slo.relative import PodStart, recovered_s
from crashloop.slo.row_faults import faults, unfit
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import measured, ns, phase, row, started

PHASES = (
    phase(0, 100, name="baseline"),
    phase(120, 220),
    msgspec.structs.replace(phase(250, 350, name="recovery"), came_ns=ns(240)),
)
RECOVERY = {"kind": "recovery", "groups": ["healthy"], "after": "storm", "to": {"phase": "baseline"}, "times": 1.5}
FAST = [started(at, 1) for at in range(0, 100, 10)]
"""Ten pods of the baseline: a start may take 1.5 s."""


def recovery(*pods: Lifecycle, phases: Sequence[Phase] = PHASES, **target: Any) -> SloVerdict:
    rule = row(RECOVERY, {**(target or {"at_most": 60}), "unit": "s"}, phase="recovery", min_samples=10)
    return judge(rule, measured(lifecycles=pods, phases=tuple(phases)))


def came(*took_s: float | None, from_s: float = 241) -> list[Lifecycle]:
    """Healthy pods that come every 10 s after the storm."""
    return [started(from_s + 10 * at, each, seen_until_s=400) for at, each in enumerate(took_s)]


def test_the_recovery_is_the_first_pod_from_which_on_all_start_as_fast_as_before() -> None:
    verdict = recovery(*FAST, *came(9, 1, 1.6, *[1.5] * 8))
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 51, 11)
    assert verdict.sentence == (
        "made-up: 51 s of 11 pods, target at most 60 s, phase recovery. It counts from the end of phase storm to the first pod "
        "from which on all start within 1.5 s, 1.5 times the p90 of phase baseline; 2 of 11 pods took longer, and the first was "
        "asked for after 21 s."
    )


def test_pods_count_from_the_start_of_the_users_on_and_only_those_of_the_load_after_the_storm() -> None:
    of_others = [started(at, 9, group="crasher") for at in (300, 340)]
    of_the_storm = [started(221, 1, seen_until_s=222), started(239, 1)]
    verdict = recovery(*FAST, *of_others, *of_the_storm, *came(*[1] * 10))
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 21, 10)
    measured_alone = [msgspec.structs.replace(each, came_ns=None) for each in PHASES]
    assert recovery(*FAST, *came(*[1] * 10), *came(1, from_s=345), phases=measured_alone).value == 31


def test_a_late_recovery_fails() -> None:
    verdict = recovery(*FAST, *came(*[9] * 5, *[1] * 6))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 71)
    assert recovery(*FAST, *came(*[9] * 5, *[1] * 6), reported=True).outcome is Outcome.PASS


def test_pods_that_never_recover_fail_once_the_target_has_passed() -> None:
    verdict = recovery(*FAST, *came(*[1] * 9, 9))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 111)
    assert verdict.sentence == (
        "made-up: 111 s of 10 pods, target at most 60 s, phase recovery. At that time after the end of phase storm the last pod "
        "still took longer to start than 1.5 s, 1.5 times the p90 of phase baseline; 1 of 10 pods did."
    )


def test_a_few_fast_pods_at_the_end_are_no_recovery() -> None:
    pods = (*came(*[1] * 3, 9), *came(*[1] * 4, from_s=282), *[started(241 + at, 1) for at in range(3)])
    verdict = recovery(*FAST, *pods)
    assert (verdict.outcome, verdict.value) == (Outcome.INCONCLUSIVE, None)
    assert (
        "4 of 11 pods, the last ones, started within 1.5 s, 1.5 times the p90 of phase baseline; 5 in a row are needed."
    ) in verdict.sentence
    assert recovery(*FAST, *pods, started(330, 1, seen_until_s=400)).value == 62


def test_the_last_slow_pod_beyond_the_target_is_a_fail_however_few_come_after_it() -> None:
    verdict = recovery(*FAST, *came(*[9] * 7, *[1] * 4))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 91)


def test_a_phase_that_ends_before_the_target_and_without_a_recovery_is_inconclusive() -> None:
    pods = [started(241 + at, 9) for at in range(10)]
    verdict = recovery(*FAST, *pods)
    assert (verdict.outcome, verdict.value) == (Outcome.INCONCLUSIVE, None)
    assert verdict.sentence == (
        "made-up: no recovery seen, target at most 60 s, phase recovery. Phase recovery: the last of 10 pods, 30 s after the end "
        "of phase storm, still took longer to start than 1.5 s, 1.5 times the p90 of phase baseline."
    )


def test_a_pod_that_has_not_started_within_the_bound_is_too_slow_and_one_that_was_not_watched_for_long_is_none() -> (
    None
):
    assert recovery(*FAST, *came(None, *[1] * 10)).value == 31
    unwatched = started(350, None, seen_until_s=351)
    verdict = recovery(*FAST, *came(*[1] * 10), unwatched)
    assert (verdict.value, verdict.samples) == (21, 10)


def test_too_few_pods_before_or_after_the_load_are_inconclusive() -> None:
    few_after = recovery(*FAST, *came(*[1] * 9))
    assert few_after.outcome is Outcome.INCONCLUSIVE
    assert few_after.sentence.endswith("9 pods are fewer than the 10 pods needed.")
    few_before = recovery(*FAST[:9], *came(*[1] * 10))
    assert few_before.outcome is Outcome.INCONCLUSIVE
    assert few_before.sentence == (
        "made-up: no recovery seen, target at most 60 s, phase recovery. Phase recovery: its bound is unknown, since phase "
        "baseline had 9 of the 10 pods needed."
    )
    assert recovery(*FAST).sentence.endswith("0 pods are fewer than the 10 pods needed.")


def test_without_a_load_before_it_there_is_no_recovery() -> None:
    verdict = recovery(*FAST, *came(*[1] * 10), phases=(PHASES[0], PHASES[2], phase(400, 500)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("Phase recovery: the run had no phase 'storm' before it.")


def test_a_row_names_phases_and_groups_that_a_profile_has() -> None:
    rule = row(RECOVERY, {"at_most": 60, "unit": "s"}, phase="recovery", min_samples=10)
    assert list(unfit(rule, groups=("healthy",), phases=PHASES, loads=())) == []
    assert list(unfit(rule, groups=("crasher",), phases=PHASES[2:], loads=())) == [
        "groups 'healthy' is not known; expected crasher",
        "after 'storm' is not known; expected recovery",
        "to.phase 'baseline' is not known; expected recovery",
    ]


@pytest.mark.parametrize(
    ("sli", "more", "fault"),
    [
        ({}, {"phase": None}, "phase is missing; an SLI of kind recovery is judged in the phase after a load"),
        ({"times": 0.9}, {}, "times is 0.9; expected 1 or more"),
        ({"percentile": 100}, {}, "sli.percentile is 100; expected more than 0 and less than 100"),
        ({}, {"min_samples": 9}, "min_samples is 9; p90 of fewer than 10 is simply the largest"),
        ({}, {"slice_s": 300}, "slice_s is given; an SLI of kind recovery has one value, that of the whole phase"),
        ({}, {"percentile": 99}, "percentile is 99; an SLI of kind recovery has none"),
        (
            {},
            {"target": {"at_most": 1, "unit": "pods"}},
            "target has the unit 'pods'; an SLI of kind recovery is in s",
        ),
    ],
    ids=["phase", "times", "percentile of the SLI", "samples", "slices", "percentile", "unit"],
)
def test_a_wrong_row_is_refused(sli: dict[str, Any], more: dict[str, Any], fault: str) -> None:
    asked: dict[str, Any] = {"target": {"at_most": 60, "unit": "s"}, "phase": "recovery", "min_samples": 10, **more}
    assert list(faults(row(RECOVERY | sli, asked.pop("target"), **asked))) == [fault]


@given(st.lists(st.floats(0, 3), max_size=30), st.floats(0, 3))
def test_no_pod_after_the_recovery_is_too_slow_and_the_one_before_it_is(took_s: list[float], bound_s: float) -> None:
    starts = [PodStart(float(at), each) for at, each in enumerate(took_s)]
    found = recovered_s(starts, bound_s)
    after = len(took_s) if found is None else int(found)
    assert all(each <= bound_s for each in took_s[after:])
    assert after == 0 or took_s[after - 1] > bound_s
