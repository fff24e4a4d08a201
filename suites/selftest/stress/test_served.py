"""Servers of a run are put together from operations and lives."""

from itertools import islice

import msgspec

from crashloop.slo.judge import judge
from crashloop.slo.measurements import Lifecycle, Measured
from crashloop.stress.assignment import Operation
from crashloop.stress.loads import AnyLoad, Burst, Canary, Demand
from crashloop.stress.pods import arrivals_ns
from crashloop.stress.served import served_pods, served_results, served_series
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import crasher, ns, restart, row
from suites.selftest.stress.test_arrivals import stage

DEMAND = Demand(node="n", rate_per_s=2, cpu_limit="50m", bursts=(Burst(after_s=10, for_s=5, rate_per_s=9),))
LOADS: dict[str, AnyLoad] = {"web": DEMAND, "canary": Canary(node="n")}
DUE = list(islice(arrivals_ns(DEMAND, ns(1)), 20))


def request(intended_ns: int, took_s: float) -> Operation:
    sent_ns = intended_ns + 1_000_000
    return Operation(
        load="web", what="request", pod="web-0-0", intended_ns=intended_ns, sent_ns=sent_ns, took_ns=round(took_s * 1e9)
    )


def given_up(intended_ns: int, at_s: float) -> Operation:
    return Operation(load="web", what="unanswered", pod="web-0-0", intended_ns=intended_ns, sent_ns=ns(at_s), error="x")


OPERATIONS = [*(request(each, 0.2) for each in DUE[:-2]), *(given_up(each, 30) for each in DUE[-2:])]
LIFE: Lifecycle = crasher(restart(5, 2), restart(20, None), pod="web-0-0", seen_until_s=40)


def test_a_server_has_the_demand_of_its_load_and_the_answers_in_their_order() -> None:
    (pod,) = served_pods(LOADS, [*OPERATIONS, Operation(load="canary", what="get", sent_ns=5)], [LIFE])
    assert (pod.load, pod.pod, pod.node, pod.cpu_limit, pod.rate_per_s) == ("web", "web-0-0", "node-1", 0.05, 2)
    assert (pod.began_ns, pod.intended_ns) == (ns(1), tuple(DUE))
    assert pod.bursts == ((ns(11), ns(16), 9),)
    assert pod.answered == tuple((each, each + 201_000_000) for each in DUE[:-2])
    assert pod.given_up == ((DUE[-2], ns(30)), (DUE[-1], ns(30)))


def test_a_server_is_down_from_its_exit_to_its_next_start_or_to_the_end() -> None:
    (pod,) = served_pods(LOADS, OPERATIONS, [LIFE])
    assert pod.downs_ns == ((ns(5), ns(7.1)), (ns(20), ns(40)))


def test_the_report_has_the_figures_of_a_server_and_none_without_evidence() -> None:
    pods = tuple(served_pods(LOADS, OPERATIONS, [LIFE]))
    measured = stage(0, 40)
    (found,) = served_results(Measured(phases=(measured.phase,), served=pods), [measured], began_ns=ns(0))
    assert (found.load, found.stage, found.requests) == ("web", "storm", 20)
    assert (found.figures["kills"], found.figures["last-backlog"], found.figures["probe-latency"]) == (2, 0, None)


def test_answers_and_backlog_have_one_plot_per_load() -> None:
    pods = list(served_pods(LOADS, OPERATIONS, [LIFE]))
    found = {(each.name, each.node): each for each in served_series(pods, [], began_ns=ns(0), ended_ns=ns(40))}
    assert set(found) == {("answers", "web"), ("backlog", "web")}
    assert round(sum(rate * 5 for _, rate in found["answers", "web"].points)) == len(DUE) - 2
    assert max(waiting for _, waiting in found["backlog", "web"].points) >= 2


def test_a_request_counts_for_the_pod_that_answered_it_whoever_asked() -> None:
    shared = msgspec.structs.replace(DEMAND, service="shared")
    loads: dict[str, AnyLoad] = {"web": shared, "other": shared}
    asked = [request(each, 0.2) for each in DUE]
    answered = [
        msgspec.structs.replace(each, pod="other-0-0") if at % 4 == 0 else each for at, each in enumerate(asked)
    ]
    web, other = served_pods(loads, answered, [])
    assert (web.load, len(web.answered), other.load, len(other.answered)) == ("web", 15, "other", 5)


def test_the_demand_of_a_service_begins_for_all_of_its_pods_with_the_first_request_to_any() -> None:
    shared = msgspec.structs.replace(DEMAND, service="shared")
    loads: dict[str, AnyLoad] = {"web": shared, "other": shared}
    asked = [request(each, 0.2) for each in DUE]
    answered = [*asked[:5], *(msgspec.structs.replace(each, pod="other-0-0") for each in asked[5:])]
    assert [(pod.began_ns, pod.bursts) for pod in served_pods(loads, answered, [])] == 2 * [
        (ns(1), ((ns(11), ns(16), 9),))
    ]


def test_the_share_of_a_pod_is_that_of_the_answers_of_its_service() -> None:
    shared = msgspec.structs.replace(DEMAND, service="shared")
    loads: dict[str, AnyLoad] = {"web": shared, "other": shared, "alone": DEMAND}
    asked = [
        msgspec.structs.replace(request(each, 0.2), pod=pod, load="web")
        for at, each in enumerate(DUE)
        for pod in (("other-0-0", "alone-0-0") if at % 4 == 0 else ("web-0-0",))
    ]
    pods = tuple(served_pods(loads, asked, []))
    window = stage(0, 100).phase

    def share(load: str, least: float) -> tuple[Outcome, float | None, int]:
        rule = row({"kind": "served", "of": "answer-share", "load": load}, {"at_least": least, "unit": "%"})
        verdict = judge(rule, Measured(phases=(window,), served=pods))
        return verdict.outcome, verdict.value, verdict.samples

    assert share("web", 42) == (Outcome.PASS, 75, 20)
    assert share("other", 42) == (Outcome.FAIL, 25, 20)
    assert share("alone", 0)[0] is Outcome.INCONCLUSIVE
