"""Restarts stay in pod and sandbox, instances follow one another, and init containers come first."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import ContainerKind, RestartPolicy
from crashloop.spec.program import runs
from suites.selftest.kit.cases import CRASHING, GOOD, app, checked, good, scenario, told
from suites.selftest.kit.histories import History, stamp

OTHER_UID = "0d5f3d3e-aaaa-4bbb-8ccc-000000000002"


def test_accepts_restarts_in_one_sandbox() -> None:
    answer = checked("in-place", good())
    assert told(answer) == []
    assert answer.facts == {"restarts": 3}


def test_a_second_sandbox_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD)
    history.add(4.0, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-1", "phase": "created"}, pod=True).ends(
        30
    )
    first, second = history.line_of(Kind.SANDBOX, 0), history.line_of(Kind.SANDBOX, 1)
    assert told(checked("in-place", history)) == [
        f"FAIL: a new sandbox was created (history lines {first} and {second}); a restart was to keep the sandbox."
    ]


def test_a_sandbox_that_went_before_anything_ran_in_it_was_no_restart() -> None:
    """The network refused the first sandbox; the containers came into the second."""
    history = History(CRASHING).lives("app", *GOOD)
    history.add(0.3, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-1", "phase": "created"}, pod=True)
    assert told(checked("in-place", history.ends(30))) == []


def begun_twice() -> History:
    """A second status with a later startTime."""
    history = History(CRASHING).status(0.3, {}, startTime=stamp(0.0)).lives("app", *GOOD, status=False)
    return history.status(9.0, {}, startTime=stamp(7.0))


def test_another_start_time_is_a_fail() -> None:
    history = begun_twice().ends(30)
    first, second = history.line_of(Kind.STATUS, 0), history.line_of(Kind.STATUS, 1)
    assert told(checked("in-place", history)) == [
        f"FAIL: the pod's startTime moved by 7 s (history lines {first} and {second}); a restart was to keep it."
    ]


def test_a_static_pod_whose_mirror_pod_came_back_may_have_another_start_time() -> None:
    history = begun_twice()
    for at_s, phase, uid in ((0.1, "created", "first"), (8.0, "deleted", "first"), (8.1, "created", "second")):
        history.add(at_s, Channel.API, Kind.MIRROR, {"phase": phase, "mirror_uid": uid}, pod=True)
    assert told(checked("in-place", history.ends(30))) == []


def test_a_second_pod_is_a_fail() -> None:
    history = History(CRASHING).lives("app", *GOOD).recreated(12, OTHER_UID).ends(30)
    line = history.line_of(Kind.CREATED, 1, channel=Channel.API)
    assert told(checked("in-place", history)) == [
        f"FAIL: a second pod appeared, uid {OTHER_UID} (history line {line}); one pod was to be kept."
    ]


def test_lost_runtime_events_leave_the_sandbox_open() -> None:
    history = History(CRASHING).lives("app", *GOOD).gap(Channel.RUNTIME, 3.1, 4.9).ends(30)
    line = history.line_of(Kind.GAP)
    assert told(checked("in-place", history)) == [
        f"INCONCLUSIVE: runtime events were lost (history line {line}), and with them perhaps a sandbox."
    ]


def test_the_journal_alone_shows_no_sandbox() -> None:
    history = History(CRASHING).lives("app", *GOOD, runtime=False).without(Kind.SANDBOX).ends(30)
    assert told(checked("in-place", history)) == [
        "INCONCLUSIVE: no runtime evidence, and nothing else shows the sandbox."
    ]


def test_accepts_instances_that_follow_one_another() -> None:
    answer = checked("starts-once", good())
    assert told(answer) == []
    assert answer.facts == {"starts": {"app": 4}}


def test_a_start_before_the_exit_is_a_fail() -> None:
    history = History(CRASHING).lives("app", (0.5, 2.5, 1), (2.0, 3.0, 1), journal=False).ends(30)
    started = history.line_of(Kind.STARTED, 1)
    ended = history.line_of(Kind.EXITED, 0)
    assert told(checked("starts-once", history)) == [
        f'FAIL: "app" was started (history lines {started} and {ended}) before the instance before it had exited.'
    ]


def test_a_second_instance_beside_one_that_still_runs_is_a_fail() -> None:
    history = History(CRASHING).lives("app", (0.5, None, 1), (2.0, None, 1), journal=False).ends(30)
    first, second = history.line_of(Kind.CREATED, 1), history.line_of(Kind.STARTED, 1)
    for checker in ("starts-once", "one-at-a-time"):
        assert told(checked(checker, history)) == [
            f'FAIL: "app" was started (history lines {first} and {second}) while the instance before it had not exited.'
        ]


HOLDING = scenario(app(name="keeper"))
INIT = scenario(app(runs((1, 1), (1, 0)), name="setup", kind=ContainerKind.INIT), app(), policy=RestartPolicy.ALWAYS)


def test_a_container_that_never_exits_starts_once() -> None:
    history = History(HOLDING).lives("keeper", (0.5, 5, 137), (6, None, 0)).ends(30)
    line = history.line_of(Kind.CREATED, 1, channel=Channel.RUNTIME)
    assert told(checked("starts-once", history)) == [
        f'FAIL: "keeper" was started again (history line {line}); it was to start once.'
    ]
    assert told(checked("one-at-a-time", history)) == []


def test_a_container_that_was_never_seen_proves_nothing() -> None:
    assert told(checked("starts-once", History(HOLDING).ends(90, "deadline"))) == [
        'INCONCLUSIVE: "keeper" was never seen to start: the watch ended at its deadline of 90 s.'
    ]


def test_accepts_a_container_that_waits_for_init() -> None:
    history = History(INIT).lives("setup", (0.5, 1.5, 1), (2, 3, 0)).lives("app", (3.5, None, 0)).ends(30)
    assert told(checked("starts-once", history)) == []


def test_a_container_that_starts_before_init_is_done_is_a_fail() -> None:
    history = History(INIT).lives("setup", (0.5, 1.5, 1), (2, 3, 0)).lives("app", (1.8, None, 0)).ends(30)
    started = history.line_of(Kind.STARTED, 0, channel=Channel.RUNTIME, container="app")
    done = history.line_of(Kind.EXITED, 1, channel=Channel.RUNTIME, container="setup")
    assert told(checked("starts-once", history)) == [
        f'FAIL: "app" was started (history lines {started} and {done}) before the init containers were done.'
    ]


def test_another_address_after_a_restart_is_found() -> None:
    history = good()
    before, after = history.running("app", 2, 5.3), history.running("app", 3, 8.6)
    history.status(6.0, {"app": before}, podIP="10.0.0.1").status(9.5, {"app": after}, podIP="10.0.0.2")
    assert [each.split(" (")[0] for each in told(checked("in-place", history))] == [
        "FAIL: the pod's address was said to be 10.0.0.2, and 10.0.0.1 before"
    ]


def listed(*statuses: tuple[str, ...]) -> History:
    """Statuses that list containers in that order, one a second from 2 s on."""
    history = History(scenario(app(), app(name="other")))
    for at_s, names in enumerate(statuses, start=2):
        said = {"phase": "Running", "containerStatuses": [history.running(each, 0, 1.0) for each in names]}
        history.add(at_s, Channel.API, Kind.STATUS, {"resource_version": str(at_s), "status": said}, pod=True)
    return history.ends(30)


def test_containers_that_change_places_in_a_status_are_a_fail() -> None:
    history = listed(("app", "other"), ("app", "other"), ("other", "app"))
    first, second = history.line_of(Kind.STATUS, 1), history.line_of(Kind.STATUS, 2)
    assert told(checked("in-place", history)) == [
        f"FAIL: a status lists other, app (history lines {first} and {second}); it was app, other before."
    ]


def test_a_container_that_is_listed_later_changes_nothing() -> None:
    (missing,) = told(checked("in-place", listed(("other",), ("app", "other"))))
    assert missing.startswith("INCONCLUSIVE: 0 restarts seen")
