"""Which configurations a kubelet refuses, and what it prints.

What is expected of a kubelet that is started with a profile.
"""

from typing import Any

import pytest

from crashloop.errors import UsageError
from crashloop.model.config import Curve, Refusal, RefusalKind, effective_curve, validate_period
from crashloop.model.prediction import predict_startup
from crashloop.model.variants import (
    GATE_OFF_REFUSES_START,
    as_shipped,
)
from crashloop.spec.pod import Container
from crashloop.spec.profile import MAX_PERIOD_GATE, RESTART_ALL_GATE, RESTART_RULES_GATE, UNSET, KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import StartupScenario
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.model_inputs import V1_33, V1_34, V1_35, V1_36, V1_37, predicted, profile


def outcome(curve: Curve | Refusal) -> Any:
    return curve.kind if isinstance(curve, Refusal) else (curve.initial_s, curve.maximum_s)


@pytest.mark.parametrize(
    ("version", "gates", "refusal"),
    [
        (V1_37, {"SidecarContainers": True}, RefusalKind.UNKNOWN_GATE),
        (V1_36, {"SidecarContainers": True}, None),
        (V1_36, {"SidecarContainers": False}, RefusalKind.LOCKED_GATE),
        (V1_33, {RESTART_RULES_GATE: True}, RefusalKind.UNKNOWN_GATE),
        (V1_34, {RESTART_ALL_GATE: True}, RefusalKind.UNKNOWN_GATE),
        (V1_37, {"ReduceDefaultCrashLoopBackoffDecay": True}, RefusalKind.UNKNOWN_GATE),
        (V1_37, {"NodeDeclaredFeatures": False}, RefusalKind.LOCKED_GATE),
        (V1_35, {RESTART_ALL_GATE: True}, RefusalKind.GATE_DEPENDENCY),
        (V1_35, {RESTART_ALL_GATE: True, "NodeDeclaredFeatures": True}, None),
        (V1_37, {"MemoryQoS": True}, None),
        (V1_37, {"SomeOtherGate": True}, RefusalKind.UNKNOWN_GATE),
    ],
    ids=str,
)
def test_a_gate_must_exist_be_free_and_have_what_it_needs(
    version: KubernetesVersion, gates: dict[str, bool], refusal: RefusalKind | None
) -> None:
    curve = effective_curve(profile(**gates), version)
    assert (curve.kind if isinstance(curve, Refusal) else None) is refusal


@pytest.mark.parametrize(
    ("tried", "text"),
    [
        (
            profile("2s", **{MAX_PERIOD_GATE: False}),
            "invalid configuration: FeatureGate KubeletCrashLoopBackOffMax not enabled, "
            "CrashLoopBackOff.MaxContainerRestartPeriod must not be set",
        ),
        (
            profile("300.9s"),
            "invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: 300.9 seconds) "
            "must be set between 1s and 300s",
        ),
        (
            profile("500ms"),
            "invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: 0.5 seconds) "
            "must be set between 1s and 300s",
        ),
        (
            profile("-5m1s"),
            "invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: -301 seconds) "
            "must be set between 1s and 300s",
        ),
        (profile(4), "json: cannot unmarshal number into Go value of type string"),
        (profile(True), "json: cannot unmarshal bool into Go value of type string"),
        (profile("4"), 'time: missing unit in duration "4"'),
        (profile(""), 'time: invalid duration ""'),
        (profile("5 s"), 'time: unknown unit " s" in duration "5 s"'),
        (profile("\u0663"), r'time: invalid duration "\xd9\xa3"'),
        (profile("5s\n"), r'time: unknown unit "s\x0a" in duration "5s\x0a"'),
        (profile("fast"), 'time: invalid duration "fast"'),
        (
            profile(**{RESTART_RULES_GATE: False}),
            "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
            "RestartAllContainersOnContainerExits is enabled, but depends on features that are disabled: "
            "[ContainerRestartRules]",
        ),
    ],
    ids=lambda each: str(each.config) if isinstance(each, KubeletProfile) else "",
)
def test_a_refusal_carries_what_upstream_prints(tried: KubeletProfile, text: str) -> None:
    refusal = effective_curve(tried, V1_37, deviations=as_shipped(V1_37))
    assert isinstance(refusal, Refusal)
    assert refusal.text == text


def test_a_gate_switched_on_after_defaulting_leaves_the_period_unset() -> None:
    refusal = validate_period(UNSET, {MAX_PERIOD_GATE: True})
    assert refusal is not None
    assert refusal.kind is RefusalKind.UNSET


def test_unknown_keys_are_ignored() -> None:
    config = {"crashloopbackoff": {"maxContainerRestartPeriod": "2s"}, "crashLoopBackOff": {"maxSeconds": 2}}
    assert effective_curve(KubeletProfile(name="keys", config=config), V1_37) == Curve(10, 300)


def test_a_profile_that_the_kubelet_refuses_has_no_prediction() -> None:
    app = Container(program=exits_with(1))
    with pytest.raises(UsageError, match=r"kubelet profile 'node': a kubelet 1\.37\.0 does not start with it \(out-of"):
        predicted(app, node=profile("500ms"))
    off = profile("2s", **{MAX_PERIOD_GATE: False})
    assert predicted(app, node=off).curve == Curve(10, 300)
    with pytest.raises(UsageError, match="gate-off"):
        predicted(app, node=off, deviations=frozenset({GATE_OFF_REFUSES_START}))


def test_a_startup_is_predicted_from_its_candidate() -> None:
    startup = StartupScenario(name="start", profile="stock", candidate="node")
    assert predict_startup(startup, profile("11s"), V1_37) == Curve(10, 11)
    refusal = predict_startup(startup, profile("0s"), V1_37)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.OUT_OF_RANGE
    with pytest.raises(ValueError, match="tries profile node, not other"):
        predict_startup(startup, KubeletProfile(name="other"), V1_37)


def test_a_flag_that_the_kubelet_does_not_know_is_refused_whatever_the_configuration() -> None:
    startup = StartupScenario(name="start", profile="stock", candidate="node", unknown_flags=("--no-such-flag=2s",))
    refusal = predict_startup(startup, profile("11s"), V1_37)
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.panics) == (RefusalKind.UNKNOWN_FLAG, False)
    assert refusal.text == "failed to parse kubelet flag: unknown flag: --no-such-flag"
