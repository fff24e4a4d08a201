"""Servers under a demand: what their clients saw, beside what the kubelet did to them."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from crashloop.slo.judge import judge
from crashloop.slo.measurements import ServedPod, SloVerdict
from crashloop.slo.scrapes import Scrapes, stamp_of
from crashloop.slo.servers import Backlog, outages_ns
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, measured, ns, phase, row, scrapes

RATE = 2.0
SECONDS = range(100)


def server(
    load: str = "limited",
    *,
    downs: Iterable[tuple[float, float]] = (),
    silent: Iterable[tuple[float, float]] | None = None,
    limit: float | None = 0.05,
    **others: Any,
) -> ServedPod:
    """Two requests a second for 100 s; each is answered 0.1 s later, or after the time in which the server is silent."""
    downs = list(downs)
    silences = downs if silent is None else list(silent)
    intended = [(second + half) for second in SECONDS for half in (0.0, 0.5)]
    answers = sorted((ns(at), ns(_after(at + 0.1, silences))) for at in intended)
    answered = [each for each in answers if each[1] < ns(100)]
    return ServedPod(
        load=load,
        pod=f"{load}-0-0",
        cpu_limit=limit,
        rate_per_s=RATE,
        began_ns=ns(0),
        ended_ns=ns(100),
        intended_ns=tuple(map(ns, intended)),
        answered=tuple(sorted(answered, key=lambda each: each[1])),
        given_up=tuple((at, ns(100)) for at, until in answers if until >= ns(100)),
        downs_ns=tuple((ns(begin), ns(end)) for begin, end in downs),
        **others,
    )


def _after(at_s: float, silences: Iterable[tuple[float, float]]) -> float:
    return next((end for begin, end in silences if begin <= at_s < end), at_s)


def judged(of: str, pods: Iterable[ServedPod], target: dict[str, Any], *sources: Scrapes, **others: Any) -> SloVerdict:
    sli = {"kind": "served", "of": of, "load": "limited", **others}
    facts = msgspec.structs.replace(measured(scrapes=sources, phases=(phase(0, 100),)), served=tuple(pods))
    return judge(row(sli, {"unit": "units", **target}), facts)


def value(of: str, *pods: ServedPod, sources: Iterable[Scrapes] = (), **others: Any) -> float | None:
    return judged(of, pods, {"at_most": 0}, *sources, **others).value


def test_kills_are_those_of_the_runtime_and_not_the_outages_that_clients_saw() -> None:
    assert value("kills", server(downs=[(10, 12), (40, 60)])) == 2
    assert value("kills", server(silent=[(10, 30)])) == 0


def test_a_kill_breaks_the_promise_of_a_steady_service() -> None:
    assert judged("kills", [server()], {"at_most": 0}).outcome is Outcome.PASS
    verdict = judged("kills", [server(downs=[(10, 12)])], {"at_most": 0})
    assert verdict.outcome is Outcome.FAIL
    assert verdict.sentence == "made-up: 1 unit of 1 server, target at most 0 units, phase storm."


def test_of_kills_by_two_probes_the_ratio_counts_and_none_proves_nothing() -> None:
    default = server("default", downs=[(10, 12), (20, 22), (30, 32), (40, 42)])
    lenient = server(downs=[(10, 12)])
    below = {"below": 1}
    fewer = judged("kills", [lenient, default], below, relative_to="default")
    assert (fewer.outcome, fewer.value) == (Outcome.PASS, 0.25)
    assert "It is 1, and 4 of default." in fewer.sentence
    assert judged(
        "kills", [server(downs=[(1, 2), (3, 4)]), server("default", downs=[(1, 2)])], below, relative_to="default"
    ).outcome is (Outcome.FAIL)
    verdict = judged("kills", [lenient, server("default")], below, relative_to="default")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "kills of default is 0, so there is nothing to compare with" in verdict.sentence


def test_a_load_without_a_pod_is_not_judged() -> None:
    assert judged("kills", [server("other")], {"at_most": 0}).outcome is Outcome.INCONCLUSIVE


def test_down_time_is_counted_within_the_phase() -> None:
    assert value("down-share", server(downs=[(10, 20), (95, 130)])) == 15


def test_a_backlog_that_is_gone_was_recovered_from_after_its_burst() -> None:
    burst = ((ns(5), ns(20), 9.0),)
    pod = server(downs=[(10, 40)], bursts=burst)
    assert value("unrecovered", pod) == 0
    recovery = value("recovery", pod)
    assert recovery == pytest.approx(20, abs=1)


def test_a_backlog_that_stays_or_comes_back_was_not_recovered_from() -> None:
    burst = ((ns(5), ns(20), 9.0),)
    assert value("unrecovered", server(downs=[(10, 100)], bursts=burst)) == 1
    again = server(downs=[(10, 30), (50, 100)], bursts=burst)
    assert value("unrecovered", again) == 1
    assert value("recovery", again) == 80


@pytest.mark.parametrize("of", ["recovery", "unrecovered"])
@pytest.mark.parametrize("end_s", [100, 7200], ids=["ends with the phase", "outlasts the phase"])
def test_of_a_burst_that_does_not_end_in_time_no_recovery_is_known(of: str, end_s: float) -> None:
    verdict = judged(of, [server(bursts=((ns(5), ns(end_s), 9.0),))], {"at_most": 300})
    assert (verdict.outcome, verdict.value) == (Outcome.INCONCLUSIVE, None)
    assert "Phase storm: limited-0-0 was still in a burst of demand at the end." in verdict.sentence


def test_a_backlog_grows_at_the_rate_of_demand_while_nothing_answers() -> None:
    assert value("growth-while-down", server(downs=[(10, 40)])) == pytest.approx(1, abs=0.05)
    answering = server(downs=[(10, 40)], silent=[])
    verdict = judged("growth-while-down", [answering], {"at_least": 0.8})
    assert verdict.outcome is Outcome.FAIL
    assert verdict.value == pytest.approx(0, abs=0.05)


def test_without_down_time_its_growth_is_not_judged() -> None:
    assert judged("growth-while-down", [server(downs=[(10, 12)])], {"at_least": 0.8}).outcome is Outcome.INCONCLUSIVE


def test_down_time_is_seen_by_clients_that_wait_and_not_by_those_that_are_answered() -> None:
    assert value("seen-down", server(downs=[(10, 40), (60, 80)])) == pytest.approx(100, abs=3)
    blind = judged("seen-down", [server(downs=[(10, 40)], silent=[])], {"at_least": 90})
    assert (blind.outcome, blind.value) == (Outcome.FAIL, 0)


def test_a_time_without_requests_is_no_outage() -> None:
    pod = server()
    kept = [each for each in pod.answered if not ns(20) <= each[0] < ns(60)]
    quiet = msgspec.structs.replace(pod, answered=tuple(kept), intended_ns=tuple(each for each, _ in kept))
    assert list(outages_ns(quiet)) == []


def test_the_backlog_is_what_was_neither_answered_nor_given_up() -> None:
    backlog = Backlog(server(downs=[(10, 20)]))
    assert (backlog.at(ns(-1)), backlog.at(ns(19.8)), backlog.at(ns(30.3))) == (0, 20, 0)
    assert backlog.highest(ns(0), ns(100)) >= 20


TIMES = list(range(0, 101, 10))
POD = ("pod", "limited-0-0")


def cadvisor(throttled: Iterable[float], pod: str = "limited-0-0", every: float = 100) -> Values:
    """Periods in which CPU was used, and of these the throttled ones; 100 in every 10 s."""
    labels = (("container", ""), ("pod", pod))
    return {
        ("container_cpu_cfs_periods_total", labels): [every * at for at in range(len(TIMES))],
        ("container_cpu_cfs_throttled_periods_total", labels): list(throttled),
    }


def busy(cores: float) -> Scrapes:
    """So many cores in use all the time."""
    return scrapes(
        TIMES, {("pod_cpu_usage_seconds_total", (POD,)): [10 * cores * at for at in range(11)]}, source="resource"
    )


BURST = ((ns(40), ns(60), 20.0),)


def test_throttling_in_a_burst_and_before_it_are_kept_apart() -> None:
    grows = [0, 50, 50, 50, 50, 150, 250, 250, 250, 250, 250]
    source, pod = scrapes(TIMES, cadvisor(grows), source="cadvisor"), server(bursts=BURST)
    assert value("throttled-in-bursts", pod, sources=[source, busy(0.05)]) == 100
    assert value("throttled-before-bursts", pod, sources=[source]) == 0
    assert value("throttled", pod, sources=[source]) == 25


def test_a_burst_that_is_not_throttled_breaks_the_promise_if_the_server_got_its_cpu() -> None:
    source, pod = scrapes(TIMES, cadvisor([0] * 11), source="cadvisor"), server(bursts=BURST)
    assert judged("throttled-in-bursts", [pod], {"at_least": 10}, source, busy(0.05)).outcome is Outcome.FAIL
    starved = judged("throttled-in-bursts", [pod], {"at_least": 10}, source, busy(0.02))
    assert starved.outcome is Outcome.INCONCLUSIVE
    assert "limited-0-0 used 0.4 s of CPU in bursts, of 1.0 s that its limit allows." in starved.sentence


def test_the_latency_of_probes_is_their_mean_and_unknown_without_any() -> None:
    def source(count: int) -> Scrapes:
        counts: Values = {
            ("prober_probe_duration_seconds_sum", (POD,)): [count * 0.3 * at for at in range(11)],
            ("prober_probe_duration_seconds_count", (POD,)): [float(count * at) for at in range(11)],
        }
        return scrapes(TIMES, counts, source="probes")

    assert value("probe-latency", server(), sources=[source(2)]) == pytest.approx(0.3)
    assert judged("probe-latency", [server()], {"at_most": 1}, source(0)).outcome is Outcome.INCONCLUSIVE


def test_cpu_is_counted_against_another_server_and_against_what_was_free() -> None:
    used: Values = {
        ("pod_cpu_usage_seconds_total", (POD,)): [9.0 * at for at in range(11)],
        ("pod_cpu_usage_seconds_total", (("pod", "small-0-0"),)): [3.0 * at for at in range(11)],
    }
    idle: Values = {("host_cpu_seconds_total", (("mode", "idle"),)): [1.0 * at for at in range(11)]}
    sources = [scrapes(TIMES, used, source="resource"), scrapes(TIMES, idle, source="processes", node="")]
    assert value("cpu", server(), server("small"), sources=sources, relative_to="small") == pytest.approx(3)
    assert value("cpu-of-free", server(), sources=sources) == pytest.approx(90)


LATE_S = (0, 8, 4, 4, 12, 4, 4, 4, 12, 4, 12)
"""How much older than its scrape each value is."""


def stamped(cores: float, *, first: int = 0, last: int = 10) -> Scrapes:
    """So many cores in use from 0 s on, at the scrapes from the first to the last of these."""
    stamps = [float(10 * number - late) for number, late in enumerate(LATE_S)]
    here = slice(first, last + 1)
    used: Values = {
        ("pod_cpu_usage_seconds_total", (POD,)): [cores * at for at in stamps][here],
        (stamp_of("pod_cpu_usage_seconds_total"), (POD,)): [ns(at) / 1e9 for at in stamps][here],
    }
    found = scrapes(TIMES[here], used, source="resource")
    return msgspec.structs.replace(found, t_ns=tuple(ns(at) for at in TIMES))


@pytest.mark.parametrize(("first", "last"), [(0, 10), (2, 10), (0, 8)], ids=["whole", "new", "removed"])
def test_the_cpu_of_a_server_is_counted_between_the_times_of_its_values(first: int, last: int) -> None:
    source = stamped(0.5, first=first, last=last)
    idle: Values = {("host_cpu_seconds_total", (("mode", "idle"),)): [0.5 * at for at in range(0, 101, 10)]}
    others = scrapes(TIMES, idle, source="processes", node="")
    assert value("cpu", server(), sources=[source]) == pytest.approx(0.5)
    assert value("cpu-of-free", server(), sources=[source, others]) == pytest.approx(50)


def test_a_server_uses_no_cpu_while_it_is_down_and_has_no_values() -> None:
    """0.5 cores up to its last value, of 28 s, and down from then to the end of 100 s."""
    down = server(downs=[(28, 130)])
    assert value("cpu", down, sources=[stamped(0.5, last=4)]) == pytest.approx(0.14)


def with_facts(*pods: ServedPod, sources: Iterable[Scrapes], **bounds: Any) -> SloVerdict:
    sli = {"kind": "served", "of": "kills", "load": "limited"}
    conditions = [{"fact": name, **bound} for name, bound in bounds.items()]
    facts = msgspec.structs.replace(measured(scrapes=tuple(sources), phases=(phase(0, 100),)), served=pods)
    return judge(row(sli, {"at_most": 0, "unit": "kills"}, preconditions=conditions), facts)


def test_arms_whose_limits_do_not_show_are_not_judged() -> None:
    free, limited = server("unlimited", limit=None), server(bursts=((ns(40), ns(60), 20.0),))
    bound = {"at_least": 1}
    throttled = scrapes(TIMES, cadvisor([10 * at for at in range(11)]), source="cadvisor")
    assert with_facts(limited, free, sources=[throttled], limits_as_planned=bound).outcome is Outcome.PASS
    both = {**cadvisor([10 * at for at in range(11)]), **cadvisor([1 * at for at in range(11)], free.pod)}
    for wrong in (both, cadvisor([0] * 11)):
        source = scrapes(TIMES, wrong, source="cadvisor")
        verdict = with_facts(limited, free, sources=[source], limits_as_planned=bound)
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert "50 % of the servers throttled in a burst if and only if they have a CPU limit" in verdict.sentence


def test_servers_that_no_request_reached_are_not_judged() -> None:
    silent = msgspec.structs.replace(server("silent"), answered=())
    for pods, outcome in (((server(),), Outcome.PASS), ((server(), silent), Outcome.INCONCLUSIVE)):
        assert with_facts(*pods, sources=[], servers_reached={"at_least": 1}).outcome is outcome


def test_a_demand_that_a_limit_never_allows_is_not_judged() -> None:
    """2 requests a second, and answers of 20 or 24 ms under a limit of 50 ms a second."""
    for used_s, outcome in ((4.0, Outcome.PASS), (4.8, Outcome.INCONCLUSIVE)):
        used: Values = {("pod_cpu_usage_seconds_total", (POD,)): [used_s / 10 * at for at in range(11)]}
        found = with_facts(
            server(), sources=[scrapes(TIMES, used, source="resource")], steady_utilisation={"at_most": 0.9}
        )
        assert found.outcome is outcome


def test_the_latency_of_answers_counts_from_the_intended_moment() -> None:
    """200 requests; those of 30 s wait for the end of the outage, the three longest for 30.0, 29.5 and 29.0 s."""
    pod = server(downs=[(10, 40)])
    assert (value("answer-latency-p50", pod), value("answer-latency-p99", pod)) == (0.1, 29.0)
    verdict = judged("answer-latency-p99", [pod], {"at_most": 1})
    assert (verdict.outcome, verdict.samples) == (Outcome.FAIL, 200)
    assert verdict.sentence == "made-up: 29 units of 200 requests, target at most 1 unit, phase storm."


def test_a_request_that_was_never_answered_is_at_least_as_late_as_it_had_waited() -> None:
    """20 requests of the last 10 s are given up at 100 s, the three oldest after 10.0, 9.5 and 9.0 s."""
    pod = server(downs=[(90, 130)])
    reported = judged("answer-latency-p99", [pod], {"reported": True})
    assert (reported.outcome, reported.value) == (Outcome.PASS, 9.0)
    assert reported.results[0].notes == (
        "It is that or more: requests that were never answered count with the time until they were given up.",
    )
    assert judged("answer-latency-p99", [pod], {"at_most": 8}).outcome is Outcome.FAIL
    unknown = judged("answer-latency-p99", [pod], {"at_most": 10})
    assert unknown.outcome is Outcome.INCONCLUSIVE
    assert "answer-latency-p99 of limited-0-0 is 9 or more, and that may miss the target." in unknown.sentence
    middle = judged("answer-latency-p50", [pod], {"at_most": 10})
    assert (middle.outcome, middle.value, middle.results[0].notes) == (Outcome.PASS, 0.1, ())


def test_a_few_requests_that_are_under_way_at_the_end_leave_a_percentile_below_them_known() -> None:
    """Two of 200 requests are given up within a second: they may have become the latest two."""
    pod = server(downs=[(10, 40), (99, 130)])
    assert len(pod.given_up) == 2
    reported = judged("answer-latency-p99", [pod], {"reported": True})
    assert (reported.value, reported.results[0].notes) == (30.0, ())


def test_a_latency_is_not_divided_by_one_that_may_be_more() -> None:
    looping = server("default", downs=[(90, 130)])
    verdict = judged("answer-latency-p99", [server(), looping], {"below": 1}, relative_to="default")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "answer-latency-p99 of default is 9 or more, so the ratio is unknown." in verdict.sentence


def test_a_p99_of_few_requests_is_not_known() -> None:
    pod = server()
    few = msgspec.structs.replace(pod, intended_ns=pod.intended_ns[:99], answered=pod.answered[:99])
    verdict = judged("answer-latency-p99", [few], {"reported": True})
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "limited-0-0 was sent 99 requests, and a p99 needs 100." in verdict.sentence
    assert value("answer-latency-p50", few) == 0.1
