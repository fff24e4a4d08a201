"""Starts behind other containers of a pod: one may come late by a lost sync, many may not."""

import pytest

from crashloop.checks.pooled import least_beyond_chance
from crashloop.checks.samples import LATE_SHARE
from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind, RestartPolicy
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.verdict import Outcome, Verdict
from sim.faults import PunctualityFault
from sim.host import BUSY, FROZEN, STARVED, HostModel
from suites.selftest.kit.cases import app, compared, renamed, resetting, scenario
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import recordings_of, verdict_of

SETUP = Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 0)))
SIDECAR = Container(name="sidecar", kind=ContainerKind.INIT, program=HOLDS, restart_policy=RestartPolicy.ALWAYS)
BEHIND_SETUP = scenario(SETUP, app(HOLDS), app(HOLDS, name="other"))
BEHIND_SIDECAR = scenario(SIDECAR, app(HOLDS))
(TRIAL,) = [each for each in trials() if each.requirement.checkers == ("prompt-starts",)]


def behind_setup(number: int, late_s: float, *, other_s: float = 0.1) -> History:
    """An init container that ends at 3 s, and two containers that are created `late_s` and `other_s` more after it."""
    history = History(renamed(BEHIND_SETUP, f"setup-{number}"), create_s=0.0).lives("setup", (2.0, 3.0, 0))
    return history.lives("app", (3.0 + late_s, None, 0)).lives("other", (3.0 + late_s + other_s, None, 0))


def behind_sidecar(number: int, late_s: float) -> History:
    history = History(renamed(BEHIND_SIDECAR, f"sidecar-{number}"), create_s=0.0).lives("sidecar", (2.0, None, 0))
    return history.lives("app", (2.0 + late_s, None, 0))


def judged(*histories: History) -> Verdict:
    return compared(*(each.ends(60) for each in histories), checkers=("prompt-starts",))


def judged_after(*late_s: float) -> Verdict:
    return judged(*(behind_setup(number, each) for number, each in enumerate(late_s)))


def test_starts_at_once_pass_with_the_time_of_the_last_container() -> None:
    verdict = judged_after(*[0.5] * 8, 0.9)
    assert (verdict.outcome, verdict.findings) == (Outcome.PASS, ())
    assert verdict.facts["took_s"] == [*[0.6] * 8, 1.0]
    assert verdict.facts["estimate"] == (
        "9 waits for other containers, the slowest after 1 s; a FAIL in 95 of 100 runs if 55 % of all are late"
    )


def test_three_starts_of_nine_that_are_8_s_late_are_a_fail() -> None:
    verdict = judged_after(8.5, *[0.5] * 6, 8.2, 8.8)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings == (
        "CAP-3: after 3 of 9 waits for other containers of its pod a container was created more than 5 s after what it waited "
        "for, up to 8.9 s after it; one in a hundred may be as late.",
    )


def test_two_late_starts_of_nine_prove_nothing() -> None:
    assert judged_after(16.0, *[0.5] * 7, 16.0).outcome is Outcome.PASS


def test_one_late_container_of_a_pod_is_late_though_the_other_is_not() -> None:
    late = [behind_setup(number, 0.5, other_s=9.0) for number in range(9)]
    assert judged(*late).outcome is Outcome.FAIL


def test_late_starts_behind_sidecars_are_a_fail() -> None:
    assert judged(*(behind_sidecar(number, 8.0) for number in range(9))).outcome is Outcome.FAIL


def test_a_start_behind_a_sidecar_counts_from_the_life_that_ran() -> None:
    crashing = scenario(
        Container(name="sidecar", kind=ContainerKind.INIT, program=exits_with(1), restart_policy=RestartPolicy.ALWAYS),
        app(),
    )
    histories = []
    for number in range(9):
        history = History(renamed(crashing, f"crashing-{number}"), create_s=0.0)
        history.lives("sidecar", (2.0, 3.0, 1), (15.0, None, 0))
        histories.append(history.lives("app", (15.2, None, 0)))
    assert judged(*histories).facts["took_s"] == [0.2] * 9


def test_a_start_behind_a_startup_probe_counts_from_its_success() -> None:
    probed = Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        program=HOLDS,
        restart_policy=RestartPolicy.ALWAYS,
        probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFFS"),),
    )
    histories = []
    for number in range(9):
        history = History(renamed(scenario(probed, app()), f"probed-{number}"), create_s=0.0).lives(
            "sidecar", (2.0, None, 0)
        )
        history.note(9.0, "sidecar", 0, "startup.0", "F").note(19.0, "sidecar", 0, "startup.1", "S")
        histories.append(history.lives("app", (19.5, None, 0)))
    assert judged(*histories).facts["took_s"] == [0.5] * 9


def test_a_pod_that_began_again_meanwhile_is_left_out() -> None:
    source = resetting(runs((5, 42), (1, 0)), name="source")
    again = scenario(SETUP, source, app(HOLDS), policy=RestartPolicy.NEVER)
    history = History(renamed(again, "again"), create_s=0.0).lives("setup", (2.0, 3.0, 0), (9.0, 10.0, 0))
    history.lives("source", (3.2, 8.2, 42), (10.2, None, 0)).lives("app", (10.3, None, 0))
    verdict = judged(history, *(behind_setup(number, 0.5) for number in range(9)))
    assert verdict.facts["took_s"] == [0.2, *[0.6] * 9]


def test_what_the_host_held_up_explains_late_starts() -> None:
    held = []
    for number in range(9):
        history = behind_setup(number, 8.0)
        history.waited_us = 900_000
        held.append(history)
    verdict = judged(*held)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "run-queue wait of kubelet and runtime" in verdict.findings[0]


def test_what_the_scenario_does_meanwhile_may_explain_late_starts() -> None:
    late = [behind_setup(number, 8.0).intervention(5.0, "restart-kubelet") for number in range(9)]
    verdict = judged(*late)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "The scenario intervened meanwhile" in verdict.findings[0]


def test_eight_late_starts_are_too_few_to_accuse() -> None:
    verdict = judged_after(*[8.0] * 8)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].startswith("CAP-3: 8 waits seen, 9 needed")


def test_as_many_may_be_late_as_chance_makes_of_one_in_a_hundred() -> None:
    assert [least_beyond_chance(of, LATE_SHARE) for of in (9, 17, 60)] == [3, 4, 6]


def test_regular_containers_that_start_8_s_late_are_a_fail_of_the_suite() -> None:
    late = frozenset({PunctualityFault.BEHIND_INIT_8_S_LATE})
    recordings = recordings_of(TRIAL.scenario, late)
    assert verdict_of(TRIAL.requirement, TRIAL.scenario, *recordings).outcome is Outcome.FAIL


@pytest.mark.parametrize("host", [BUSY, STARVED, FROZEN], ids=lambda host: host.name)
def test_a_right_kubelet_is_never_accused(host: HostModel) -> None:
    recordings = (recordings_of(TRIAL.scenario, host=host, seed=seed) for seed in range(1, 5))
    assert Outcome.FAIL not in {verdict_of(TRIAL.requirement, TRIAL.scenario, *each).outcome for each in recordings}
