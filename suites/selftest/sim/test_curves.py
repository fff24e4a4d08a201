"""The simulated kubelet follows the curves that kubelets are known to follow, and retries when they do."""

from random import Random

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Mode
from sim import simulate
from sim.host import BUSY
from suites.selftest.kit import sim_kit as sim

REDUCED = {"ReduceDefaultCrashLoopBackOffDecay": True}

CURVES = [
    (None, {}, [0, 10, 20, 40, 80, 160, 300, 300]),
    (None, REDUCED, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]),
    ("60s", REDUCED, [0, 1, 2, 4, 8, 16, 32, 60, 60]),
    ("2s", REDUCED, [0, 1, 2, 2]),
    ("60s", {}, [0, 10, 20, 40, 60, 60]),
    ("20s", {}, [0, 10, 20, 20]),
    ("11s", {}, [0, 10, 11, 11]),
    ("10s", {}, [0, 10, 10, 10]),
    ("2s", {}, [0, 2, 2, 2]),
    ("1s", {}, [0, 1, 1, 1]),
]


def delays_are_due(delays: list[float], due: list[int], late_s: float = 2.2) -> None:
    assert len(delays) == len(due)
    for delay, least in zip(delays, due, strict=True):
        assert least <= delay <= least + late_s


@pytest.mark.parametrize(
    ("period", "gates", "ladder"), CURVES, ids=[f"{p}{'-reduced' * bool(g)}" for p, g, _ in CURVES]
)
def test_a_pod_that_is_looked_at_every_second_shows_the_ladder(
    period: str | None, gates: dict[str, bool], ladder: list[int]
) -> None:
    events = sim.simulated(sim.crashing(len(ladder)), period, gates=gates)
    delays_are_due(sim.delays_s(events), ladder)


LATEST = {10: 16, 20: 31, 40: 61, 80: 93, 160: 184, 300: 331}
"""kubelet-semantics of 1.35 and later: due delay and its latest create, in whole seconds."""


@pytest.mark.parametrize("seed", range(8))
def test_an_untouched_pod_is_retried_within_half_the_remaining_delay(seed: int) -> None:
    events = sim.simulated(sim.crashing(8, mode=Mode.NATURAL), seed=seed)
    free, *delays = sim.delays_s(events)
    assert free < 2
    for delay, due in zip(delays, (10, 20, 40, 80, 160, 300, 300), strict=True):
        assert due <= delay <= LATEST[due] + 0.2


@pytest.mark.parametrize("seed", range(4))
def test_kubelets_up_to_1_34_retry_every_10_to_16_seconds(seed: int) -> None:
    events = sim.simulated(
        sim.crashing(5, mode=Mode.NATURAL),
        "2s",
        version=sim.V1_34,
        seed=seed,
        gates={"KubeletCrashLoopBackOffMax": True},
    )
    assert all(10 <= delay <= 17.5 for delay in sim.delays_s(events)[1:])


def test_a_run_of_more_than_ten_minutes_resets_the_counter() -> None:
    program = runs((1, 1), (1, 1), (1, 1), (610, 1), (1, 1), (1, 1))
    events = sim.simulated(sim.pod_of(Container(program=program), restarts={"app": 6}), "20s")
    delays_are_due(sim.delays_s(events), [0, 10, 20, 0, 10, 20])


def test_a_counter_is_collected_while_the_container_waits() -> None:
    program = runs((1, 1), (1, 1), (1, 1), (590, 1), (1, 1), (1, 1))
    events = sim.simulated(sim.pod_of(Container(program=program), restarts={"app": 6}), "20s")
    delays_are_due(sim.delays_s(events)[-2:], [10, 20])


def test_a_counter_outlives_a_run_that_ends_well_before_ten_minutes() -> None:
    program = runs((1, 1), (1, 1), (1, 1), (560, 1), (1, 1), (1, 1))
    events = sim.simulated(sim.pod_of(Container(program=program), restarts={"app": 6}), "20s")
    delays_are_due(sim.delays_s(events), [0, 10, 20, 20, 20, 20])


def test_each_container_has_its_own_counter() -> None:
    events = sim.simulated(
        sim.pod_of(
            Container(name="hasty", program=exits_with(1, times=4)),
            Container(name="steady", program=exits_with(1, after_s=7, times=4)),
            restarts={"hasty": 4, "steady": 4},
        ),
        "300s",
    )
    delays_are_due(sim.delays_s(events, "hasty"), [0, 10, 20, 40])
    delays_are_due(sim.delays_s(events, "steady"), [0, 10, 20, 40])


def intervention(action: InterventionKind, **arguments: object) -> tuple[Intervention, ...]:
    """Two seconds into the delay of 20 s."""
    trigger = Trigger(container="app", after_restart=2, after_s=2)
    return (Intervention(trigger=trigger, action=action, arguments=arguments),)


FORGETTING = {
    "resize": intervention(InterventionKind.RESIZE, container="app", cpu="60m"),
    "image": intervention(InterventionKind.CHANGE_IMAGE, container="app", image="other:1"),
    "kubelet": intervention(InterventionKind.RESTART_KUBELET),
}


@pytest.mark.parametrize("name", FORGETTING)
def test_a_waiting_container_starts_at_once_and_begins_the_curve_again(name: str) -> None:
    events = sim.simulated(sim.crashing(5, interventions=FORGETTING[name]))
    free, ten, cut_short, again, twenty = sim.delays_s(events)
    delays_are_due([free, ten], [0, 10])
    assert 2 <= cut_short <= 7
    delays_are_due([again, twenty], [10, 20])


def test_an_annotation_neither_ends_a_delay_nor_lengthens_the_next() -> None:
    events = sim.simulated(sim.crashing(5, interventions=intervention(InterventionKind.ANNOTATE)))
    delays_are_due(sim.delays_s(events), [0, 10, 20, 40, 80])


def test_a_recreated_pod_begins_the_curve_again() -> None:
    events = sim.simulated(sim.crashing(5, interventions=intervention(InterventionKind.RECREATE_POD)))
    first, second = (uid for uid in dict.fromkeys(event.pod_uid for event in events) if uid is not None)
    assert first != second
    delays_are_due(sim.delays_s([event for event in events if event.pod_uid == second]), [0, 10, 20])


def test_a_restart_of_the_runtime_leaves_the_curve_alone() -> None:
    events = sim.simulated(sim.crashing(4, interventions=intervention(InterventionKind.RESTART_RUNTIME)))
    delays_are_due(sim.delays_s(events), [0, 10, 20, 40], late_s=4)


def test_a_runtime_that_hangs_holds_starts_up_and_loses_no_event() -> None:
    hang = intervention(InterventionKind.RESTART_RUNTIME, down_s=8.0, hangs=True)
    events = sim.simulated(sim.crashing(4, interventions=hang))
    assert all(event.kind is not Kind.GAP for event in events)
    delays_are_due(sim.delays_s(events), [0, 10, 20, 40], late_s=10)


def test_init_containers_and_sidecars_follow_the_same_curve() -> None:
    events = sim.simulated(
        sim.pod_of(
            Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 1), (1, 1), (1, 1), (1, 0))),
            Container(name="app", program=HOLDS),
            phase="Running",
        )
    )
    delays_are_due(sim.delays_s(events, "setup"), [0, 10, 20])
    setup_done = sim.of(events, Channel.RUNTIME, Kind.EXITED, container="setup")[-1]
    (app,) = sim.of(events, Channel.RUNTIME, Kind.CREATED, container="app")
    assert app.t_ns > setup_done.t_ns


def test_a_loaded_host_never_makes_a_delay_shorter() -> None:
    for seed in range(20):
        events = sim.simulated(sim.crashing(6, mode=Mode.NATURAL), "2s", seed=seed, host=BUSY)
        assert min(sim.delays_s(events)[1:]) >= 2


def test_the_same_seed_gives_the_same_history() -> None:
    scenario = sim.crashing(3)
    assert sim.simulated(scenario, seed=7) == sim.simulated(scenario, seed=7)
    assert sim.simulated(scenario, seed=7) != sim.simulated(scenario, seed=8)


def test_a_profile_that_no_kubelet_starts_with_cannot_be_simulated() -> None:
    with pytest.raises(ValueError, match="does not start"):
        sim.simulated(sim.crashing(1), "0s")


def test_a_kubelet_that_restarts_with_another_configuration_follows_its_curve() -> None:
    restart = Intervention(
        trigger=Trigger(container="app", after_restart=2, after_s=0.5),
        action=InterventionKind.RESTART_KUBELET,
        arguments={"profile": "later"},
    )
    later = KubeletProfile(name="later", config=sim.profile("4s").config)
    scenario = sim.crashing(6, interventions=(restart,))
    events = simulate(scenario, sim.profile("2s"), sim.V1_37, rng=Random(1), later=(later,))
    reports = sim.of(events, Channel.KUBELET, Kind.NODE)
    assert [each.data.get("profile") for each in reports] == [None, "later"]
    assert [each.data["configz"]["crashLoopBackOff"] for each in reports] == [
        {"maxContainerRestartPeriod": "2s"},
        {"maxContainerRestartPeriod": "4s"},
    ]
    first, second, after_restart, *rest = sim.delays_s(events)
    assert first < 2 <= second
    assert after_restart < 6
    assert [round(each) >= 4 for each in rest] == [True] * 3
