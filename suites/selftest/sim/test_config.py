"""The simulated kubelet takes and refuses configurations as kubelets do (KEP-5593, Conflict resolution, and the source)."""

import pytest

from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from sim.behaviour import CORRECT, S
from sim.config import RESET, RULES, Effective, StartRefusal, default_gates, take
from sim.faults import ConfigurationFault, behaviour_of
from suites.selftest.kit import sim_kit as sim

REDUCED = {"ReduceDefaultCrashLoopBackOffDecay": True}

TAKEN = [
    ("-5s", {}, "got: -5 seconds"),
    ("0s", {}, "got: 0 seconds"),
    ("500ms", {}, "got: 0.5 seconds"),
    ("999.9ms", {}, "got: 0.9999 seconds"),
    ("300.9s", {}, "got: 300.9 seconds"),
    ("301s", {}, "got: 301 seconds"),
    (4, {}, "cannot unmarshal number"),
    ("4", {}, 'missing unit in duration "4"'),
    ("2s", {"KubeletCrashLoopBackOffMax": False}, "must not be set"),
    (None, {"KubeletCrashLoopBackOffMax": False}, (10 * S, 300 * S)),
    (None, {"KubeletCrashLoopBackOffMax": False} | REDUCED, (S, 60 * S)),
    (None, {}, (10 * S, 300 * S)),
    (None, REDUCED, (S, 300 * S)),
    ("1s", {}, (S, S)),
    ("10s", REDUCED, (S, 10 * S)),
    ("11s", {}, (10 * S, 11 * S)),
    ("300s", {}, (10 * S, 300 * S)),
    ("300.0009s", {}, (10 * S, 300_000_900_000)),
]


@pytest.mark.parametrize(("period", "gates", "outcome"), TAKEN, ids=[f"{p!r}{''.join(g)}" for p, g, _ in TAKEN])
def test_configurations_are_taken_as_in_the_table(
    period: object, gates: dict[str, bool], outcome: str | tuple[int, int]
) -> None:
    taken = take(sim.profile(period, **gates), sim.V1_37, CORRECT)
    if isinstance(taken, StartRefusal):
        assert isinstance(outcome, str)
        assert outcome in taken.text
    else:
        assert (taken.initial_ns, taken.max_ns) == outcome


def test_a_drop_in_file_overrides_the_maximum_and_a_faulty_kubelet_only_says_so() -> None:
    drop_in = {"crashLoopBackOff": {"maxContainerRestartPeriod": "11s"}}
    profile = KubeletProfile(name="dropped-in", config=sim.profile("60s").config, drop_ins=(drop_in,))
    faulty = behaviour_of([ConfigurationFault.DROP_INS_STATED_ONLY])
    for behaviour, maximum_s in ((CORRECT, 11), (faulty, 60)):
        taken = take(profile, sim.V1_37, behaviour)
        assert isinstance(taken, Effective)
        assert taken.max_ns == maximum_s * S
        assert taken.configz == drop_in


def test_rules_off_alone_keeps_the_kubelet_from_starting_since_1_36() -> None:
    off = sim.profile(**{RULES: False})
    both_off = sim.profile(**{RULES: False, RESET: False})
    assert isinstance(take(off, KubernetesVersion(1, 35, 4), CORRECT), Effective)
    refusal = take(off, sim.V1_37, CORRECT)
    assert isinstance(refusal, StartRefusal)
    assert refusal.exit_code == 2
    assert isinstance(take(both_off, sim.V1_37, CORRECT), Effective)


def test_a_gate_is_known_from_its_release_on() -> None:
    assert RULES not in default_gates((1, 33))
    assert default_gates((1, 34))[RULES] is False
    assert default_gates((1, 35))[RULES] is True


def test_a_kubelet_has_the_gates_of_its_own_release_and_not_of_the_cluster() -> None:
    newest = KubernetesVersion(1, 37, 1)
    old = KubeletProfile(name="old", kubernetes_version="1.34.4")
    taken = take(old, newest, CORRECT)
    assert isinstance(taken, Effective)
    assert (taken.release, taken.rules) == ((1, 34), False)
    period = {"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}
    assert isinstance(take(KubeletProfile(name="new", config=period), newest, CORRECT), Effective)
    refused = take(KubeletProfile(name="old", config=period, kubernetes_version="1.34.4"), newest, CORRECT)
    assert isinstance(refused, StartRefusal)
