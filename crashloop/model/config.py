"""The curve a kubelet configuration stands for, or why the kubelet refuses it; and what holds while one kubelet process runs.

Theory of operation. A kubelet reads its configuration in four steps, and the first that fails ends its start:
1. decode: the period is a Go duration string or absent;
2. gates: every gate that is set exists, is not locked the other way, and has what it depends on;
3. validation: a period is allowed only with KubeletCrashLoopBackOffMax, and then 1 s to 300 s;
4. selection: initial delay and maximum from the two gates and the period.
Unknown fields are dropped. Texts are upstream's, to be shown, never judged.

A kubelet reads its configuration when it starts, and keeps it. Its counters are in its memory. So the delay before a restart
follows the curve of the process that attempted the start before it, which is the only one that has a counter for it; after
a restart of the kubelet the first start is free, and the curve of the new process begins.
Source of that: pkg/kubelet/kubelet.go@v1.37.1 NewMainKubelet (newCrashLoopBackOff is called once);
client-go util/flowcontrol/backoff.go@v0.37.1 Next (the maximum applies when a start is attempted).
"""

from enum import StrEnum
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.model.gates import (
    GateState,
    default_gates,
    effective_gates,
    gate_state,
    kubelet_version,
    unmet,
)
from crashloop.model.variants import (
    DOCUMENTED,
    GATE_OFF_REFUSES_START,
    MAXIMUM_IN_MILLISECONDS,
    REDUCED_DECAY_KEEPS_300S,
    RESTART_RULES_OFF_REFUSES_START,
    as_shipped,
    require_known,
)
from crashloop.spec.duration import NotADuration, parse_duration_ns, printed_seconds, whole_milliseconds
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    UNSET,
    KubeletProfile,
    matches_profile,
)
from crashloop.spec.version import KubernetesVersion


class Curve(msgspec.Struct, frozen=True):
    """Delays double from `initial_s` up to `maximum_s`. Seconds; 0 < initial_s <= maximum_s."""

    initial_s: float
    maximum_s: float

    def __post_init__(self) -> None:
        if not 0 < self.initial_s <= self.maximum_s:
            raise ValueError(f"{self}: expected 0 < initial_s <= maximum_s")

    def after(self, delay_s: float) -> float:
        """The delay that follows `delay_s`."""
        return min(2 * delay_s, self.maximum_s)

    def delay_s(self, restart: int) -> float:
        """Delay before a restart, counted from 1, if nothing resets the curve. The first one is free.

        KEP-5593, "Relationship with k/k#123602": the schedule begins 0 s, 10 s, 20 s; acknowledged in
        kubernetes/kubernetes#133472.
        """
        if type(restart) is not int or restart < 1:
            raise ValueError(f"restart {restart!r}: restarts are whole numbers from 1")
        return 0.0 if restart == 1 else min(self.initial_s * 2.0 ** min(restart - 2, 64), self.maximum_s)


DEFAULT_CURVE = Curve(10.0, 300.0)  # initialCrashLoopBackOff, MaxCrashLoopBackOff, pkg/kubelet/kubelet.go@v1.37.1
REDUCED_CURVE = Curve(1.0, 60.0)  # KEP-4603, Design: 1 s and 1 minute; reduced... in the same file


class RefusalKind(StrEnum):
    """Why a kubelet does not start with a configuration."""

    NOT_A_DURATION = "not-a-duration"
    UNKNOWN_GATE = "unknown-gate"
    LOCKED_GATE = "locked-gate"
    GATE_DEPENDENCY = "gate-dependency"
    GATE_OFF = "gate-off"
    OUT_OF_RANGE = "out-of-range"
    UNSET = "unset"
    UNKNOWN_FLAG = "unknown-flag"
    FORM = "form"
    """Fields that bear on no restart: crashloop.kubelet_files."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The kubelet does not start. `text` is what upstream prints: shown; `names` of it is judged."""

    kind: RefusalKind
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """What its text has to say where another end of the kubelet would pass for it: of a panic, and where no text promises it.

        k8s.io/component-base/featuregate/feature_gate.go@v0.37.1, pkg/kubelet/apis/config/validation/validation.go@v1.37.1.
        """
        return _NAMES.get(self.kind, ())

    @property
    def panics(self) -> bool:
        """Whether the kubelet says so by a panic: k8s.io/component-base/featuregate/feature_gate.go@v0.37.1."""
        return self.kind in (RefusalKind.UNKNOWN_GATE, RefusalKind.LOCKED_GATE, RefusalKind.GATE_DEPENDENCY)


_NAMES = {
    RefusalKind.UNKNOWN_GATE: ("unrecognized feature gate",),
    RefusalKind.LOCKED_GATE: ("cannot set feature gate",),
    RefusalKind.GATE_DEPENDENCY: ("depends on features that are disabled",),
    RefusalKind.GATE_OFF: (MAX_PERIOD_GATE, "MaxContainerRestartPeriod"),
}


def effective_curve(
    profile: KubeletProfile, version: KubernetesVersion, *, deviations: frozenset[str] = DOCUMENTED
) -> Curve | Refusal:
    """The curve of a node with that profile, or the refusal. `version` is the cluster's; a profile may have its own."""
    require_known(deviations)
    raw = profile.max_container_restart_period
    try:
        period_ns = UNSET if raw is UNSET else parse_duration_ns(raw)
    except NotADuration as error:
        return Refusal(kind=RefusalKind.NOT_A_DURATION, text=str(error))
    gates = effective_gates(profile, version)
    refusal = _gate_refusal(profile, kubelet_version(profile, version), deviations)
    if refusal is not None:
        return refusal
    if period_ns is not UNSET and not gates[MAX_PERIOD_GATE] and GATE_OFF_REFUSES_START not in deviations:
        # "kubelet will log a warning but will not honor" -- KEP-5593, Conflict resolution
        period_ns = UNSET
    defaulted = period_ns is UNSET and gates[MAX_PERIOD_GATE]
    if defaulted:
        period_ns = _default_period_ns(gates, deviations)
    return validate_period(period_ns, gates, deviations) or select_curve(period_ns, gates)


def unknown_flag(argument: str) -> Refusal:
    """What a kubelet says of a flag that it does not know: cmd/kubelet/app/server.go@v1.37.1 NewKubeletCommand."""
    flag = argument.partition("=")[0]
    return Refusal(kind=RefusalKind.UNKNOWN_FLAG, text=f"failed to parse kubelet flag: unknown flag: {flag}")


def validate_period(
    period_ns: int | None, gates: dict[str, bool], deviations: frozenset[str] = DOCUMENTED
) -> Refusal | None:
    """Step 3. Pod Lifecycle, "Configurable container restart delay": 1 s to 300 s."""
    if not gates[MAX_PERIOD_GATE]:
        if period_ns is UNSET:
            return None
        return Refusal(
            kind=RefusalKind.GATE_OFF,
            text=f"invalid configuration: FeatureGate {MAX_PERIOD_GATE} not enabled, "
            "CrashLoopBackOff.MaxContainerRestartPeriod must not be set",
        )
    if period_ns is UNSET:
        # Reached by a gate that a flag switches on after the file was defaulted.
        return Refusal(
            kind=RefusalKind.UNSET,
            text=f"invalid configuration: FeatureGate {MAX_PERIOD_GATE} is enabled, "
            "CrashLoopBackOff.MaxContainerRestartPeriod must be set",
        )
    # pkg/kubelet/apis/config/validation/validation.go@v1.37.1 compares whole milliseconds, so 300.0009s passes.
    compared_ns = period_ns
    if MAXIMUM_IN_MILLISECONDS in deviations:
        compared_ns = whole_milliseconds(period_ns) * 10**6
    if 10**9 <= compared_ns <= 300 * 10**9:
        return None
    return Refusal(
        kind=RefusalKind.OUT_OF_RANGE,
        text="invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod "
        f"(got: {printed_seconds(period_ns)} seconds) must be set between 1s and 300s",
    )


def select_curve(period_ns: int | None, gates: dict[str, bool]) -> Curve:
    """Step 4. pkg/kubelet/kubelet.go@v1.37.1 newCrashLoopBackOff: a period below the initial delay lowers that too."""
    curve = REDUCED_CURVE if gates[REDUCED_DECAY_GATE] else DEFAULT_CURVE
    if period_ns is UNSET or not gates[MAX_PERIOD_GATE]:
        return curve
    maximum_s = period_ns / 10**9
    return Curve(min(curve.initial_s, maximum_s), maximum_s)


def _default_period_ns(gates: dict[str, bool], deviations: frozenset[str]) -> int:
    # pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1 fills in 300 s whatever the other gate says;
    # "1s initial delay, 60s maximum" -- KEP-4603
    reduced = gates[REDUCED_DECAY_GATE] and REDUCED_DECAY_KEEPS_300S not in deviations
    return round((REDUCED_CURVE if reduced else DEFAULT_CURVE).maximum_s * 10**9)


def _gate_refusal(profile: KubeletProfile, version: KubernetesVersion, deviations: frozenset[str]) -> Refusal | None:
    """Step 2. Defaulting panics on these: k8s.io/component-base/featuregate/feature_gate.go@v0.37.1."""
    states = {gate: gate_state(gate, version) for gate in profile.feature_gates}
    if unknown := [gate for gate, state in states.items() if state is GateState.ABSENT]:
        return _panic(RefusalKind.UNKNOWN_GATE, f"unrecognized feature gate: {', '.join(unknown)}")
    for gate, enabled in profile.feature_gates.items():
        if states[gate] is (GateState.LOCKED_OFF if enabled else GateState.LOCKED):
            locked, value = str(not enabled).lower(), str(enabled).lower()
            text = f"cannot set feature gate {gate} to {value}, feature is locked to {locked}"
            return _panic(RefusalKind.LOCKED_GATE, text)
    for gate, missing in unmet(profile.feature_gates, version).items():
        if not _rolls_back(profile, gate, missing, deviations):
            return _panic(
                RefusalKind.GATE_DEPENDENCY,
                f"{gate} is enabled, but depends on features that are disabled: [{' '.join(missing)}]",
            )
    return None


def _rolls_back(profile: KubeletProfile, gate: str, missing: list[str], deviations: frozenset[str]) -> bool:
    # KEP-5307, Rollback: disabling the one gate is enough. The kubelet also wants the gate off that depends on it.
    return (
        gate == RESTART_ALL_GATE
        and missing == [RESTART_RULES_GATE]
        and gate not in profile.feature_gates
        and RESTART_RULES_OFF_REFUSES_START not in deviations
    )


def _panic(kind: RefusalKind, error: str) -> Refusal:
    return Refusal(
        kind=kind,
        text="failed to merge global and in-flight KubeletConfiguration while setting defaults, error: " + error,
    )


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """The effective configuration of one kubelet process."""

    profile: str
    curve: Curve
    gates: dict[str, bool]
    version: KubernetesVersion
    """Of the kubelet."""


def in_force(profile: KubeletProfile, version: KubernetesVersion, deviations: frozenset[str] = DOCUMENTED) -> InForce:
    """What a kubelet runs with that is started with a profile. `version` is the cluster's; a profile may have its own.

    Raises UsageError if the kubelet does not start with the profile.
    """
    curve, own_version = effective_curve(profile, version, deviations=deviations), kubelet_version(profile, version)
    if isinstance(curve, Refusal):
        raise UsageError(
            f"kubelet profile {profile.name!r}: a kubelet {own_version} does not start with it ({curve.kind}).\n"
            f"It says: {curve.text}"
        )
    return InForce(profile=profile.name, curve=curve, gates=effective_gates(profile, version), version=own_version)


def agrees(configz: dict[str, Any], profile: KubeletProfile, version: KubernetesVersion) -> bool | None:
    """`matches_profile` with the defaults of the kubelet's release. `version` is the cluster's; a profile may have its own.

    None only for a gate outside the table that one side leaves out.
    """
    return matches_profile(configz, profile, defaults=default_gates(kubelet_version(profile, version)))


def profile_of(configz: dict[str, Any], *, version: str | None = None) -> KubeletProfile:
    """What of an effective KubeletConfiguration bears on restarts, as a profile of a kubelet of that version."""
    config = {key: configz[key] for key in ("crashLoopBackOff", "featureGates") if configz.get(key)}
    return KubeletProfile(name="effective", config=config, kubernetes_version=version)


def shipped_curve(profile: KubeletProfile, version: KubernetesVersion) -> Curve | None:
    """The curve that a kubelet of that release really follows with the profile; None if it does not start with it."""
    curve = effective_curve(profile, version, deviations=as_shipped(kubelet_version(profile, version)))
    return None if isinstance(curve, Refusal) else curve
