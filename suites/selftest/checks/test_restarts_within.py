"""The checker of restart counts: neither fewer nor more restarts within a time than the curve allows."""

from crashloop.history.event import Channel
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Until
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History, Life

LOOP = scenario(app(exits_with(1, times=8)), until=Until(at_least_s=40.0), name="loop")
"""At a maximum of 2 s, lives of 1 s: restarts 1, 4, 7, 10 and 13 s after the first start at the soonest."""


def every(period_s: float, *, until_s: float) -> tuple[Life, ...]:
    """Lives of 1 s, one each period."""
    starts_s = [0.5 + number * period_s for number in range(int(until_s / period_s))]
    return tuple((start_s, start_s + 1.0, 1) for start_s in starts_s)


def test_accepts_a_count_that_the_curve_allows() -> None:
    answer = checked("restarts-within", History(LOOP).lives("app", *every(3.4, until_s=24)).ends(40), within_s=[10, 20])
    assert told(answer) == []
    assert answer.facts == {
        "restarts_within": {
            "app": [
                {"within_s": 10.0, "seen": 2, "least": 1, "most": 4},
                {"within_s": 20.0, "seen": 5, "least": 2, "most": 7},
            ]
        }
    }


def test_more_restarts_than_the_curve_allows_are_a_fail() -> None:
    history = History(LOOP).lives("app", *every(2.0, until_s=16)).ends(40)
    (finding,) = told(checked("restarts-within", history, within_s=[10]))
    assert (
        finding == 'FAIL: "app" restarted 5 times within 10 s of its first start; 4 are the most that its curve allows.'
    )


def test_fewer_restarts_than_the_curve_allows_are_a_fail() -> None:
    history = History(LOOP).lives("app", *every(25.0, until_s=50)).ends(60)
    (finding,) = told(checked("restarts-within", history, within_s=[20]))
    assert (
        finding
        == 'FAIL: "app" restarted 0 times within 20 s of its first start; 2 are the fewest that its curve allows.'
    )


def test_a_host_that_stood_still_had_less_time() -> None:
    history = History(LOOP).lives("app", *every(25.0, until_s=50)).stall(2.0, 16.0).ends(60)
    assert told(checked("restarts-within", history, within_s=[20])) == []


def test_a_recording_that_ends_before_the_time_proves_nothing() -> None:
    history = History(LOOP).lives("app", *every(3.4, until_s=17)).ends(18, "interrupted")
    assert told(checked("restarts-within", history, within_s=[20])) == [
        'INCONCLUSIVE: "app" was watched for less than 20 s: the recording was interrupted.'
    ]


def test_restarts_that_nobody_could_have_seen_prove_nothing() -> None:
    history = (
        History(LOOP)
        .lives("app", *every(3.4, until_s=17), journal=False)
        .gap(Channel.RUNTIME, 12.0, 15.0, reason="the stream ended")
        .ends(40)
    )
    (finding,) = told(checked("restarts-within", history, within_s=[20]))
    assert finding.startswith(
        'INCONCLUSIVE: "app" restarted 4 times within 20 s of its first start; more could have gone unseen: runtime lost'
    )


def test_without_a_time_to_count_in_nothing_passes() -> None:
    history = History(LOOP).lives("app", *every(3.4, until_s=17)).ends(40)
    assert told(checked("restarts-within", history)) == [
        "INCONCLUSIVE: 0 counts of restarts in a time seen, 1 needed: the scenario was complete."
    ]
