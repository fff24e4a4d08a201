"""From waits to curves: the true one always fits, wrong ones are contradicted given enough waits, and nothing by accident."""

from functools import cache

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crashloop.inference.fitting import Fitter, chances
from crashloop.inference.judging import Agreement, CurveRange, NodeFinding, judge_node, ranges, worst
from crashloop.inference.loops import CrashLoop, StatedDelay
from crashloop.inference.windows import Window, grid, window
from crashloop.model.config import Curve
from crashloop.profiles import load_profile
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.observed_loops import V1_34, V1_37, loop_of, simulated_curve, simulated_loops
from suites.selftest.kit.profiles import all_profiles

VERSIONS = tuple(KubernetesVersion(1, minor, 1) for minor in (33, 34, 35, 36, 37))
TEN, TWO, STOCK = Curve(10.0, 10.0), Curve(2.0, 2.0), Curve(10.0, 300.0)


@cache
def starting(version: KubernetesVersion) -> tuple[KubeletProfile, ...]:
    """The profiles that a kubelet starts with, but for those above 300 s that it lets pass by rounding."""
    curves = ((profile, simulated_curve(profile, version)) for profile in all_profiles())
    return tuple(profile for profile, curve in curves if curve is not None and curve.maximum_s <= 300)


def judged(*loops: CrashLoop, configured: Curve | None = None, version: KubernetesVersion = V1_37) -> NodeFinding:
    return judge_node("worker", loops, version, configured=configured)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_curve_that_a_kubelet_follows_always_fits(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(VERSIONS))
    profile = data.draw(st.sampled_from(starting(version)))
    curve = simulated_curve(profile, version)
    assert curve is not None
    loops = simulated_loops(
        profile,
        version,
        pods=data.draw(st.integers(1, 3)),
        restarts=data.draw(st.integers(1, 8)),
        seed=data.draw(st.integers(0, 10_000)),
        run_s=data.draw(st.sampled_from([0.0, 0.7, 3.0, 40.0, 400.0])),
        missed=data.draw(st.integers(0, 3)),
    )
    finding = judge_node("node", loops, version, configured=curve)
    assert finding.agreement in (Agreement.AGREES, Agreement.TOO_LITTLE)
    if loops:
        assert any(
            each.initial_s == curve.initial_s and each.lowest_maximum_s <= curve.maximum_s <= each.highest_maximum_s
            for each in finding.fitting
        )


CURVES = ("stock", "max-1s", "max-4s", "max-20s", "max-60s", "reduced-decay", "reduced-decay-max-60s")


def far_apart(one: Curve, other: Curve) -> bool:
    """Whether waits can tell two curves apart whatever the runtime takes to start a container."""
    return other.maximum_s > 3 * one.maximum_s + 10 or one.maximum_s > 3 * other.maximum_s + 10


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(CURVES), st.sampled_from(CURVES), st.integers(0, 10_000))
def test_a_wrong_configuration_is_contradicted_given_enough_waits(true: str, wrong: str, seed: int) -> None:
    curve, other = simulated_curve(load_profile(true), V1_37), simulated_curve(load_profile(wrong), V1_37)
    assert curve is not None
    assert other is not None
    loops = simulated_loops(load_profile(true), V1_37, pods=3, restarts=30, seed=seed)
    if far_apart(curve, other):
        finding = judge_node("node", loops, V1_37, configured=other)
        assert finding.agreement is Agreement.CONTRADICTS
        assert finding.objections


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(["max-1s", "max-2s", "max-4s", "max-10s", "max-11s"]), st.integers(0, 10_000))
@example("max-2s", 420)
def test_a_small_maximum_is_the_most_likely_one_after_a_few_dozen_waits(name: str, seed: int) -> None:
    """The initial delay shows in one wait per pod only, so one that is a second shorter may seem likelier."""
    loops = simulated_loops(load_profile(name), V1_37, pods=5, restarts=12, seed=seed)
    curve, likely = simulated_curve(load_profile(name), V1_37), judge_node("node", loops, V1_37).likely
    assert curve is not None
    assert likely is not None
    assert likely.maximum_s == curve.maximum_s
    assert curve.initial_s - likely.initial_s in (0, 1)


def test_every_curve_of_whole_seconds_that_a_node_can_be_configured_for_is_a_candidate_once() -> None:
    candidates = grid()
    assert len(candidates) == len(set(candidates)) == 600 - 1
    curves = {curve for profile in starting(V1_37) if (curve := simulated_curve(profile, V1_37)) is not None}
    assert len(starting(V1_37)) > 20
    assert {curve for curve in curves if float(curve.maximum_s).is_integer()} <= set(candidates)


def test_a_maximum_between_two_whole_seconds_is_named_if_it_is_configured_or_stated_and_else_by_its_neighbours() -> (
    None
):
    between = Curve(2.5, 2.5)
    loops = simulated_loops(load_profile("max-2500ms"), V1_37, pods=3, restarts=12)
    known, unknown = judged(*loops, configured=between), judged(*loops)
    assert known.agreement is Agreement.AGREES
    assert between in [Curve(each.initial_s, each.lowest_maximum_s) for each in known.fitting]
    assert unknown.likely == between
    unstated = [msgspec.structs.replace(loop, stated=()) for loop in loops]
    assert judged(*unstated).likely in (Curve(2.0, 2.0), Curve(3.0, 3.0))


@pytest.mark.parametrize(
    ("due_s", "expected"),
    [(0, Window(0, 8)), (1, Window(1, 8)), (10, Window(10, 22)), (300, Window(300, 337)), (1.5, Window(1, 9))],
)
def test_a_window_reaches_from_the_delay_to_the_latest_start(due_s: float, expected: Window) -> None:
    assert window(due_s, V1_37) == expected


def test_a_kubelet_that_polls_has_later_windows() -> None:
    assert window(10.0, V1_34) == Window(10, 32)


@pytest.mark.parametrize("version", [V1_37, V1_34], ids=str)
@pytest.mark.parametrize("due_s", [0.0, 1.0, 10.0, 80.0, 300.0])
def test_chances_add_up_and_stay_inside_the_window(due_s: float, version: KubernetesVersion) -> None:
    found, allowed = chances(due_s, version), window(due_s, version)
    assert found.sum() == pytest.approx(1.0)
    assert found[: allowed.earliest].sum() == 0
    assert found[allowed.latest + 1 :].sum() == 0
    assert (found[allowed.earliest : allowed.latest + 1] > 0).all()


def test_waits_within_the_windows_agree() -> None:
    finding = judged(loop_of(10, 13, 16, 11), configured=TEN)
    assert finding.agreement is Agreement.AGREES
    assert finding.likely == TEN
    assert (finding.loops, finding.waits, finding.used) == (1, 4, 4)


def test_waits_that_are_too_short_contradict_and_are_reported() -> None:
    finding = judged(loop_of(2, 3, 2, 3, 2, 3, 2, 3), configured=TEN)
    assert finding.agreement is Agreement.CONTRADICTS
    assert finding.objections[0] == "ns/web app: restart 2 came 2 s after the exit; at least 10 s was due."
    assert len(finding.objections) == 5


def test_waits_that_are_too_long_contradict_and_are_reported() -> None:
    finding = judged(loop_of(40, 45, 52), configured=TWO)
    assert finding.agreement is Agreement.CONTRADICTS
    assert finding.objections[0] == "ns/web app: restart 2 came 40 s after the exit; 2 s was due, at most 10 s."


def test_a_single_late_start_is_no_contradiction() -> None:
    assert judged(loop_of(10, 13, 45, 11), configured=TEN).agreement is Agreement.AGREES


def test_waits_that_one_restart_of_the_kubelet_cuts_short_are_no_contradiction() -> None:
    loops = [loop_of(12, 3, 11, 12, name=f"web-{number}", from_s=100 + number) for number in range(5)]
    finding = judged(*loops, configured=TEN)
    assert finding.agreement is Agreement.TOO_LITTLE
    assert (
        finding.note
        == "waits shorter than due: 5, all within 15 s as after a restart of the kubelet; observe for longer"
    )


def test_waits_that_are_cut_short_again_and_again_are() -> None:
    loops = [loop_of(12, 3, 11, 12, name=f"web-{number}", from_s=100 + 60 * number) for number in range(5)]
    assert judged(*loops, configured=TEN).agreement is Agreement.CONTRADICTS


def test_free_first_restarts_say_nothing() -> None:
    finding = judged(loop_of(0, first_restart=1), configured=TEN)
    assert (finding.agreement, finding.used, finding.likely) == (Agreement.TOO_LITTLE, 0, None)


def test_two_waits_are_too_little() -> None:
    assert judged(loop_of(2, 2), configured=TEN).agreement is Agreement.TOO_LITTLE


def test_long_runs_say_nothing() -> None:
    finding = judged(loop_of(3, 3, 3, 3, run_s=700), configured=STOCK)
    assert (finding.agreement, finding.used) == (Agreement.TOO_LITTLE, 0)


def test_the_second_restart_cannot_have_come_further_than_the_initial_delay() -> None:
    assert (
        judged(*(loop_of(85, name=f"web-{n}") for n in range(4)), configured=STOCK).agreement is Agreement.CONTRADICTS
    )
    late = (loop_of(85, first_restart=9, name=f"web-{n}") for n in range(4))
    assert judged(*late, configured=STOCK).agreement is Agreement.TOO_LITTLE, "some delay of the curve is always near"


def test_a_node_whose_counters_were_lost_is_not_judged() -> None:
    finding = judge_node("worker", [loop_of(2, 2, 2, 2, 2, 2)], V1_37, configured=TEN, disturbed="it was booted")
    assert (finding.agreement, finding.note) == (Agreement.TOO_LITTLE, "it was booted")


def test_without_a_configuration_nothing_is_compared() -> None:
    finding = judged(loop_of(10, 13, 15, 11))
    assert (finding.agreement, finding.configured) == (Agreement.NOT_COMPARED, None)


def test_probabilities_of_the_curves_that_fit_add_up() -> None:
    fitter = Fitter(grid(), V1_37)
    fitter.take(next(iter(loop_of(10, 22, 41).chains)))
    fits = fitter.fits()
    assert sum(fit.probability for fit in fits) == pytest.approx(1.0)
    assert all(fit.probability == 0 for fit in fits if not fit.fits)
    assert fits[0].curve == STOCK


def test_neighbouring_maxima_are_reported_as_a_range() -> None:
    curves = [Curve(10.0, 11.0), Curve(10.0, 10.0), Curve(10.0, 20.0), Curve(1.0, 4.0)]
    assert [(each.initial_s, each.lowest_maximum_s, each.highest_maximum_s) for each in ranges(curves)] == [
        (1.0, 4.0, 4.0),
        (10.0, 10.0, 11.0),
        (10.0, 20.0, 20.0),
    ]
    assert ranges([]) == ()
    assert isinstance(ranges(curves)[0], CurveRange)


@pytest.mark.parametrize(
    ("agreements", "stands"),
    [
        ([], Agreement.TOO_LITTLE),
        ([Agreement.NOT_COMPARED], Agreement.TOO_LITTLE),
        ([Agreement.AGREES, Agreement.NOT_COMPARED], Agreement.AGREES),
        ([Agreement.AGREES, Agreement.TOO_LITTLE], Agreement.TOO_LITTLE),
        ([Agreement.AGREES, Agreement.TOO_LITTLE, Agreement.CONTRADICTS], Agreement.CONTRADICTS),
    ],
)
def test_the_worst_of_the_nodes_that_were_compared_stands_for_all(
    agreements: list[Agreement], stands: Agreement
) -> None:
    finding = judged(loop_of(10, 13))
    assert worst(msgspec.structs.replace(finding, agreement=each) for each in agreements) is stands


def begun_before(*waits_s: int, restart: int = 50, apart_s: int = 100) -> list[CrashLoop]:
    """Pods that each show one wait from before the observation, which ended so far apart."""
    found = []
    for number, wait_s in enumerate(waits_s):
        loop = loop_of(wait_s, first_restart=restart, name=f"web-{number}", from_s=100 + number * apart_s)
        waits = tuple(msgspec.structs.replace(wait, seen_whole=False) for wait in loop.waits)
        found.append(msgspec.structs.replace(loop, waits=waits))
    return found


@pytest.mark.parametrize("wait_s", [0, 2, 120])
def test_waits_from_before_the_observation_that_a_curve_does_not_allow_count_against_it(wait_s: int) -> None:
    finding = judged(*begun_before(*[wait_s] * 6), configured=STOCK)
    assert finding.agreement is Agreement.CONTRADICTS
    assert finding.objections


@pytest.mark.parametrize("wait_s", [0, 2, 60, 120])
def test_waits_that_one_unseen_restart_of_the_kubelet_may_have_cut_short_show_nothing(wait_s: int) -> None:
    finding = judged(*begun_before(*[wait_s] * 6, apart_s=1), configured=STOCK)
    assert finding.agreement is Agreement.TOO_LITTLE
    assert finding.fitting


@pytest.mark.parametrize("whole", [True, False])
def test_waits_at_an_unknown_step_show_only_the_longest_delay(whole: bool) -> None:
    """A maximum of 60 s looks so, and a node with 300 s only if every counter was reset a while ago."""
    loops = (
        [loop_of(60, first_restart=50, name=f"web-{number}") for number in range(6)]
        if whole
        else begun_before(*[60] * 6)
    )
    finding = judged(*loops, configured=STOCK)
    assert finding.agreement is Agreement.TOO_LITTLE
    assert "waits that show the configured curve: 0 of the 3 needed" in finding.note
    assert judged(*loops, configured=Curve(10.0, 60.0)).agreement is Agreement.AGREES


def test_an_unseen_restart_of_the_kubelet_does_not_hide_the_waits_that_were_seen_whole() -> None:
    finding = judged(*begun_before(2, 3, apart_s=1), loop_of(11, 12, 13), configured=TEN)
    assert (finding.agreement, finding.used) == (Agreement.AGREES, 3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 60), st.integers(0, 400), st.integers(0, 900), st.booleans()), max_size=8),
    st.sampled_from([TEN, TWO, STOCK]),
)
def test_no_waits_that_fit_no_delay_of_a_curve_agree_with_it(
    waits: list[tuple[int, int, int, bool]], curve: Curve
) -> None:
    delays = {min(curve.initial_s * 2**step, curve.maximum_s) for step in range(11)}
    allowed = [window(due_s, V1_37) for due_s in delays]
    loops = []
    for number, (restart, wait_s, from_s, whole) in enumerate(waits):
        if any(each.earliest <= wait_s <= each.latest for each in allowed):
            continue
        loop = loop_of(wait_s, first_restart=restart, name=f"web-{number}", from_s=from_s + 1)
        seen = tuple(msgspec.structs.replace(wait, seen_whole=whole) for wait in loop.waits)
        loops.append(msgspec.structs.replace(loop, waits=seen))
    assert judged(*loops, configured=curve).agreement is not Agreement.AGREES


def stating(*delays_s: float) -> CrashLoop:
    """A container of which only the kubelet's messages were seen."""
    stated = tuple(StatedDelay(restart=40 + number, seconds=delay_s) for number, delay_s in enumerate(delays_s))
    return CrashLoop(namespace="ns", pod="web", container="app", node="worker", waits=(), stated=stated)


@pytest.mark.parametrize("stated_s", [2.0, 8.0, 2.5, 301.0])
def test_a_delay_that_the_kubelet_states_and_a_curve_does_not_have_contradicts_it(stated_s: float) -> None:
    finding = judged(stating(stated_s), configured=STOCK)
    assert finding.agreement is Agreement.CONTRADICTS
    assert finding.objections == (
        f"ns/web app: the kubelet states a back-off of {stated_s:g} s before restart 40, a delay that the curve from 10 s to "
        "300 s does not have.",
    )


def test_delays_that_the_kubelet_states_never_show_agreement() -> None:
    finding = judged(stating(10.0, 20.0, 40.0, 80.0, 160.0, 300.0), configured=STOCK)
    assert (finding.agreement, finding.used, finding.likely) == (Agreement.TOO_LITTLE, 0, None)


def test_delays_that_the_kubelet_states_rule_curves_out() -> None:
    assert judged(stating(8.0)).fitting == (
        CurveRange(initial_s=1.0, lowest_maximum_s=8.0, highest_maximum_s=300.0),
        CurveRange(initial_s=8.0, lowest_maximum_s=8.0, highest_maximum_s=8.0),
    )
