"""A restart costs the runtime one create, one start and one remove, and exited containers do not pile up."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

RESTARTS = 15
CRASHING = scenario(app(exits_with(1, times=RESTARTS)))


def crashed(*, kept: frozenset[int] = frozenset(), stalled_s: float = 0.0) -> History:
    """A life of 1 s every 3 s; each exited container is removed 0.5 s after the next has exited, but for those kept."""
    history = History(CRASHING).lives("app", *((1.0 + 3 * n, 2.0 + 3 * n, 1) for n in range(RESTARTS + 1)))
    for number in range(RESTARTS):
        if number not in kept:
            history.runtime(5.5 + 3 * number, Kind.REMOVED, "app", f"app-{number}")
    return (history.stall(10.0, stalled_s) if stalled_s else history).ends(60)


def test_accepts_one_of_each_operation_a_restart() -> None:
    answer = checked("runtime-operations", crashed())
    assert told(answer) == []
    assert answer.facts == {"operations": {"app": {"restarts": 15, "creates": 15, "starts": 15, "removes": 15}}}


def test_accepts_two_exited_containers_at_once() -> None:
    answer = checked("exited-bounded", crashed())
    assert told(answer) == []
    assert answer.facts == {"most_exited": {"app": 2}}


def test_exited_containers_that_pile_up_are_a_fail() -> None:
    history = crashed(kept=frozenset(range(RESTARTS)))
    lines = [history.line_of(Kind.EXITED, number, channel=Channel.RUNTIME) for number in (0, RESTARTS)]
    assert told(checked("exited-bounded", history)) == [
        f'FAIL: the runtime held 16 exited containers of "app" at once (history lines {lines[0]} and {lines[1]}); '
        "10 are the most."
    ]


def test_exited_containers_on_a_host_that_stood_still_are_inconclusive() -> None:
    (finding,) = told(checked("exited-bounded", crashed(kept=frozenset(range(RESTARTS)), stalled_s=30.0)))
    assert finding.startswith("INCONCLUSIVE: the runtime held 16 exited containers")


def test_containers_that_are_never_removed_are_a_fail_of_the_operations() -> None:
    history = crashed(kept=frozenset(range(RESTARTS)))
    lines = [history.line_of(Kind.CREATED, number, channel=Channel.RUNTIME) for number in (0, RESTARTS)]
    assert told(checked("runtime-operations", history)) == [
        f'FAIL: "app" restarted 15 times (history lines {lines[0]} and {lines[1]}), and for that the runtime was seen to '
        "remove 0 containers; one per restart was due."
    ]


def test_a_container_that_is_created_and_never_started_is_a_fail() -> None:
    history = crashed()
    history.runtime(3.5, Kind.CREATED, "app", "spare").runtime(3.6, Kind.REMOVED, "app", "spare")
    sentences = told(checked("runtime-operations", history))
    assert [each.rpartition(" seen to ")[2] for each in sentences] == [
        "create 16 containers; one per restart was due.",
        "remove 16 containers; one per restart was due.",
    ]


def test_a_container_that_was_created_last_may_not_have_come_to_its_start() -> None:
    history = crashed().runtime(59.0, Kind.CREATED, "app", "next")
    assert told(checked("runtime-operations", history)) == []


def test_a_start_at_the_end_may_be_known_by_its_journal_only() -> None:
    history = crashed().runtime(59.0, Kind.CREATED, "app", "next").journal(59.5, Kind.STARTED, "app", RESTARTS + 1)
    assert told(checked("runtime-operations", history)) == []


def test_what_the_end_of_the_pod_removes_is_no_cost_of_a_restart() -> None:
    assert told(checked("runtime-operations", crashed().runtime(59.0, Kind.REMOVED, "app", f"app-{RESTARTS}"))) == []


def test_lost_runtime_events_are_inconclusive() -> None:
    history = crashed().gap(Channel.RUNTIME, 20.0, 21.0)
    line = history.line_of(Kind.GAP)
    for checker in ("exited-bounded", "runtime-operations"):
        assert told(checked(checker, history)) == [f"INCONCLUSIVE: runtime events were lost (history line {line})."]
