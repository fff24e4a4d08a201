"""Events reach the histories of the scenarios that they concern, and only while those are recorded."""

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.kube.watch import PodObject
from crashloop.pods.manifest import SCENARIO_LABEL
from crashloop.record.channels.api import take_pod
from crashloop.record.channels.channel import gap, recorder_event
from crashloop.record.event_router import HELD_EVENTS, EventRouter
from crashloop.record.history_file import end_events
from crashloop.spec.scenario import Until
from suites.selftest.kit.begun_scenarios import Begin, runtime, written


def reported(name: str, version: int, *, scenario: str | None = "s", restarts: int = 0) -> PodObject:
    """A pod as the API server reports it, with the label of a scenario."""
    container = {"name": "app", "restartCount": restarts, "state": {"running": {}}, "lastState": {}}
    labels = {} if scenario is None else {SCENARIO_LABEL: scenario}
    raw = {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), "labels": labels},
        "status": {"phase": "Running", "containerStatuses": [container]},
    }
    return msgspec.json.decode(msgspec.json.encode(raw), type=PodObject)


def test_what_concerns_a_pod_a_node_or_everyone_reaches_just_those(begin: Begin, router: EventRouter) -> None:
    here, there = begin("here", node="one"), begin("there", node="two")
    router.watch((here, there))
    router.claim("uid-here", "here", "here")
    router.pod("here", runtime(Kind.STARTED, 1, "here"))
    router.pod("stranger", runtime(Kind.STARTED, 2, "stranger"))
    router.node("two", gap(Channel.RUNTIME, from_ns=1, to_ns=2, reason="lost"))
    router.everyone(recorder_event(Kind.STALL, 3, {"stalled_ns": 1}))
    assert [event.kind for event in written(here)] == [Kind.STARTED, Kind.STALL]
    assert [event.kind for event in written(there)] == [Kind.GAP, Kind.STALL]


def test_what_is_said_of_a_pod_before_its_uid_is_known_is_held_back(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    for t_ns, kind in enumerate((Kind.CREATED, Kind.STARTED, Kind.EXITED)):
        router.pod("s", runtime(kind, t_ns, "s"))
    assert written(watched) == []
    router.claim("uid-s", "s", "s")
    router.pod("s", runtime(Kind.REMOVED, 9, "s"))
    assert [event.kind for event in written(watched)] == [Kind.CREATED, Kind.STARTED, Kind.EXITED, Kind.REMOVED]
    assert watched.starts("app", "uid-s") == 1


def test_pods_that_others_have_made_belong_to_the_scenario_of_their_label(begin: Begin, router: EventRouter) -> None:
    watched = begin("job")
    router.watch((watched,))
    router.pod("job-x7k2p", runtime(Kind.STARTED, 1, "job-x7k2p"))
    for pod in ("job-x7k2p", "job-9qzzf"):
        take_pod(router, reported(pod, 5, scenario="job"), received_ns=7)
    router.pod("job-9qzzf", runtime(Kind.STARTED, 2, "job-9qzzf"))
    assert [(event.kind, event.pod_uid) for event in written(watched)] == [
        (Kind.STARTED, "uid-job-x7k2p"),
        (Kind.STATUS, "uid-job-x7k2p"),
        (Kind.STATUS, "uid-job-9qzzf"),
        (Kind.STARTED, "uid-job-9qzzf"),
    ]
    assert watched.pods == {"uid-job-x7k2p": "job-x7k2p", "uid-job-9qzzf": "job-9qzzf"}


def test_a_pod_that_bears_the_name_of_a_scenario_is_not_its_pod(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    take_pod(router, reported("s", 5, scenario="another"), received_ns=7)
    router.pod("s", runtime(Kind.STARTED, 1, "s"))
    assert written(watched) == []


def test_a_pod_of_no_scenario_is_reported_once(
    begin: Begin, router: EventRouter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("crashloop.record.event_router.HELD_S", 0.0)
    router.watch((begin("s"),))
    take_pod(router, reported("labelled", 5, scenario="elsewhere"), received_ns=7)
    for _ in range(3):
        router.pod("labelled", runtime(Kind.STARTED, 1, "labelled"))
    monkeypatch.setattr("crashloop.record.event_router.HELD_S", 60.0)
    router.pod("silent", runtime(Kind.STARTED, 1, "silent"))
    monkeypatch.setattr("crashloop.record.event_router.HELD_S", 0.0)
    for _ in range(2):
        router.everyone(recorder_event(Kind.STALL, 3, {"stalled_ns": 1}))
    assert [record.message for record in caplog.records] == [
        "pod labelled belongs to no scenario; what happens to it is not recorded",
        "pod silent belongs to no scenario; what happens to it is not recorded",
    ]


def test_what_was_dropped_before_a_pod_was_known_is_a_gap_in_its_history(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    for t_ns in range(1, HELD_EVENTS + 3):
        router.pod("s", runtime(Kind.STARTED, t_ns, "s"))
    router.claim("uid-s", "s", "s")
    first, *held = written(watched)
    assert (first.kind, first.data["channel"], first.data["from_ns"]) == (Kind.GAP, "runtime", HELD_EVENTS + 1)
    assert first.data["lost"] is True
    assert [event.t_ns for event in held] == list(range(1, HELD_EVENTS + 1))


def test_a_sealed_history_takes_nothing_more(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    router.claim("uid-s", "s", "s")
    watched.seal(end_events("complete", "done"))
    router.pod("s", runtime(Kind.STARTED, 1, "s"))
    router.unwatch("s")
    router.pod("s", runtime(Kind.EXITED, 2, "s"))
    assert [event.kind for event in written(watched)] == [Kind.CLOCK, Kind.END]
    assert watched.starts("app", "uid-s") == 0


def test_a_status_that_a_list_repeats_is_written_once(begin: Begin, router: EventRouter) -> None:
    watched = begin("s")
    router.watch((watched,))
    for version in (5, 5, 6, 5):
        take_pod(router, reported("s", version), received_ns=7)
    take_pod(router, reported("stranger", 8, scenario=None), received_ns=7)
    assert [(event.kind, event.data["resource_version"]) for event in written(watched)] == [
        (Kind.STATUS, "5"),
        (Kind.STATUS, "6"),
    ]


def test_a_scenario_is_complete_once_the_statuses_tell_what_the_runtime_showed(
    begin: Begin, router: EventRouter
) -> None:
    watched = begin("s")
    router.watch((watched,))
    router.claim("uid-s", "s", "s")
    for t_ns in (1, 3):
        router.pod("s", runtime(Kind.STARTED, t_ns, "s"))
        assert not watched.is_complete()
        router.pod("s", runtime(Kind.EXITED, t_ns + 1, "s"))
    assert watched.missing() == ()
    assert not watched.is_complete(), "no status shows the restart yet"
    take_pod(router, reported("s", 5, restarts=1), received_ns=9)
    assert watched.is_complete()


def test_the_quiet_begins_anew_with_each_exit(
    begin: Begin, router: EventRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("crashloop.record.event_router.time.monotonic", lambda: now_s[0])
    watched = begin("s", until=Until(exits={"app": 1}, quiet_s=64))
    router.watch((watched,))
    router.claim("uid-s", "s", "s")

    def lives(t_ns: int) -> None:
        router.pod("s", runtime(Kind.STARTED, t_ns, "s"))
        router.pod("s", runtime(Kind.EXITED, t_ns + 1, "s"))

    lives(1)
    assert not watched.is_complete()
    now_s[0] += 60
    lives(3)
    assert not watched.is_complete()
    now_s[0] += 60
    assert not watched.is_complete(), "120 s after the exit it waited for, but only 60 s after another"
    now_s[0] += 4
    assert watched.is_complete()
