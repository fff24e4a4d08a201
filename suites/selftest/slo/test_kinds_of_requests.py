"""Kinds of requests that one phase has and the other lacks are counted and named, in both directions."""

from collections.abc import Mapping

import msgspec

from crashloop.slo.judge import judge
from crashloop.slo.measurements import SloVerdict
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, measured, phase, row, scrapes

REQUESTS = "apiserver_request_total"
BASE = msgspec.structs.replace(phase(0, 50), arm="baseline")
TREAT = msgspec.structs.replace(phase(100, 150), arm="treatment")
RULE = row(
    {
        "kind": "kinds",
        "source": "apiserver",
        "metric": REQUESTS,
        "each": ["verb", "resource"],
        "to": {"arm": "baseline"},
    },
    {"at_most": 0, "unit": "kinds"},
    phase="storm",
    arm="treatment",
    min_samples=100,
)


def judged(counts: Mapping[tuple[str, str, str], tuple[float, float]]) -> SloVerdict:
    """By verb, resource and code: how many in the baseline, how many in the treatment."""
    values: Values = {
        (REQUESTS, (("verb", verb), ("resource", resource), ("code", code))): [0, base, base, base + treat]
        for (verb, resource, code), (base, treat) in counts.items()
    }
    seen = scrapes((0, 50, 100, 150), values, source="apiserver", node="")
    return judge(RULE, measured(seen, phases=(BASE, TREAT)))


PATCHES = {("PATCH", "pods", "200"): (200.0, 900.0)}


def test_the_same_kinds_in_other_numbers_are_alike() -> None:
    verdict = judged({**PATCHES, ("POST", "events", "201"): (10, 500)})
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 0, 210)


def test_a_kind_that_one_side_lacks_is_named() -> None:
    verdict = judged({**PATCHES, ("LIST", "nodes", "200"): (0, 40), ("PUT", "leases", "200"): (30, 0)})
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 2)
    assert verdict.sentence == (
        "made-up: 2 kinds of 230 requests, target at most 0 kinds, phase storm, treatment. "
        "LIST nodes: 40 in phase storm, treatment, none in phase storm, baseline. "
        "PUT leases: 30 in phase storm, baseline, none in phase storm, treatment."
    )


def test_other_codes_are_no_other_kind() -> None:
    assert judged({**PATCHES, ("PATCH", "pods", "409"): (0, 400)}).outcome is Outcome.PASS


def test_a_few_requests_may_be_missing_by_chance() -> None:
    assert judged({**PATCHES, ("LIST", "nodes", "200"): (0, 19)}).outcome is Outcome.PASS


def test_too_few_requests_show_nothing() -> None:
    assert judged({("PATCH", "pods", "200"): (99, 900)}).outcome is Outcome.INCONCLUSIVE
