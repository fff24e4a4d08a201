"""RestartAllContainers keeps the logs of the instances that it removes."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Action, RestartPolicy, restart_in
from crashloop.spec.program import runs
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

RULE = (restart_in(42, action=Action.RESTART_ALL_CONTAINERS),)
POD = scenario(
    app(runs((2, 42)), restart_policy=RestartPolicy.NEVER, rules=RULE),
    app(name="worker"),
    policy=RestartPolicy.NEVER,
)


def listed(**logs: list[int]) -> History:
    """Both containers run again after an exit of "app" at 5 s; the folders of their logs are listed at 20 s."""
    history = History(POD, create_s=0.0).lives("app", (3.0, 5.0, 42), (8.0, None, 0))
    history.lives("worker", (3.1, 5.5, 137), (8.1, None, 0)).runtime(6.0, Kind.REMOVED, "app", "app-0")
    if logs:
        history.add(20.0, Channel.KUBELET, Kind.LOG_FILES, {"logs": logs}, pod=True)
    return history.ends(21)


def test_accepts_the_logs_of_all_instances() -> None:
    answer = checked("logs-kept", listed(app=[0, 1], worker=[0, 1]))
    assert told(answer) == []
    assert answer.facts == {"replaced": {"app": 1, "worker": 1}}


def test_a_log_that_is_gone_is_a_fail() -> None:
    history = listed(app=[0, 1], worker=[1])
    exited = history.line_of(Kind.EXITED, channel=Channel.JOURNAL, container="app")
    assert history.line_of(Kind.EXITED, channel=Channel.RUNTIME, container="app") == exited + 1
    assert told(checked("logs-kept", history)) == [
        'FAIL: the log of instance 0 of "worker" was gone after RestartAllContainers '
        f"(history lines {exited + 1} and {history.line_of(Kind.LOG_FILES)}); it was to be kept."
    ]


def test_logs_that_were_not_listed_are_inconclusive() -> None:
    assert told(checked("logs-kept", listed())) == [
        "INCONCLUSIVE: 0 replaced instances in a list of logs seen, 1 needed: the scenario was complete."
    ]
