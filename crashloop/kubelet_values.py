"""Values of a kubelet's configuration that no kubelet starts with, in a configuration whose fields have the right types.

Source: pkg/kubelet/apis/config/validation/*.go@v1.37.1, with the validation of logging and tracing in k8s.io/component-base.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from posixpath import normpath
from typing import Any

from crashloop.model.gates import is_enabled, known
from crashloop.spec.duration import parse_duration_ns
from crashloop.spec.pod import LABEL_KEY, LABEL_VALUE
from crashloop.spec.version import KubernetesVersion

Config = dict[str, Any]
NS_PER_S = 10**9
_MOST = float("inf")
QUANTITY = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?")
_CPUS = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")
_ENDPOINT = re.compile(r"((dns|unix|unix-abstract)://)?(\[[^\]]*\](:[0-9]*)?|[^/ :]*|[^/ ]*:[0-9]*)(/(?!/).*)?")
_USER_NAMESPACE = 65536

RANGES: Mapping[str, tuple[float, float]] = {
    "imageGCHighThresholdPercent": (0, 100),
    "imageGCLowThresholdPercent": (0, 100),
    "port": (0, 65535),
    "readOnlyPort": (0, 65535),
    "healthzPort": (0, 65535),
    "oomScoreAdj": (-1000, 1000),
    "maxOpenFiles": (0, _MOST),
    "maxPods": (0, _MOST),
    "podsPerCore": (0, _MOST),
    "registryPullQPS": (0, _MOST),
    "registryBurst": (0, _MOST),
    "eventRecordQPS": (0, _MOST),
    "eventBurst": (0, _MOST),
    "kubeAPIQPS": (0, _MOST),
    "kubeAPIBurst": (0, _MOST),
    "nodeLeaseDurationSeconds": (0, _MOST),
    "nodeStatusMaxImages": (-1, _MOST),
    "iptablesDropBit": (0, 31),
    "iptablesMasqueradeBit": (0, 31),
    "containerLogMaxFiles": (2, _MOST),
    "containerLogMaxWorkers": (1, _MOST),
    "maxParallelImagePulls": (1, _MOST),
    "logging.verbosity": (0, 2**31 - 1),
    "tracing.samplingRatePerMillion": (0, 1_000_000),
    "userNamespaces.idsPerPod": (_USER_NAMESPACE, 2**32 - 1),
}
CHOICES: Mapping[str, tuple[str, ...]] = {
    "hairpinMode": ("none", "hairpin-veth", "promiscuous-bridge"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
    "memorySwap.swapBehavior": ("LimitedSwap", "NoSwap"),
    "memoryReservationPolicy": ("None", "TieredReservation"),
    "imagePullCredentialsVerificationPolicy": (
        "NeverVerify",
        "NeverVerifyPreloadedImages",
        "NeverVerifyAllowlistedImages",
        "AlwaysVerify",
    ),
    "logging.format": ("text", "json"),
}
PERIODS: Mapping[str, tuple[str, str]] = {
    "cpuCFSQuotaPeriod": ("1ms", "1s"),
    "containerLogMonitorInterval": ("3s", "2562047h"),
}
ENFORCED: Mapping[str, str] = {
    "pods": "",
    "system-reserved": "systemReservedCgroup",
    "kube-reserved": "kubeReservedCgroup",
    "system-reserved-compressible": "systemReservedCgroup",
    "kube-reserved-compressible": "kubeReservedCgroup",
    "none": "",
}
"""Values of enforceNodeAllocatable, each with the field that it needs."""
NEEDS_GATE: Mapping[str, str] = {
    "imageMaximumGCAge": "ImageMaximumGCAge",
    "defaultPodSysctls": "DefaultPodSysctls",
    "serverTLSBootstrap": "RotateKubeletServerCertificate",
    "shutdownGracePeriod": "GracefulNodeShutdown",
    "shutdownGracePeriodByPodPriority": "GracefulNodeShutdownBasedOnPodPriority",
    "imagePullCredentialsVerificationPolicy": "KubeletEnsureSecretPulledImages",
    "preloadedImagesVerificationAllowlist": "KubeletEnsureSecretPulledImages",
    "enableSystemLogQuery": "NodeLogQuery",
    "logging.options.text.infoBufferSize": "LoggingAlphaOptions",
    "logging.options.json.infoBufferSize": "LoggingAlphaOptions",
}
"""Fields that may have another value than none only with a gate."""
CHECKED = (
    "Checked: what a kubelet checks while it reads its configuration. Not checked: what it finds out afterwards, such as missing "
    "files, reservations and eviction thresholds that are no quantities, and the policies of its managers."
)


def invalid_values(config: Config, version: KubernetesVersion) -> list[str]:
    """A sentence for each value, but for feature gates and the maximum delay. What a field is without a value is its default."""
    specs = known(version)
    gates = {name: value for name, value in (config.get("featureGates") or {}).items() if value is not None}

    def is_on(gate: str) -> bool:
        """True also for a gate that the release does not have any more, and where that is not known."""
        return specs is None or gate not in specs or is_enabled(gate, gates, version)

    return list(
        chain(
            _out_of_range(config),
            _without_gate(config, is_on),
            _thresholds(config),
            _durations(config),
            _shutdown(config),
            _enforced(config),
            _reserved(config),
            _of_lists(config),
            _of_logs(config, version),
        )
    )


def _at(config: Config, path: str) -> Any:
    value: Any = config
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _ns(config: Config, field: str) -> int:
    return parse_duration_ns(config.get(field) or "0s")


def _out_of_range(config: Config) -> Iterator[str]:
    for field, (least, most) in RANGES.items():
        value = _at(config, field)
        if value is not None and not least <= value <= most:
            allowed = f"{least} to {most}" if most != _MOST else f"{least} or more"
            yield f"{field} is {value}; {allowed} is valid"
    for path, values in CHOICES.items():
        chosen = _at(config, path)
        if chosen and chosen not in values:
            yield f"{path} is {chosen!r}; valid are {', '.join(values)}"
    for field, (shortest, longest) in PERIODS.items():
        period = parse_duration_ns(config[field]) if config.get(field) else None
        if period is not None and not parse_duration_ns(shortest) <= period <= parse_duration_ns(longest):
            allowed = f"{shortest} to {longest}" if longest == "1s" else f"{shortest} or more"
            yield f"{field} is {config[field]}; {allowed} is valid"
    ids = _at(config, "userNamespaces.idsPerPod")
    if ids is not None and ids > _USER_NAMESPACE and ids % _USER_NAMESPACE:
        yield f"userNamespaces.idsPerPod is {ids}; it must be a multiple of {_USER_NAMESPACE}"


def _without_gate(config: Config, is_on: Callable[[str], bool]) -> Iterator[str]:
    for field, gate in NEEDS_GATE.items():
        value = _at(config, field)
        is_none = not value or re.fullmatch(r"0\D*", str(value)) is not None
        if not is_none and not is_on(gate):
            yield f"{field} must not be set while the feature gate {gate} is off"
    if _ns(config, "cpuCFSQuotaPeriod") not in (0, NS_PER_S // 10) and not is_on("CustomCPUCFSQuotaPeriod"):
        yield "cpuCFSQuotaPeriod must not be set while the feature gate CustomCPUCFSQuotaPeriod is off"
    factor = config.get("memoryThrottlingFactor")
    if factor is not None and not 0 < factor <= 1:
        yield f"memoryThrottlingFactor is {factor}; it must be greater than 0 and at most 1"
    elif factor not in (None, 0.9) and not is_on("MemoryQoS"):
        yield "memoryThrottlingFactor must not be set while the feature gate MemoryQoS is off"
    if config.get("memoryReservationPolicy") == "TieredReservation" and not is_on("MemoryQoS"):
        yield "memoryReservationPolicy must not be TieredReservation while the feature gate MemoryQoS is off"


def _thresholds(config: Config) -> Iterator[str]:
    low, high = config.get("imageGCLowThresholdPercent", 80), config.get("imageGCHighThresholdPercent", 85)
    if low is not None and high is not None and low >= high:
        yield f"imageGCLowThresholdPercent {low} must be less than imageGCHighThresholdPercent {high}"
    if config.get("serializeImagePulls") and (config.get("maxParallelImagePulls") or 0) > 1:
        yield "maxParallelImagePulls must not be larger than 1 while serializeImagePulls is true"


def _durations(config: Config) -> Iterator[str]:
    oldest, youngest = _ns(config, "imageMaximumGCAge"), _ns(config, "imageMinimumGCAge")
    if oldest < 0 or youngest < 0:
        yield "imageMaximumGCAge and imageMinimumGCAge must not be negative"
    if 0 < oldest <= (youngest or 120 * NS_PER_S):
        yield "imageMaximumGCAge must be longer than imageMinimumGCAge, which is 2 min by default"
    flush = _at(config, "logging.flushFrequency")
    if flush is not None and (parse_duration_ns(flush) if isinstance(flush, str) else flush) < 0:
        yield f"logging.flushFrequency is {flush}; it must be greater than 0"


def _shutdown(config: Config) -> Iterator[str]:
    grace, critical = _ns(config, "shutdownGracePeriod"), _ns(config, "shutdownGracePeriodCriticalPods")
    if critical > grace:
        yield "shutdownGracePeriodCriticalPods must not be longer than shutdownGracePeriod"
    if any(each < 0 or 0 < each < NS_PER_S for each in (grace, critical)):
        yield "shutdownGracePeriod and shutdownGracePeriodCriticalPods must be 0 or at least 1 s"
    if config.get("shutdownGracePeriodByPodPriority") and (grace > 0 or critical > 0):
        yield "shutdownGracePeriodByPodPriority must not be set beside shutdownGracePeriod"


def _enforced(config: Config) -> Iterator[str]:
    enforced = config.get("enforceNodeAllocatable")
    enforced = ["pods"] if enforced is None else enforced
    if unknown := [each for each in enforced if each not in ENFORCED]:
        yield f"enforceNodeAllocatable has {', '.join(map(repr, unknown))}; valid are {', '.join(ENFORCED)}"
    if twice := [each for each in dict.fromkeys(enforced) if enforced.count(each) > 1]:
        yield f"enforceNodeAllocatable has {twice[0]} twice"
    if "none" in enforced and len(enforced) > 1:
        yield "enforceNodeAllocatable must have nothing beside none"
    for whose in ("system-reserved", "kube-reserved"):
        if {whose, f"{whose}-compressible"} <= set(enforced):
            yield f"enforceNodeAllocatable must not have {whose} and {whose}-compressible"
    for each in enforced:
        if (needed := ENFORCED.get(each)) and not config.get(needed):
            yield f"enforceNodeAllocatable has {each}, which needs {needed}"
        if config.get("cgroupsPerQOS") is False and each in ENFORCED and each != "none":
            yield f"cgroupsPerQOS must be true while enforceNodeAllocatable has {each}, as it has pods by default"


def _reserved(config: Config) -> Iterator[str]:
    cpus = config.get("reservedSystemCPUs")
    if cpus and (config.get("systemReservedCgroup") or config.get("kubeReservedCgroup")):
        yield "reservedSystemCPUs must not be set beside systemReservedCgroup or kubeReservedCgroup"
    if cpus and not _is_cpu_set(cpus):
        yield f"reservedSystemCPUs is {cpus!r}; valid are lists such as 0-3,7"
    seen = set()
    for each in config.get("reservedMemory") or ():
        limits = each.get("limits") if each else None
        for name, amount in (limits if isinstance(limits, dict) else {}).items():
            if name != "memory" and not name.startswith("hugepages-"):
                yield f"reservedMemory has {name}; valid are memory and hugepages-SIZE"
            if not re.search(r"[1-9]", re.split(r"[eE]", str(amount))[0]):
                yield f"reservedMemory has no {name} for NUMA node {each.get('numaNode', 0)}"
            if (each.get("numaNode"), name) in seen:
                yield f"reservedMemory has {name} twice for NUMA node {each.get('numaNode', 0)}"
            seen.add((each.get("numaNode"), name))
    if config.get("systemCgroups") and not config.get("cgroupRoot"):
        yield "systemCgroups needs cgroupRoot"


def _is_cpu_set(text: str) -> bool:
    if not _CPUS.fullmatch(text):
        return False
    ranges = (each.partition("-") for each in text.split(","))
    return all(not last or int(first) <= int(last) for first, _, last in ranges)


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _of_lists(config: Config) -> Iterator[str]:
    for each in _given(config.get("registerWithTaints")):
        key, value, effect = (each.get(field) or "" for field in ("key", "value", "effect"))
        if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            yield f"registerWithTaints has the key {key!r} and the value {value!r}, which no label has"
        if effect and effect not in _EFFECTS:
            yield f"registerWithTaints has the effect {effect!r}; valid are {', '.join(_EFFECTS)}"
        if each.get("timeAdded") is not None:
            yield "registerWithTaints must not have timeAdded"
    policy = config.get("imagePullCredentialsVerificationPolicy")
    if config.get("preloadedImagesVerificationAllowlist") and policy != "NeverVerifyAllowlistedImages":
        yield "preloadedImagesVerificationAllowlist needs imagePullCredentialsVerificationPolicy NeverVerifyAllowlistedImages"
    for each in _given(_at(config, "logging.vmodule")):
        pattern = each.get("filePattern") or ""
        if not pattern or set(pattern) & set("=,") or _at(config, "logging.format") not in (None, "", "text"):
            yield "logging.vmodule needs the format text, and a filePattern without = and commas in each entry"


def _given(listed: Iterable[Any] | None) -> Iterator[Config]:
    return (each or {} for each in listed or ())


def _of_logs(config: Config, version: KubernetesVersion) -> Iterator[str]:
    hidden, before = config.get("showHiddenMetricsForVersion"), f"{version.major}.{version.minor - 1}"
    if hidden and hidden != before:
        yield f"showHiddenMetricsForVersion is {hidden!r}; {before} is valid"
    if config.get("enableSystemLogQuery") and config.get("enableSystemLogHandler") is False:
        yield "enableSystemLogQuery needs enableSystemLogHandler"
    endpoint = _at(config, "tracing.endpoint")
    if endpoint and not _ENDPOINT.fullmatch(endpoint):
        yield f"tracing.endpoint is {endpoint!r}; valid are HOST:PORT, and dns:, unix: and unix-abstract: addresses"
    folder = config.get("podLogsDir") or "/"
    if not folder.isascii() or (folder[0] == "/" and folder not in ("/", f"/{normpath(folder).lstrip('/')}")):
        yield f"podLogsDir is {folder!r}; valid are paths of ASCII letters without //, /../ and a last slash"
    if config.get("runOnce"):
        yield "runOnce must not be set"
