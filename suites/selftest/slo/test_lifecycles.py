"""Histories become lifecycles: what was seen of a pod, and what was due after each exit."""

from typing import Any

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.slo.lifecycles import lifecycles
from crashloop.slo.measurements import Lifecycle
from crashloop.spec.pod import ContainerKind, RestartPolicy
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import runs
from suites.selftest.kit.cases import CRASHING, GOOD, MAX_2S, app, case, good, resetting, scenario
from suites.selftest.kit.histories import ZERO_NS, History, ns

REDUCED = KubeletProfile(name="reduced", config={"featureGates": {"ReduceDefaultCrashLoopBackOffDecay": True}})
"""Delays of 1, 2, 4, ... 60 s."""


def only(history: History, profile: KubeletProfile = MAX_2S, **options: Any) -> Lifecycle:
    promised = case(history, profile)
    (found,) = lifecycles(promised.recording, promised, group="crasher", **options)
    return found


def unpromised(history: History) -> Lifecycle:
    (found,) = lifecycles(history.recording(), group="crasher")
    return found


def test_a_good_history_as_a_lifecycle() -> None:
    pod = only(good())
    assert (pod.pod, pod.node, pod.group, pod.asked_ns) == ("crashing", "node-1", "crasher", ZERO_NS)
    assert pod.seen_ns == pod.started_ns == ns(0.5 + 0.3)
    assert pod.starts_ns == {"app": (ns(0.5), ns(2.0), ns(5.3), ns(8.6))}
    assert pod.restart_counts == {"app": 3}
    assert pod.deleted_ns is None


def test_each_exit_is_followed_by_a_restart_with_its_due_delay_and_lateness() -> None:
    pod = only(good())
    assert [(each.number, each.due_s, each.exit_code) for each in pod.restarts] == [
        (1, 0.0, 1),
        (2, 2.0, 1),
        (3, 2.0, 1),
    ]
    assert [each.late_s for each in pod.restarts] == pytest.approx([0.4, 0.2, 0.2])


def test_without_a_promise_nothing_is_due_and_nothing_is_owed() -> None:
    pod = unpromised(good())
    assert [(each.late_s, each.expected) for each in pod.restarts] == [(None, None)] * 3
    assert pod.finals_ns == ()


def test_a_load_whose_exits_are_not_its_own_has_no_known_delays() -> None:
    assert [each.due_s for each in only(good(), has_known_delays=False).restarts] == [None] * 3


def test_a_kubelet_that_was_started_anew_has_forgotten_what_was_due() -> None:
    # The second exit is at 3.0 s: due again once the kubelet is back, and the curve begins anew.
    lost = good().node(0.0).node(4.5, started_s=4.0)
    assert [each.due_s for each in only(lost, REDUCED).restarts] == [0.0, 1.0, 1.0]
    assert [each.due_s for each in only(good(), REDUCED).restarts] == [0.0, 1.0, 2.0]


def test_where_the_wall_clock_jumped_no_delay_is_known() -> None:
    jumped = History(CRASHING).clock(0).clock_step(3.5, 0.9).lives("app", *GOOD).ends(110)
    assert [each.due_s for each in only(jumped).restarts] == [None, None, 2.0]


def test_where_the_evidence_cannot_tell_which_delay_is_due_the_longest_is_kept_too() -> None:
    # A run of 600 s drops the counter; this one was attempted up to a second before it was created.
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1), (5.3, 604.7, 1), (615, None, 0)).ends(620)
    assert [(each.due_s, each.due_at_most_s) for each in only(history).restarts][-1] == (0.0, 2.0)


def test_a_restart_before_its_delay_has_passed_is_early_by_what_is_missing() -> None:
    early = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1), (4.4, 6.3, 1), (8.6, None, 0)).ends(30)
    assert [each.early_s and round(each.early_s, 3) for each in only(early).restarts] == [None, 0.6, None]


@pytest.mark.parametrize(
    ("third_s", "ends_s", "waited_s"),
    [(50.0, 60, 46.9), (None, 50, 47.0), (30.0, 60, None), (None, 30, None)],
    ids=["came late", "never came", "came in time", "had time left"],
)
def test_a_restart_that_is_missing_for_half_a_minute_more_than_allowed_is_lost(
    third_s: float | None, ends_s: float, waited_s: float | None
) -> None:
    later: tuple[tuple[float, float | None, int], ...] = () if third_s is None else ((third_s, None, 0),)
    pod = only(History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1), *later).ends(ends_s))
    lost = pod.restarts[-1].lost
    assert (lost and round(lost.waited_s, 1)) == waited_s
    assert lost is None or (lost.latest_s, lost.doubt) == (4.15, "")


def test_a_lost_restart_that_the_host_may_have_held_up_or_hidden_is_open() -> None:
    def doubt(history: History) -> str:
        lost = only(history.lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1)).ends(60)).restarts[-1].lost
        assert lost is not None
        return lost.doubt

    assert "missed heartbeats" in doubt(History(CRASHING).stall(6.0, 53.0))
    assert doubt(History(CRASHING).gap(Channel.RUNTIME, 10, 20).gap(Channel.JOURNAL, 10, 20)).startswith(
        "A start could have gone unseen"
    )


def test_nothing_is_lost_after_the_end_of_the_observation() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1)).ends(60)
    assert only(history).restarts[-1].lost is not None
    assert only(history, until_ns=ns(30)).restarts[-1].lost is None


def test_a_restart_that_has_not_come_is_open_until_the_recording_ends() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1)).ends(30)
    pod = only(history)
    assert (pod.restarts[-1].created_ns, pod.restarts[-1].late_s) == (None, None)
    assert pod.seen_until_ns == pytest.approx(ns(30), abs=2000)


FAILING = scenario(app(runs((1, 1), (1, 0), (1, 0))), policy=RestartPolicy.ON_FAILURE, name="failing")
"""Under OnFailure an exit with 0 is final."""


def test_where_no_restart_is_expected_none_is_open() -> None:
    pod = only(History(FAILING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 0)).ends(30))
    assert [(each.exit_code, each.expected) for each in pod.restarts] == [(1, True)]


def test_a_restart_that_nobody_asked_for_is_unexpected_and_its_exit_final() -> None:
    pod = only(History(FAILING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 0), (4.0, 5.0, 0)).ends(30))
    assert [each.expected for each in pod.restarts] == [True, False]
    assert pod.finals_ns == (ns(3.0), ns(5.0))


def test_after_an_exit_of_an_unknown_code_it_is_open_whether_a_restart_is_due() -> None:
    codeless = History(FAILING).lives("app", (0.5, None, 0), runtime=False).journal(1.5, Kind.EXITED, "app", 0)
    pod = only(codeless.ends(30))
    assert (pod.finals_ns, [each.expected for each in pod.restarts]) == ((), [None])


def test_a_container_that_was_created_but_did_not_start_is_a_restart_that_is_on_its_way() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1)).runtime(3.0, Kind.CREATED, "app", "app-1").ends(30)
    pod = only(history)
    assert [(each.created_ns, each.started_ns) for each in pod.restarts] == [(ns(3.0), None)]
    assert pod.unstarted_ns == {"app": (ns(3.0),)}


def test_an_instance_that_never_ran_is_no_restart_and_is_kept_apart() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1)).runtime(3.0, Kind.CREATED, "app", "never")
    history.runtime(3.5, Kind.REMOVED, "app", "never").lives("app", (6.0, None, 0), first=1)
    pod = only(history.ends(30))
    assert [(each.number, each.created_ns) for each in pod.restarts] == [(1, ns(5.9))]
    assert (pod.unstarted_ns, pod.starts_ns) == ({"app": (ns(3.0),)}, {"app": (ns(0.5), ns(6.0))})
    assert only(good()).unstarted_ns == {}


def test_a_pod_that_is_reported_as_failed_says_since_when() -> None:
    history = History(CRASHING).lives("app", (0.5, 1.5, 1))
    history.status(4.0, {"app": history.exited("app", 0, 0.5, 1.5, 1)}, phase="Failed")
    assert only(history.ends(30)).failed_ns == ns(4.0)
    assert only(good()).failed_ns is None


def test_a_deleted_pod_is_watched_until_it_is_gone() -> None:
    history = good().add(20.0, Channel.API, Kind.DELETED, {"resource_version": "9"}, pod=True)
    pod = only(history)
    assert (pod.deleted_ns, pod.seen_until_ns) == (ns(20.0), ns(20.0))


def test_without_the_runtime_a_restart_has_no_create() -> None:
    pod = only(History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, None, 0), runtime=False).ends(30))
    assert pod.restarts[0].created_ns is None
    assert pod.restarts[0].started_ns is not None
    assert pod.restarts[0].late_s is None


def test_a_pod_with_init_containers_says_so() -> None:
    both = scenario(app(name="setup", kind=ContainerKind.INIT), app(), policy=RestartPolicy.ALWAYS)
    assert only(History(both).lives("setup", (0.5, 1.0, 0)).lives("app", (1.5, None, 0)).ends(30)).has_init
    assert not only(good()).has_init


def test_started_means_all_containers_at_least_once() -> None:
    pair = scenario(app(name="one"), app(name="two"))
    history = History(pair)
    history.status(1.0, {"one": history.running("one", 0, 0.9), "two": {"name": "two", "restartCount": 0}})
    history.status(2.0, {"one": history.exited("one", 0, 0.9, 1.9, 1)})
    history.status(3.0, {"two": history.running("two", 0, 2.9)})
    assert only(history.ends(30)).started_ns == ns(3.0)


def restarted_with_all(*companion: tuple[float, float | None, int]) -> Lifecycle:
    """Nothing but the exit of `source` with 42, at 5 s, requires restarts; it starts again at 8 s."""
    source = resetting(runs((4.5, 42)), name="source")
    pair = scenario(source, app(runs((2.5, 0)), name="other"), policy=RestartPolicy.NEVER)
    return only(History(pair).lives("source", (0.5, 5.0, 42), (8.0, None, 0)).lives("other", *companion).ends(90))


def test_the_first_start_after_a_restart_of_all() -> None:
    (found,) = restarted_with_all((0.5, 5.2, 143), (6.5, None, 0)).restarts_all
    assert (found.container, found.exited_ns, found.started_ns) == ("source", ns(5.0), ns(6.5))


def of_companion(pod: Lifecycle) -> list[tuple[bool | None, bool]]:
    """Of each restart of it: whether it was asked for, and whether it came."""
    return [(each.expected, each.started_ns is not None) for each in pod.restarts if each.container == "other"]


def test_a_restart_of_all_asks_for_the_restart_of_a_companion_that_it_kills() -> None:
    pod = restarted_with_all((0.5, 5.2, 137), (6.5, None, 0))
    assert (of_companion(pod), pod.finals_ns) == ([(True, True)], ())


def test_a_restart_of_all_asks_for_the_restart_of_a_companion_that_had_exited_before() -> None:
    pod = restarted_with_all((0.5, 3.0, 0), (6.5, None, 0))
    assert (of_companion(pod), pod.finals_ns) == ([(True, True)], ())


def test_a_restart_of_all_asks_for_one_restart_and_not_for_the_next() -> None:
    pod = restarted_with_all((0.5, 5.2, 137), (6.5, 9.0, 0), (9.5, None, 0))
    assert (of_companion(pod), pod.finals_ns) == ([(True, True), (False, True)], (ns(9.0),))


def test_a_companion_that_a_restart_of_all_never_brought_back_is_waited_for() -> None:
    pod = restarted_with_all((0.5, 5.2, 137))
    assert (of_companion(pod), pod.finals_ns) == ([(True, False)], ())


def test_an_empty_recording_has_no_pods() -> None:
    assert lifecycles(History(CRASHING).without(Kind.CREATED).without(Kind.SANDBOX).ends(3).recording()) == ()
