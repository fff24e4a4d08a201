"""The kubelet's log grows by a constant amount per restart."""

from collections.abc import Callable

from crashloop.history.event import Channel, Kind
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

RESTARTS = 16
CRASHING = scenario(app(exits_with(1, times=RESTARTS)))


def logged(pod_bytes: Callable[[int], int | None]) -> History:
    """A life of 1 s every 3 s; each wait is logged twice, the second time with a line of 300 bytes."""
    history = History(CRASHING).lives("app", *((1.0 + 3 * n, 2.0 + 3 * n, 1) for n in range(RESTARTS + 1)))
    for number in range(1, RESTARTS + 1):
        for after_s, size in ((0.5, pod_bytes(number)), (1.0, 300)):
            data = {"line": "x", "delay_s": 2.0, "pod_bytes": size}
            history.add(2.0 + 3 * number + after_s, Channel.KUBELET, Kind.LOG, data, container="app", pod=True)
    return history.ends(60)


def test_accepts_as_many_bytes_for_each_restart() -> None:
    answer = checked("log-growth", logged(lambda _: 1200))
    assert told(answer) == []
    assert answer.facts == {"bytes_per_restart": {"app": 1500}}


def test_a_log_that_grows_with_the_number_of_restarts_is_a_fail() -> None:
    history = logged(lambda number: 700 + 100 * number)
    lines = [history.line_of(Kind.LOG, number) for number in (2, 30)]
    assert told(checked("log-growth", history)) == [
        'FAIL: each of the last 5 restarts of "app" cost the kubelet\'s log 2400 bytes, and each of the first 5 1400 '
        f"(history lines {lines[0]} and {lines[1]}); a constant amount was due."
    ]


def test_a_few_restarts_show_no_growth() -> None:
    (finding,) = told(checked("log-growth", logged(lambda number: 700 + 100 * number), min_restarts=20))
    assert finding.startswith("INCONCLUSIVE: 15 restarts with a line about its delay seen, 20 needed")


def test_a_single_long_message_is_no_growth() -> None:
    assert told(checked("log-growth", logged(lambda number: 9_000 if number == 14 else 1200))) == []


def test_a_log_whose_bytes_are_not_known_is_inconclusive() -> None:
    assert told(checked("log-growth", logged(lambda _: None), min_restarts=20)) == [
        "INCONCLUSIVE: 15 restarts with a line about its delay seen, 20 needed: the scenario was complete."
    ]
    history = History(CRASHING).lives("app", (1.0, 2.0, 1), (3.0, None, 0)).ends(30)
    assert told(checked("log-growth", history)) == [
        "INCONCLUSIVE: 0 restarts with a line about its delay seen, 12 needed: the scenario was complete."
    ]
