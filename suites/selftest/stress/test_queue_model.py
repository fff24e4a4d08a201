"""The queue model of the servers of the stress profile demand: the loop and its remedies, without a cluster."""

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
