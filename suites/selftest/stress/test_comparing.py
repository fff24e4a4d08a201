"""Arms of a run are compared on the hosts that they had, in pairs of blocks."""

import pytest

from crashloop.report.stress.results import Comparison
from crashloop.slo.compare import Effect, EffectReading
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.comparing import ComparedRun, comparisons
from crashloop.stress.loads import Crash
from crashloop.stress.phases import measurements
from crashloop.stress.profile import ComparisonDesign, Stage, StressNode
from suites.selftest.kit.slo_kit import Values, crasher, restart, scrapes
from suites.selftest.kit.stress_kit import MAX_1S, marks, plan

TARGETS = {"pod-startup": 5.0, "restart-lateness": 3.0}
NODES = (
    StressNode(name="base", profile="max-1s", arm="baseline"),
    StressNode(name="treat", profile="max-1s", arm="treatment"),
)
LOADS = {"a": Crash(node="base"), "b": Crash(node="treat")}
AT_ONCE = Stage(name="storm", arm="both", duration_s=50, users={"a": 1, "b": 1}, settle_s=0, washout_s=10)
HOSTS = {"base": "one", "treat": "two"}
CPU = "component_cpu_seconds_total"
ROUND_S = 100.0
NOISE = (1.001, 0.999, 1.002, 0.998, 0.999, 1.001, 0.998, 1.002)


def of(component: str, node: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return CPU, (("component", component), ("node", node))


def host_used(others: float) -> Scrapes:
    """Two cores, of which others use that share in the fourth round, and nobody before and after."""
    times = (0.0, 330.0, 380.0, 800.0)
    mode = "host_cpu_seconds_total"
    values: Values = {
        (mode, (("mode", "busy"),)): (0.0, 0.0, 100 * others, 100 * others),
        (mode, (("mode", "idle"),)): (0.0, 660.0, 660 + 100 * (1 - others), 1600 - 100 * others),
    }
    return scrapes(times, values, source="processes", node="")


def seen(
    effect: float, *, slower_host: float = 1.0, alternates: bool = True, others: float | None = None
) -> tuple[Comparison, ...]:
    """Eight rounds of 50 s with 25 restarts on each host; 0.1 CPU s per restart, times the factors."""
    design = ComparisonDesign(primary=("kubelet_cpu_s_per_restart",), alternates=alternates)
    the_plan = plan(MAX_1S, MAX_1S, nodes=NODES, loads=LOADS, stages=(AT_ONCE,), rounds=8, comparison=design)
    rows = [
        (index, what, ROUND_S * index + at, 2)
        for index in range(8)
        for what, at in (("begin", 20), ("measure", 30), ("drain", 80))
    ]
    stages = measurements(the_plan.stages, marks(*rows, stages=the_plan.stages))
    times = [ROUND_S * index + at for index in range(8) for at in (30, 80)]
    spent: dict[str, list[float]] = {"one": [], "two": []}
    total = dict.fromkeys(spent, 0.0)
    for index, stage in enumerate(the_plan.stages):
        treated = "one" if stage.exchanged else "two"
        for host, found in spent.items():
            found.append(total[host])
            factor = (effect * NOISE[index] if host == treated else 1.0) * (slower_host if host == "two" else 1.0)
            total[host] += 25 * 0.1 * factor
            found.append(total[host])
    cpu: Scrapes = scrapes(
        times, {of("kubelet", host): tuple(found) for host, found in spent.items()}, source="processes", node=""
    )
    pods = [
        crasher(
            *(restart(ROUND_S * index + 30 + 2 * number, 0.5) for number in range(25)),
            node=host,
            pod=f"p-{host}-{index}",
            seen_until_s=ROUND_S * index + 80,
        )
        for index in range(8)
        for host in ("one", "two")
    ]
    sources = [cpu] if others is None else [cpu, host_used(others)]
    return comparisons(ComparedRun(the_plan, HOSTS, sources, pods, TARGETS), stages)


def effect_on(found: tuple[Comparison, ...], what: str) -> Effect:
    (comparison,) = found
    return next(each for each in comparison.effects if each.what == what)


def test_arms_that_are_loaded_at_once_are_a_pair_on_the_hosts_that_they_had() -> None:
    cpu = effect_on(seen(1.05), "CPU of the kubelet per restart")
    assert (cpu.pairs, cpu.primary, cpu.reading) == (8, True, EffectReading.HIGHER)
    assert cpu.ratio == pytest.approx(1.05, rel=1e-3)
    assert cpu.notes == ()


@pytest.mark.parametrize("others", [None, 0.2], ids=["not measured", "little"])
def test_a_host_that_others_left_alone_is_no_doubt(others: float | None) -> None:
    (comparison,) = seen(1.05, others=others)
    assert comparison.doubt == ""


def test_others_on_the_host_in_one_block_are_a_doubt_about_the_comparison() -> None:
    (comparison,) = seen(1.05, others=0.6)
    assert comparison.doubt == (
        "Others used up to 55 % of the host's CPU in a block; beyond 35 % the figures may be theirs."
    )


def test_a_slower_host_is_no_effect_if_the_arms_change_places() -> None:
    cpu = effect_on(seen(1.0, slower_host=1.3), "CPU of the kubelet per restart")
    assert cpu.reading is EffectReading.EQUIVALENT
    assert cpu.ratio == pytest.approx(1.0, abs=1e-3)


def test_a_slower_host_is_named_as_a_possible_cause_if_they_do_not() -> None:
    cpu = effect_on(seen(1.0, slower_host=1.3, alternates=False), "CPU of the kubelet per restart")
    assert cpu.reading is EffectReading.HIGHER
    assert cpu.notes == ("The arms never changed places, so the effect includes any difference between the two.",)


def test_what_both_arms_share_is_not_compared_where_they_are_loaded_at_once() -> None:
    (found,) = seen(1.0)
    assert not {each.what for each in found.effects} & {"CPU of the API server", "requests to the API server"}
