"""The queue model of the servers of the stress profile demand: the loop and its remedies, without a cluster."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from bench.page.queue_model import Curve, Modelled, modelled
from crashloop.stress.loads import Demand
from crashloop.stress.profiles import load_stress_profile

LONG_S = 430.0


def model(load: str, curve: Curve = Curve()) -> Modelled:
    found = load_stress_profile("demand").loads[load]
    assert isinstance(found, Demand)
    return modelled(found, curve, long_s=LONG_S)


def test_a_limit_and_the_default_probe_keep_the_server_down() -> None:
    loop = model("limited")
    assert loop.recovery_s is None
    assert loop.kills >= 5
    assert loop.down_share > 40
    assert loop.last_backlog == loop.highest_backlog


@pytest.mark.parametrize("remedy", ["unlimited", "unprobed", "patient", "remedied", "own-worker"])
def test_each_remedy_recovers_without_a_kill(remedy: str) -> None:
    found = model(remedy)
    assert (found.kills, found.last_backlog < 20) == (0, True)
    assert found.recovery_s is not None


def test_a_higher_threshold_and_short_delays_lessen_the_loop() -> None:
    loop = model("limited")
    assert 0 < model("tolerant").kills < loop.kills
    assert model("short-delays", Curve(2.0, 2.0)).down_share < loop.down_share / 2


def test_clients_that_go_away_end_the_loop() -> None:
    found = model("away")
    assert (found.kills > 0, found.recovery_s is not None) == (True, True)


def test_steady_demand_below_the_limit_kills_nothing() -> None:
    assert (model("steady").kills, model("capped").kills) == (0, 0)


def test_a_probe_alone_waits_in_no_queue() -> None:
    """Without a burst the default arm stays up as well."""
    calm = load_stress_profile("demand").loads["limited"]
    assert isinstance(calm, Demand)
    found = modelled(msgspec.structs.replace(calm, bursts=()), Curve(), long_s=LONG_S)
    assert (found.kills, found.last_backlog < 20) == (0, True)


def spread_of(load: str, curve: Curve = Curve(), **changed: Any) -> list[Modelled]:
    """Five runs as long as the published one."""
    found = load_stress_profile("demand").loads[load]
    assert isinstance(found, Demand)
    return [modelled(found, curve, long_s=430.31, seed=seed, **changed) for seed in range(5)]


def range_of(values: Iterable[float | None]) -> tuple[int, int]:
    known = [round(each) for each in values if each is not None]
    return min(known), max(known)


def test_the_cpu_of_a_request_explains_when_backlogs_went_away() -> None:
    """docs/liveness-loop.md: 244 s in the run of `unprobed` and `patient`, 272 s in that of `own-worker`."""
    for load, overhead_s, recovered in (
        ("unprobed", 0.002, (244, 246)),
        ("patient", 0.002, (245, 247)),
        ("own-worker", 0.0023, (271, 275)),
    ):
        assert range_of(each.recovery_s for each in spread_of(load, overhead_s=overhead_s)) == recovered


def test_probes_that_keep_their_period_explain_most_of_the_longer_lives() -> None:
    """docs/liveness-loop.md: 641 requests in `limited`; 13 kills and 352 s in `short-delays`; 4 kills in `away`."""
    limited = spread_of("limited", keeps_period=True)
    assert range_of(each.highest_backlog for each in limited) == (647, 686)
    assert range_of(each.down_share for each in limited) == (48, 50)
    assert all(each.recovery_s is None for each in limited)
    short = spread_of("short-delays", Curve(2.0, 2.0), keeps_period=True)
    assert range_of(each.kills for each in short) == (11, 12)
    assert all(each.recovery_s is not None for each in short)
    assert range_of(each.recovery_s for each in short) == (316, 328)
    assert {each.kills for each in spread_of("away", keeps_period=True)} == {4}


def test_the_cpu_of_a_request_does_not_explain_the_tolerant_server() -> None:
    """docs/liveness-loop.md: one kill and 238 s in the run."""
    found = spread_of("tolerant", overhead_s=0.0017)
    assert {each.kills for each in found} == {3}
    assert range_of(each.recovery_s for each in found) == (277, 278)
