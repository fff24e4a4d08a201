"""Once what a container needs is there, it is started within the kubelet's retry."""

import msgspec

from crashloop.checks.blocked_starts import check_retried_start
from crashloop.history.event import Channel, Kind
from crashloop.spec.dependency import ConfigObject, Variable
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind, Pod
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import STOCK, app, case, checked, resetting, told
from suites.selftest.kit.histories import History, stamp

CREATE = Intervention(
    trigger=Trigger(after_s=30), action=InterventionKind.CREATE_OBJECT, arguments={"object": "settings"}
)
NEEDING = Container(env=(Variable(name="A", object="settings"),))


def waiting(*others: Container) -> PodScenario:
    return PodScenario(
        name="waiting",
        profile="stock",
        pod=Pod(containers=(NEEDING, *others)),
        until=Until(at_least_s=60),
        objects=(ConfigObject(name="settings", data={"A": "b"}, present=False),),
        interventions=(CREATE,),
    )


def history(*starts_s: float, created: bool = True, ends_s: float = 60, of: PodScenario | None = None) -> History:
    made = History(of or waiting()).lives("app", *((start_s, None, 0) for start_s in starts_s))
    if created:
        made.intervention(30, "create-object", object="settings")
    return made.ends(ends_s)


def test_accepts_a_start_within_the_retry() -> None:
    answer = checked("retried-start", history(45), STOCK)
    assert told(answer) == []
    assert answer.facts == {"started_after_s": {"app": 14.9}}


def test_a_start_that_was_held_back_is_a_fail() -> None:
    made = history(50)
    action, line = made.line_of(Kind.INTERVENTION), made.line_of(Kind.CREATED, 0, container="app")
    assert told(checked("retried-start", made, STOCK)) == [
        f'FAIL: "app" was created 19.9 s after the creation of what it needs (history lines {action} and {line}); '
        "16 s is the longest."
    ]


def test_a_start_that_never_came_is_a_fail() -> None:
    made = history()
    line = made.line_of(Kind.INTERVENTION)
    assert told(checked("retried-start", made, STOCK)) == [
        f'FAIL: "app" was not created within 30 s of the creation of what it needs (history line {line}); '
        "16 s is the longest."
    ]


def test_a_start_without_what_the_container_needs_is_a_fail() -> None:
    made = history(20)
    action, line = made.line_of(Kind.INTERVENTION), made.line_of(Kind.CREATED, 0, container="app")
    assert told(checked("retried-start", made, STOCK)) == [
        f'FAIL: "app" was created (history lines {line} and {action}) before what it needs was there.'
    ]


def test_an_early_end_of_the_recording_is_inconclusive() -> None:
    made = history(ends_s=40)
    line = made.line_of(Kind.INTERVENTION)
    assert told(checked("retried-start", made, STOCK)) == [
        f'INCONCLUSIVE: "app" was not created within 10 s of the creation of what it needs (history line {line}); '
        "16 s is the longest: the scenario was complete."
    ]


def test_an_object_that_never_came_is_inconclusive() -> None:
    assert told(checked("retried-start", history(created=False), STOCK)) == [
        'INCONCLUSIVE: what "app" needs was never created: the scenario was complete.'
    ]


def test_kubelets_let_a_delay_of_another_container_hold_it_up() -> None:
    beside = waiting(app(exits_with(1, times=5), name="crashing"))
    late = history(110, ends_s=140, of=beside).lives("crashing", (15, 20, 1))

    assert check_retried_start(case(late, STOCK)).outcome == "FAIL"
    assert check_retried_start(case(late, STOCK, frozenset({"backoff-holds-up-failed-starts"}))).outcome == "PASS"
    later = history(125, ends_s=140, of=beside).lives("crashing", (15, 20, 1))
    assert check_retried_start(case(later, STOCK, frozenset({"backoff-holds-up-failed-starts"}))).outcome == "FAIL"


def test_a_short_delay_of_another_container_holds_it_up_for_no_longer() -> None:
    beside = waiting(app(exits_with(1, times=5), name="crashing"))
    after_ten = history(110, ends_s=140, of=beside).lives("crashing", (15, 25, 1), (35, 139, 1))
    assert check_retried_start(case(after_ten, STOCK, frozenset({"backoff-holds-up-failed-starts"}))).outcome == "FAIL"


AFTER_INIT = waiting(app(runs((10, 0)), name="setup", kind=ContainerKind.INIT))


def after_init(start_s: float, *, init_ends_s: float | None = 50) -> History:
    """The object is there at 30 s; the init container, which needs none, runs from 40 s on."""
    made = History(AFTER_INIT).lives("setup", (40, init_ends_s, 0)).lives("app", (start_s, None, 0))
    return made.intervention(30, "create-object", object="settings").ends(100)


def test_a_start_is_due_once_the_init_containers_let_it_go() -> None:
    answer = checked("retried-start", after_init(60), STOCK)
    assert told(answer) == []
    assert answer.facts == {"started_after_s": {"app": 9.9}}


def test_a_start_that_comes_long_after_the_init_containers_is_a_fail() -> None:
    made = after_init(70)
    exited = made.line_of(Kind.EXITED, channel=Channel.RUNTIME, container="setup")
    line = made.line_of(Kind.CREATED, container="app")
    assert told(checked("retried-start", made, STOCK)) == [
        f'FAIL: "app" was created 19.9 s after what it waited for (history lines {exited} and {line}); 16 s is the longest.'
    ]


def test_a_start_behind_an_init_container_that_was_not_seen_to_end_is_inconclusive() -> None:
    assert told(checked("retried-start", after_init(70, init_ends_s=None), STOCK)) == [
        'INCONCLUSIVE: the init containers before "app" were not seen to let it start: the scenario was complete.'
    ]


def test_a_start_that_a_reset_put_off_is_inconclusive() -> None:
    resets = resetting(runs((35, 42)), name="resets")
    made = History(waiting(resets)).lives("resets", (1, 36, 42), (60, None, 0)).lives("app", (60, None, 0))
    (finding,) = told(
        checked("retried-start", made.intervention(30, "create-object", object="settings").ends(100), STOCK)
    )
    assert finding.startswith('INCONCLUSIVE: "app" was created')
    assert finding.endswith("RestartAllContainers made the pod begin again meanwhile.")


def test_a_pod_that_has_ended_starts_nothing() -> None:
    """Its deadline is 10 s after what it needs is there, sooner than a start is due."""
    of = waiting()
    of = msgspec.structs.replace(of, pod=msgspec.structs.replace(of.pod, active_deadline_s=40))
    made = History(of).status(0.5, {}, phase="Pending", startTime=stamp(0))
    made.intervention(30, "create-object", object="settings").ends(90)
    line = made.line_of(Kind.INTERVENTION)
    assert told(checked("retried-start", made, STOCK)) == [
        f'INCONCLUSIVE: "app" was not created within 10 s of the creation of what it needs (history line {line}); '
        "16 s is the longest: the scenario was complete."
    ]
