"""A kubelet's reading of its configuration: Go durations, gates by release, defaults, refusals, the effective curve.

Theory of operation. A kubelet first fills in defaults, which depend on the gates, then validates, then picks the curve:
the maximum is the configured period; the initial delay is 10 s, 1 s with ReduceDefaultCrashLoopBackOffDecay, and never
above the maximum. pkg/features/kube_features.go, pkg/kubelet/apis/config/v1beta1/defaults.go, apis/config/validation/
validation.go and kubelet.go newCrashLoopBackOff, all @v1.37.1; KEP-5593 and KEP-4603 differ in places.
"""

import re
from fractions import Fraction
from typing import Any

import msgspec

from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from sim.behaviour import Behaviour, S

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"(?P<number>\d+\.?\d*|\.\d+)(?P<unit>[^\d.]*)")


class BadDuration(ValueError):
    """Text that Go's time.ParseDuration refuses; the message is Go's own."""


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration such as `1m30s` or `999.9ms`. Raises BadDuration."""
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total, at = Fraction(0), 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            raise BadDuration(f'time: invalid duration "{text}"')
        if not part["unit"]:
            raise BadDuration(f'time: missing unit in duration "{text}"')
        if part["unit"] not in _UNITS:
            raise BadDuration(f'time: unknown unit "{part["unit"]}" in duration "{text}"')
        total += Fraction(part["number"]) * _UNITS[part["unit"]]
        at = part.end()
    if not rest:
        raise BadDuration(f'time: invalid duration "{text}"')
    return sign * int(total)


def spell(ns: int) -> str:
    """The duration as Go prints it: `2s`, `1m20s`, `5m0s`, `300ms`."""
    if ns < _UNITS["s"]:
        return "0s" if ns == 0 else f"{ns / _UNITS['ms']:g}ms"
    minutes, below = divmod(ns, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = f"{below / _UNITS['s']:.9f}".rstrip("0").rstrip(".")
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{seconds}s"


MAX_PERIOD = "KubeletCrashLoopBackOffMax"
REDUCED = "ReduceDefaultCrashLoopBackOffDecay"
RULES = "ContainerRestartRules"
RESET = "RestartAllContainersOnContainerExits"
DECLARED = "NodeDeclaredFeatures"

_ABSENT = None
_GATES: dict[str, tuple[bool | None, ...]] = {
    #            1.33     1.34     1.35   1.36   1.37
    MAX_PERIOD: (False, False, True, True, True),
    REDUCED: (False, False, False, False, False),
    RULES: (_ABSENT, False, True, True, True),
    RESET: (_ABSENT, _ABSENT, False, True, True),
    DECLARED: (_ABSENT, _ABSENT, False, True, True),
}
_OLDEST, _NEWEST = (1, 33), (1, 37)
_DECLARED_LOCKED = (1, 37)


class StartRefusal(msgspec.Struct, frozen=True):
    """Why the kubelet does not start: its last words and its exit status."""

    text: str
    exit_code: int = 1


class Effective(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration a kubelet runs with."""

    gates: dict[str, bool]
    initial_ns: int
    max_ns: int
    configz: dict[str, Any]
    release: tuple[int, int]
    warning: str = ""
    """What its output says of a maximum that it ignores."""

    @property
    def rules(self) -> bool:
        return self.gates.get(RULES, False)

    @property
    def reset(self) -> bool:
        return self.gates.get(RESET, False)


def default_gates(release: tuple[int, int]) -> dict[str, bool]:
    """The gates that matter here as a release has them by default; one that it does not know is absent."""
    column = min(max(release, _OLDEST), _NEWEST)[1] - _OLDEST[1]
    return {name: default for name, row in _GATES.items() if (default := row[column]) is not None}


def gates_with(wanted: dict[str, bool], release: tuple[int, int]) -> dict[str, bool]:
    """The gates with those set that are wanted; AllAlpha and AllBeta set the others that are off, or on, by default."""
    gates = default_gates(release)
    for name, default in default_gates(release).items():
        group = "AllBeta" if default else "AllAlpha"
        if group in wanted and not (name == DECLARED and release >= _DECLARED_LOCKED):
            gates[name] = wanted[group]
    return gates | wanted


def take(profile: KubeletProfile, version: KubernetesVersion, behaviour: Behaviour) -> Effective | StartRefusal:
    """What a kubelet, of that version or of the profile's own, does with the configuration file and drop-in files."""
    if profile.arguments and not behaviour.takes_any_flag:
        return StartRefusal(f"failed to parse kubelet flag: unknown flag: {profile.arguments[0].split('=')[0]}")
    own = profile.kubernetes_version
    release = (version if own is None else KubernetesVersion.parse(own)).release
    # Decoding comes first; defaults are filled in, and gates set for them, on what was decoded.
    config = _with_drop_ins(profile, behaviour)
    raw = (config.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod")
    raw = _with_unit(raw, behaviour)
    if raw is not None and not isinstance(raw, str):
        return StartRefusal(f"json: cannot unmarshal {_json_type(raw)} into Go value of type string")
    try:
        period = parse_duration(raw) if raw is not None else None
    except BadDuration as error:
        return StartRefusal(f"failed to load kubelet config file, error: {error}")
    gates = gates_with(config.get("featureGates") or {}, release)
    refusal = _gates_refusal(gates, config.get("featureGates") or {}, release)
    if refusal is not None:
        return refusal
    if period is None and gates[MAX_PERIOD]:
        period = 300 * S
    refusal = _validate(period, gates[MAX_PERIOD], behaviour)
    if refusal is not None and behaviour.crashes_on_invalid:
        return StartRefusal(
            "panic: runtime error: invalid memory address or nil pointer dereference\n\ngoroutine 1 [running]:",
            exit_code=2,
        )
    if refusal is not None and not behaviour.accepts_invalid:
        return refusal
    if behaviour.refuses_valid and refusal is None:
        return _refusal_by_validation("CrashLoopBackOff.MaxContainerRestartPeriod is not to our liking")
    followed = period if behaviour.drop_ins_set_curve else _period_of_file(profile, period)
    initial, maximum = _effective_curve(followed, gates, behaviour)
    is_ignored = raw is not None and not gates[MAX_PERIOD] and behaviour.warns_of_ignored
    return Effective(
        gates=gates,
        initial_ns=initial,
        max_ns=maximum,
        configz=_configz(config, period, behaviour),
        release=release,
        warning="W1126 12:00:00.000000 crashLoopBackOff.maxContainerRestartPeriod is ignored" if is_ignored else "",
    )


def _with_drop_ins(profile: KubeletProfile, behaviour: Behaviour) -> dict[str, Any]:
    """The file with the drop-in files on top, in their order; a field of the file that none of them names stays."""
    config = dict(profile.config)
    for drop_in in profile.drop_ins[:: behaviour.drop_in_step] if behaviour.drop_in_step else ():
        for field, value in drop_in.items():
            below = config.get(field)
            config[field] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return config


def _period_of_file(profile: KubeletProfile, stated: int | None) -> int | None:
    """The maximum of the configuration file alone, if that has one."""
    raw = (profile.config.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod")
    return parse_duration(raw) if isinstance(raw, str) else stated


def _with_unit(raw: Any, behaviour: Behaviour) -> Any:
    """The period as it is written, or as a faulty kubelet takes it where its unit is missing."""
    is_number = isinstance(raw, int | float) and not isinstance(raw, bool)
    if (is_number and behaviour.takes_numbers) or (
        isinstance(raw, str) and raw.isdecimal() and behaviour.takes_bare_digits
    ):
        return f"{raw}s"
    return raw


def _gates_refusal(gates: dict[str, bool], wanted: dict[str, bool], release: tuple[int, int]) -> StartRefusal | None:
    for name, value in wanted.items():
        if name in _GATES and name not in default_gates(release):
            return _refusal_by_panic(f"unrecognized feature gate: {name}")
        if name == DECLARED and release >= _DECLARED_LOCKED and not value:
            return _refusal_by_panic(f"cannot set feature gate {name} to false, feature is locked to true")
    missing = [name for name in (RULES, DECLARED) if not gates.get(name)]
    if gates.get(RESET) and missing:
        return _refusal_by_panic(
            f"{RESET} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
        )
    return None


def _validate(period: int | None, gate: bool, behaviour: Behaviour) -> StartRefusal | None:
    if period is None:
        return None
    if not gate:
        return _refusal_by_validation(
            f"FeatureGate {MAX_PERIOD} not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set"
        )
    compared = period if behaviour.validates_sign else abs(period)
    step = behaviour.validated_step_ns
    if not S <= compared // step * step <= 300 * S:
        return _refusal_by_validation(
            f"CrashLoopBackOff.MaxContainerRestartPeriod (got: {period / S:g} seconds) must be set between 1s and 300s"
        )
    return None


def _effective_curve(period: int | None, gates: dict[str, bool], behaviour: Behaviour) -> tuple[int, int]:
    reduced = gates[REDUCED] and behaviour.heeds_reduced_decay
    initial = S if reduced else 10 * S
    lowest = 60 * S if reduced else 300 * S
    maximum = lowest if behaviour.reduced_lowers_max else 300 * S
    if period is not None and behaviour.heeds_max and gates[MAX_PERIOD]:
        maximum = min(period, lowest) if behaviour.reduced_caps_period else period
    maximum = int(maximum * behaviour.effective_share * behaviour.cap_share)
    maximum = max(maximum - maximum % behaviour.max_step_ns, min(maximum, S))
    if behaviour.initial_ns is not None:
        initial = behaviour.initial_ns
    if behaviour.lowers_initial:
        initial = min(initial, maximum)
    return initial, maximum


def _configz(config: dict[str, Any], period: int | None, behaviour: Behaviour) -> dict[str, Any]:
    stated = dict(config)
    if period is not None:
        stated["crashLoopBackOff"] = {"maxContainerRestartPeriod": spell(int(period * behaviour.configz_share))}
    return stated


def _json_type(raw: object) -> str:
    if isinstance(raw, bool):
        return "bool"
    return "number" if isinstance(raw, int | float) else "object"


def _refusal_by_validation(text: str) -> StartRefusal:
    return StartRefusal(
        f"failed to validate kubelet configuration, error: invalid configuration: {text}, path: config.yaml"
    )


def _refusal_by_panic(text: str) -> StartRefusal:
    return StartRefusal(
        f"panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: {text}",
        exit_code=2,
    )
