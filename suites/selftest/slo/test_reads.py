"""Reads of the API server by a client: late or failed, they miss the promise."""

from crashloop.slo.judge import judge
from crashloop.slo.measurements import ApiRead, SloVerdict
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import measured, ns, row


def read(at_s: float, took_s: float = 0.01, *, kind: str = "get", failed: bool = False) -> ApiRead:
    return ApiRead(kind=kind, intended_ns=ns(at_s), took_s=took_s, failed=failed)


def latency(*reads: ApiRead, of: str = "get") -> SloVerdict:
    rule = row({"kind": "reads", "of": of}, {"at_most": 1, "unit": "s"}, percentile=90, min_samples=10)
    return judge(rule, measured(reads=reads))


def failures(*reads: ApiRead) -> SloVerdict:
    return judge(row({"kind": "reads"}, {"at_most": 0, "unit": "reads"}, min_samples=10), measured(reads=reads))


FAST = [read(at) for at in range(90)]


def test_the_latency_is_that_of_the_named_kind_in_the_phase() -> None:
    verdict = latency(*FAST, *(read(at, 9, kind="list") for at in range(50)), *(read(at, 9) for at in range(100, 150)))
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 0.01, 90)
    assert latency(*FAST, *(read(at, 2) for at in range(20))).outcome is Outcome.FAIL


def test_a_failed_read_misses_however_fast_it_failed() -> None:
    verdict = latency(*FAST, *(read(at, failed=True) for at in range(20)))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 0.01)
    assert verdict.notes == ("Failed: 20 of the reads.",)


def test_failed_reads_are_counted() -> None:
    assert failures(*FAST).outcome is Outcome.PASS
    verdict = failures(*FAST, read(5, kind="", failed=True))
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.FAIL, 1, 91)


def test_without_reads_nothing_is_known() -> None:
    assert latency().outcome is Outcome.INCONCLUSIVE
    assert failures().outcome is Outcome.INCONCLUSIVE


def test_a_run_whose_load_asked_for_no_streaming_lists_says_nothing_of_them() -> None:
    verdict = latency(*FAST, *(read(at, kind="list") for at in range(50)), of="watch-list")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == (
        "made-up: no reads seen, target at most 1 s, every phase. Phase storm: this load asked for no streaming lists; a canary "
        "with watch_lists does."
    )


def test_streaming_lists_that_are_not_served_are_no_failed_reads_and_have_no_latency() -> None:
    refused = ApiRead(kind="watch-list", intended_ns=ns(-3), took_s=0.01, unserved=422)
    again = ApiRead(kind="watch-list", intended_ns=ns(50), took_s=0.01, unserved=422)
    verdict = latency(*FAST, refused, again, of="watch-list")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == (
        "made-up: no reads seen, target at most 1 s, every phase. Phase storm: the API server serves no streaming lists, it "
        "answered 422: they need its feature gate WatchList, on by default from Kubernetes 1.34 on, and an etcd that reports "
        "progress."
    )
    assert (failures(*FAST, refused, again).value, failures(*FAST, refused, again).samples) == (0, 90)


def test_streaming_lists_are_judged_as_other_reads_are() -> None:
    lists = [read(at, 0.5, kind="watch-list") for at in range(90)]
    verdict = latency(*FAST, *lists, of="watch-list")
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 0.5, 90)
    late = [read(at, 2, kind="watch-list") for at in range(20)]
    assert latency(*lists, *late, of="watch-list").outcome is Outcome.FAIL
    assert failures(*lists, read(5, kind="watch-list", failed=True)).value == 1
