"""Every row that can fail a run gets its samples from the profile's own arithmetic, and its preconditions are kept."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import pytest

from crashloop.model.config import Curve, effective_curve
from crashloop.profiles import load_profile
from crashloop.slo.rows import (
    ConservationSli,
    HistogramSli,
    Precondition,
    ReadSli,
    SampleSli,
    ServedSli,
    ShareSli,
    SloRow,
)
from crashloop.slo.servers import BOOT_S, SERVER_FIGURES
from crashloop.spec.pod import Action, RestartPolicy
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.loads import Burst, Canary, Churn, Crash, Demand, Finish, exit_codes
from crashloop.stress.plan import StressPlan, plan_of
from crashloop.stress.profile import Stage, StressProfile, official_pods, pods_on
from crashloop.stress.profiles import STRESS_MANIFESTS, load_stress_profile
from crashloop.stress.requirements import LEFT_ALONE, fitting_rows

VERSION = KubernetesVersion.parse("1.37.1")
PERIODS_PER_S = 10
"""Of CPU limits."""
OF_THE_HOST = ("cpu_busy_share", "servers_reached", "limits_as_planned")
"""Facts that no load can break by itself: each start of a server is throttled by any limit."""
JITTER, RELIST_S = 0.5, 1.0
GONE_S = 30.0
"""How long a pod of a full node takes to be gone."""
"""How much later than it is due a kubelet may restart: half the delay (pkg/kubelet/pod_workers.go@v1.37.1), and a relist."""


class Expected(NamedTuple):
    """What a window of a stage holds at the least."""

    arrivals: int
    """Healthy pods that come."""
    restarts: int
    triggers: int
    """Exits that restart all containers of a pod."""
    finals: int
    """Exits after which nothing may restart."""
    lists: int
    """Reads of many objects."""


def planned(profile: StressProfile, cores: int = 2) -> StressPlan:
    return plan_of(profile, provider="local", kubernetes_version=str(VERSION), cores=cores, kubelet=load_profile)


def expected(plan: StressPlan, stage: Stage, window_s: float) -> Expected:
    """The slowest that a right kubelet may be."""
    arrivals = restarts = triggers = finals = lists = 0.0
    for name, users in stage.users.items():
        load = plan.load.loads[name]
        if isinstance(load, Churn):
            arrivals += int(users) * (load.rate_per_s * window_s - 1)
        if isinstance(load, Finish):
            finals += int(users) * (load.rate_per_s * window_s - 1) * load.containers
        elif isinstance(load, Canary):
            lists += int(users) * (load.rate_per_s / (3 if load.watch_lists else 2) * window_s - 1)
        elif isinstance(load, Crash):
            assert restarted(load)
            curve = effective_curve(plan.kubelet(load.node), VERSION)
            assert isinstance(curve, Curve)
            cycles = int(users) * window_s / (load.run_s + curve.maximum_s * (1 + JITTER) + RELIST_S)
            all_of_them = load.rule is not None and load.rule.action is Action.RESTART_ALL_CONTAINERS
            triggers += cycles if all_of_them else 0
            restarts += cycles * (load.containers + (load.companions if all_of_them else 0))
    return Expected(int(arrivals), int(restarts), int(triggers), int(finals), int(lists))


def restarted(load: Crash) -> bool:
    """Whether every exit of the load's pods requires a restart."""
    by_rule = load.rule is not None and all(map(load.rule.matches, exit_codes(load)))
    return by_rule or load.restart_policy is RestartPolicy.ALWAYS


def samples(row: SloRow, found: Expected) -> int:
    """How many samples of a row a window holds at the least."""
    sli = row.sli
    if isinstance(sli, ConservationSli):
        return row.min_samples
    if isinstance(sli, ShareSli):
        return found.finals
    if isinstance(sli, SampleSli):
        return {"pod-startup": found.arrivals, "restart-all-first-start": found.triggers}[sli.of]
    assert isinstance(sli, HistogramSli)
    assert sli.metric == "apiserver_request_sli_duration_seconds"
    # One object: a kubelet reads a pod and writes its status at least once for each start. Many: only canaries list at a rate.
    return max(found.arrivals, found.restarts) if sli.where["scope"] == ("resource",) else found.lists


def of_servers(row: SloRow, sli: ServedSli, stage: Stage, plan: StressPlan) -> int:
    """How many samples a row about servers has in a stage at the least: servers, or periods with one request each."""
    load = plan.load.loads[sli.load]
    assert isinstance(load, Demand)
    if sli.load not in stage.users or SERVER_FIGURES[sli.of].of == "servers":
        return int(stage.users.get(sli.load, 0))
    first = load.bursts[0]
    if sli.of == "throttled-in-bursts":
        return round(min(PERIODS_PER_S, first.rate_per_s) * first.for_s)
    assert sli.of == "throttled-before-bursts"
    return round(min(PERIODS_PER_S, load.rate_per_s) * (first.after_s - BOOT_S))


def utilisation(stage: Stage, plan: StressPlan) -> float:
    """The highest of the servers with a limit, each request taking 1 ms more than its work."""
    loads = (plan.load.loads[name] for name in stage.users)
    return max(
        load.rate_per_s * (load.work_ms + 1) / 1000 / load.limit_cores
        for load in loads
        if isinstance(load, Demand) and load.limit_cores is not None
    )


def unkept(row: SloRow, condition: Precondition, plan: StressPlan) -> Iterator[str]:
    """Stages of which the load itself breaks a precondition of a row."""
    for stage in plan.stages:
        if condition.fact == "pods_per_node":
            most = float(max(pods_on(plan.load, stage, node.name) for node in plan.load.nodes))
        elif condition.fact == "churn_per_s":
            arrivals = (plan.load.loads[name] for name in stage.users)
            most = sum(2 * load.rate_per_s + 2 for load in arrivals if isinstance(load, Churn | Finish))
        elif condition.fact == "steady_utilisation":
            most = utilisation(stage, plan) if stage.name == row.phase else 0.0
        else:
            raise AssertionError(f"nobody has reckoned with the precondition {condition.fact} of a row that gates")
        bound = condition.most(plan.cores)
        if bound is None or most > bound:
            yield f"{row.id}: {condition.fact} is {most:g} in {stage.label}, at most {bound or 0:g} is asked for"


def unreachable(profile: StressProfile, cores: int = 2) -> Iterator[str]:
    """Why a row that gates would be INCONCLUSIVE however right everything is."""
    plan = planned(profile, cores)
    for row in fitting_rows(profile):
        if row.mode != "gate":
            continue
        for condition in row.preconditions:
            if condition.fact == "etcd_fsync":
                if profile.shortcuts:
                    yield f"{row.id}: etcd does not wait for its disk"
            elif condition != LEFT_ALONE and condition.fact not in OF_THE_HOST:
                yield from unkept(row, condition, plan)
        stages = [stage for stage in plan.stages if row.phase in (None, stage.name)]
        found = [
            of_servers(row, row.sli, each, plan)
            if isinstance(row.sli, ServedSli)
            else samples(row, expected(plan, each, min(each.duration_s, row.slice_s or 1e9)))
            for each in stages
        ]
        most = sum(found) if isinstance(row.sli, ShareSli) else max(found)
        if most < row.min_samples:
            yield f"{row.id}: {most} samples of {row.min_samples}"


@pytest.mark.parametrize("cores", [2, 4, 16])
@pytest.mark.parametrize("name", sorted(path.stem for path in STRESS_MANIFESTS.glob("*.yaml")))
def test_every_row_that_gates_in_a_shipped_profile_gets_its_samples(name: str, cores: int) -> None:
    assert list(unreachable(load_stress_profile(name), cores)) == []


def changed(profile: StressProfile, **stage: object) -> StressProfile:
    """The profile with other settings in its stages named storm."""
    stages = tuple(msgspec.structs.replace(each, **stage) if each.name == "storm" else each for each in profile.stages)
    return msgspec.structs.replace(profile, stages=stages)


def test_a_burst_without_a_calm_before_it_and_a_limit_that_demand_fills_are_found() -> None:
    profile = load_stress_profile("demand")
    capped = msgspec.structs.replace(
        profile.loads["capped"], rate_per_s=30, bursts=(Burst(after_s=20, for_s=2, rate_per_s=9),)
    )
    loads = {**profile.loads, "capped": capped}
    found = list(unreachable(msgspec.structs.replace(profile, loads=loads)))
    assert "burst-throttled: 18 samples of 50" in found
    assert "calm-not-throttled: 0 samples of 20" in found
    assert "steady-kills: steady_utilisation is 0.9 in loop, at most 0.8 is asked for" in found


def test_a_storm_that_is_too_short_or_in_which_nothing_stays_down_is_found() -> None:
    quick = load_stress_profile("quick")
    assert list(unreachable(changed(quick, duration_s=30))) == ["unexpected-restarts: 155 samples of 300"]
    without_final = changed(quick, users={"healthy": 1, "crashers": "full"})
    assert list(unreachable(without_final)) == ["unexpected-restarts: 109 samples of 300"]


OFFICIAL = (
    "api-call-latency-mutating",
    "api-call-latency-read-resource",
    "api-call-latency-read-many",
    "pod-startup-latency",
)


def test_a_load_beyond_the_official_limit_is_found() -> None:
    crowded = changed(load_stress_profile("official"), users={"healthy": 1, "canary": 1, "crashers": 7})
    beyond = [f"{row}: pods_per_node is 22 in storm, at most 20 is asked for" for row in OFFICIAL]
    assert list(unreachable(crowded)) == beyond


def test_official_latencies_of_too_few_samples_or_without_a_disk_are_found() -> None:
    official = load_stress_profile("official")
    short = msgspec.structs.replace(
        official, stages=tuple(msgspec.structs.replace(each, duration_s=200) for each in official.stages)
    )
    assert list(unreachable(short)) == [f"{row}: 799 samples of 1000" for row in OFFICIAL]
    in_memory = msgspec.structs.replace(official, shortcuts=True)
    assert list(unreachable(in_memory)) == [f"{row}: etcd does not wait for its disk" for row in OFFICIAL]


@pytest.mark.parametrize("name", sorted(path.stem for path in STRESS_MANIFESTS.glob("*.yaml")))
def test_beyond_the_official_limit_no_slowness_of_the_node_drops_healthy_pods(name: str) -> None:
    """Pods that take as long as they may to start, and to be gone, all find a place."""
    plan = planned(load_stress_profile(name))
    for stage in plan.stages:
        for load in (plan.load.loads[each] for each in stage.users):
            if isinstance(load, Churn) and pods_on(plan.load, stage, load.node) > official_pods(plan.cores):
                stays_s = load.start_within_s + load.hold_s + GONE_S
                assert load.in_flight >= load.rate_per_s * stays_s, f"{stage.label} drops pods"


@pytest.mark.parametrize("name", ["quick", "storm-110", "knee"])
def test_reads_of_each_kind_come_often_enough_for_their_row(name: str) -> None:
    profile = load_stress_profile(name)
    canary = profile.loads["canary"]
    assert isinstance(canary, Canary)
    rows = {each.sli.of: each for each in fitting_rows(profile) if isinstance(each.sli, ReadSli) and each.sli.of}
    assert sorted(rows) == ["get", "list", "watch-list"][: 3 if canary.watch_lists else 2]
    for row in rows.values():
        shortest_s = min(stage.duration_s for stage in profile.stages if stage.name == row.phase)
        assert canary.rate_per_s * shortest_s / len(rows) > row.min_samples
