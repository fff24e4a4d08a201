"""Restarts of a pod within its first 10 s, once it was watched for so long."""

import msgspec
import pytest

from crashloop.slo.events import SAMPLES
from crashloop.slo.judge import judge
from crashloop.slo.measurements import Lifecycle, SloVerdict
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import crasher, measured, ns, phase, restart, row

DEFAULT = msgspec.structs.replace(phase(0, 60), mix="default curve")
REDUCED = msgspec.structs.replace(phase(100, 160), mix="reduced curve")


def pod(first_s: float, *restarts_s: float, seen_until_s: float = 1000) -> Lifecycle:
    """Restarts are seconds after the first start."""
    return crasher(
        *(restart(first_s + at, 0) for at in restarts_s),
        starts_ns={"app": tuple(ns(first_s + at) for at in (0, *restarts_s))},
        seen_until_ns=ns(seen_until_s),
    )


def early(one: Lifecycle) -> list[float | None]:
    return [each.value for each in SAMPLES["early-restarts"].events(one)]


def test_restarts_of_the_first_ten_seconds_count() -> None:
    assert early(pod(5, 1, 3, 9.5, 10.1)) == [3]
    assert early(pod(5)) == [0]


def test_a_pod_that_was_not_watched_for_so_long_shows_nothing() -> None:
    assert early(pod(5, 1, seen_until_s=14)) == []
    assert early(crasher()) == []


def against_the_default(reduced: tuple[float, ...]) -> SloVerdict:
    sli = {
        "kind": "relative",
        "of": {"kind": "samples", "of": "early-restarts"},
        "unit": "restarts",
        "to": {"mix": "default curve"},
    }
    rule = row(sli, {"at_most": 3, "unit": "times"}, percentile=50, min_samples=5, mixes=["reduced curve"])
    pods = [pod(10, 1) for _ in range(5)] + [pod(110, *reduced) for _ in range(5)]
    return judge(rule, measured(lifecycles=pods, phases=(DEFAULT, REDUCED)))


@pytest.mark.parametrize(
    ("restarts_s", "outcome", "value"),
    [((1, 3, 6), Outcome.PASS, 3.0), ((1, 2, 3, 5), Outcome.FAIL, 4.0)],
    ids=["thrice", "four-times"],
)
def test_a_curve_that_begins_faster_is_judged_by_them(
    restarts_s: tuple[float, ...], outcome: Outcome, value: float
) -> None:
    verdict = against_the_default(restarts_s)
    assert (verdict.outcome, verdict.value) == (outcome, value)
