"""Files with a kubelet's configuration, as users have them: which configuration is in one, and what a kubelet makes of its form.

Theory of operation. A kubelet reads JSON or the first document of YAML, drops fields that it does not know, and refuses values of
another type. Tools of clusters keep the same configuration inside objects of their own; what is taken out of which is said. Data
about fields is generated (`crashloop.model.gates`); values are for `crashloop.kubelet_values`.
Source: pkg/kubelet/kubeletconfig/configfiles/configfiles.go@v1.37.1.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from crashloop.kubelet_values import QUANTITY, invalid_values
from crashloop.model.gates import kubelet_api
from crashloop.spec.duration import NotADuration, parse_duration_ns
from crashloop.spec.profile import API_VERSION, KIND
from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import Unreadable, documents, parts_of, text_carried

Config = dict[str, Any]
MAXIMUM = "crashLoopBackOff.maxContainerRestartPeriod"
"""Judged by crashloop.model.config."""
TYPE_META = frozenset({"apiVersion", "kind"})

PLACES: tuple[tuple[str, ...], ...] = (
    ("kubeletconfig",),
    ("spec", "kubelet", "config"),
    ("spec", "kubeletConfig"),
    ("machine", "kubelet", "extraConfig"),
    ("kubeletConfig",),
    ("config", "kubeletConfig"),
    ("kubeletExtraConfig",),
    ("spec", "nodeConfig", "kubeletConfig"),
    ("spec", "controlPlaneConfiguration", "kubeletConfiguration"),
    ("kubeletConfiguration",),
    ("kubelet_config_extra_args",),
    ("kubelet_node_config_extra_args",),
    ("values",),
    ("config",),
)
"""Where objects of others keep a configuration without its kind: /configz; EKS NodeConfig; OpenShift KubeletConfig; a machine
configuration of Talos; a node system configuration, and a node pool, of GKE; a node group of eksctl; a node pool of Config
Connector; a cluster of EKS Anywhere and its groups of nodes; variables of Kubespray; a worker profile of k0s; KubeletConfig of
Talos."""
_OF_ITS_OWNER: Mapping[tuple[str, ...], str] = {("values",): "workerProfile", ("config",): "KubeletConfig"}
"""Names that many objects have: only of this kind it is the place."""
_LISTS = (
    ("nodePools",),
    ("managedNodeGroups",),
    ("nodeGroups",),
    ("spec", "workerNodeGroupConfigurations"),
    ("spec", "workerProfiles"),
    ("spec", "k0s", "config", "spec", "workerProfiles"),
)
"""Where an object of GKE, eksctl, EKS Anywhere, k0s or k0sctl has several of them."""


class Undecodable(ValueError):
    """A configuration of a kubelet that no kubelet can decode. The message has the reason."""


class Found(NamedTuple):
    """A configuration, without apiVersion and kind, and what has to be said of where it was."""

    config: Config
    notes: tuple[str, ...] = ()


def configuration(text: str) -> Found:
    """The configuration that is in a text. Raises ValueError with the reason if there is none, or Undecodable."""
    read = _documents(text)
    if len(read) > 1 and read[0] is None and any(map(is_configuration, read)):
        raise Undecodable("its first document, which a kubelet reads, is empty")
    for number, document in enumerate(read, 1):
        if is_configuration(document):
            return Found(_bare(document), tuple(_about_others(read, number)))
    for number, document in enumerate(read, 1):
        found = list(_inside(document))
        if found:
            (config, place), *rest = found
            of = f"document {number}, " if len(read) > 1 else ""
            others = [each for other, each in rest if other != config]
            more = (f"other configurations in it are not checked: {', '.join(others)}",) if others else ()
            return Found(config, (f"taken from {of}{place} of {_kind(document)}", *more))
    of_a_kubelet = next((each for each in read if isinstance(each, dict) and each.get("kind") == KIND), None)
    if of_a_kubelet is not None:
        raise Undecodable(f"apiVersion is {of_a_kubelet.get('apiVersion')!r}; a kubelet decodes {API_VERSION}")
    for kind in (each.get("kind") for each in read if isinstance(each, dict) and each.get("apiVersion") == API_VERSION):
        if str(kind or KIND).lower() == KIND.lower():
            raise Undecodable(f"kind is {kind!r}; a kubelet decodes {KIND}")
    raise ValueError(_why_none(read))


def _documents(text: str) -> list[Any]:
    """Of a message of several parts, such as user data of a machine, those parts that are documents: others are scripts."""
    parts = parts_of(text_carried(text) or text)
    if len(parts) == 1:
        return documents(parts[0])
    read: list[Any] = []
    for each in parts:
        with suppress(Unreadable):
            read += documents(each)
    return read


def configurations(text: str) -> list[Found]:
    """The configuration of a profile and those of its drop-in directory, which further documents stand for. Raises ValueError."""
    read = _documents(text)
    if len(read) > 1 and is_configuration(read[0]):
        others = [each for each in read[1:] if each is not None]
        if others and all(map(is_configuration, others)):
            said = "further documents are taken for files of the drop-in directory; of a file, a kubelet reads the first document"
            return [Found(_bare(read[0]), (said,)), *(Found(_bare(each)) for each in others)]
    return [configuration(text)]


def is_configuration(document: Any) -> bool:
    """Whether a kubelet takes the document for its configuration."""
    return isinstance(document, dict) and (document.get("apiVersion"), document.get("kind")) == (API_VERSION, KIND)


def _bare(document: Config) -> Config:
    return {key: value for key, value in document.items() if key not in TYPE_META}


def _about_others(read: list[Any], number: int) -> Iterator[str]:
    """What a kubelet, which reads the first document, makes of the others."""
    if number > 1:
        yield f"document {number}: a kubelet reads the first, which is {_kind(read[0])}; kubeadm takes this one"
    later = [each for each in read[number:] if each is not None]
    if later:
        yield f"{len(later)} further document{'s' if len(later) > 1 else ''}: a kubelet reads the first only"


def _inside(document: Any) -> Iterator[tuple[Config, str]]:
    """Configurations inside an object of others, each with its place: at a known place, or with its kind anywhere."""
    if isinstance(document, list):  # a patch of Talos or kustomize (RFC 6902), or a playbook of Ansible
        document = _patched(document) or {"": document}
    if not isinstance(document, dict):
        return
    for place in () if _settings_of(document) else PLACES:
        found = _at(document, place)
        if isinstance(found, dict) and _OF_ITS_OWNER.get(place) in (None, document.get("kind")):
            flags = _at(document, ("spec", "kubelet", "flags"))
            yield _with_flags(_bare(found), flags), ".".join(place)
    for several in _LISTS:
        listed, name = _at(document, several), ".".join(several)
        for number, each in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(each, dict):
                owner = {"kind": "workerProfile"} if name.endswith(".workerProfiles") else {}
                yield from ((config, f"{name}[{number}].{place}") for config, place in _inside({**each, **owner}))
    yield from _with_kind(document, "")


def _patched(operations: list[Any]) -> Config:
    """What a JSON patch adds, where it adds it."""
    found: Config = {}
    for each in operations:
        if isinstance(each, dict) and each.get("op") in ("add", "replace") and str(each.get("path")).startswith("/"):
            *parents, last = str(each["path"])[1:].split("/")
            inner = found
            for key in parents:
                inner = inner[key] if isinstance(inner.get(key), dict) else inner.setdefault(key, {})
                if not isinstance(inner, dict):
                    break
            else:
                inner[last] = each.get("value")
    return found


def _at(value: Any, place: Iterable[str]) -> Any:
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _with_kind(value: Any, place: str) -> Iterator[tuple[Config, str]]:
    if isinstance(value, dict):
        if is_configuration(value):
            yield _bare(value), place
        for key, each in value.items():
            yield from _with_kind(each, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _with_kind(each, f"{place}[{number}]")
    elif isinstance(value, str | bytes) and "kubelet" in (text := text_carried(value)).lower():
        with suppress(ValueError):
            for each in _documents(text):
                if _IN_KIND in place and _is_patch(each):
                    yield _bare(each), place
                else:
                    yield from ((config, place) for config, _ in _inside(each))


_IN_KIND = "kubeadmConfigPatches"
"""Where a kind cluster has patches of the configuration that kubeadm makes: they need no apiVersion."""


def _is_patch(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == KIND and document.get("apiVersion") is None


def _with_flags(config: Config, flags: Any) -> Config:
    """With the gates that flags of the same object set, which override those of the file."""
    gates: dict[str, bool] = {}
    for flag in flags if isinstance(flags, list) else ():
        name, _, value = str(flag).partition("=")
        if name == "--feature-gates":
            pairs = (each.partition("=") for each in value.split(","))
            gates |= {gate: text == "true" for gate, _, text in pairs}
    in_file = config.get("featureGates") or {}
    return config | {"featureGates": {**in_file, **gates}} if gates and isinstance(in_file, dict) else config


def _kind(document: Any) -> str:
    if not isinstance(document, dict):
        return "a list" if isinstance(document, list) else "no mapping"
    if isinstance(document.get("kubeletconfig"), dict):
        return "the answer of /configz"
    kind, version = document.get("kind"), document.get("apiVersion")
    return f"{kind} ({version})" if kind and version else f"{kind}" if kind else "an object without a kind"


_FLAGS = (
    r"(^|\s|['\"])--(config|feature-gates|kubeconfig|max-pods|node-labels|container-runtime-endpoint)\b|'kubelet-arg':"
)


_OF_TOOLS = {
    "kops.k8s.io": "kOps",
    "core.gardener.cloud": "Gardener",
    "karpenter.k8s.aws": "Karpenter",
    "karpenter.azure.com": "Karpenter",
}
_OF_AKS = frozenset(
    {"containerLogMaxSizeMB", "cpuCfsQuota", "cpuCfsQuotaPeriod", "imageGcHighThreshold", "imageGcLowThreshold"}
)
"""Names that only the node configuration of AKS has."""


def _settings_of(document: Any) -> str | None:
    """The tool whose own names for settings of kubelets an object has; a node's file is made of them."""
    if not isinstance(document, dict):
        return None
    group = str(document.get("apiVersion")).partition("/")[0]
    pools = _at(document, ("properties", "agentPoolProfiles"))
    of_aks = [document, document.get("kubeletConfig"), *(_at(each, ("kubeletConfig",)) for each in _listed(pools))]
    is_of_aks = any(isinstance(each, dict) and _OF_AKS & each.keys() for each in of_aks)
    return "AKS" if is_of_aks else _OF_TOOLS.get(group)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _why_none(read: list[Any]) -> str:
    expected = f"expected a {KIND} ({API_VERSION}), or an object of a tool that has one in it"
    if all(each is None for each in read):
        return f"it is empty; {expected}"
    tool = next((found for each in read if (found := _settings_of(each))), None)
    if tool is not None:
        return (
            f"it has settings of kubelets by the names of {tool}, which makes a node's configuration of them; give that file of "
            "the node, or what its /configz answers"
        )
    if any(re.search(_FLAGS, str(each)) for each in read):
        return "it has flags, and no flag of a kubelet sets its delays; give the file that its flag --config names"
    return f"it is {_kind(next(each for each in read if each is not None))}; {expected}"


_OF_OTHERS: Mapping[str, Mapping[str, str]] = {
    "LoggingConfiguration": {
        "format": "string",
        "flushFrequency": "TimeOrMetaDuration",
        "verbosity": "uint32",
        "vmodule": "[]VModuleItem",
        "options": "FormatOptions",
    },
    "VModuleItem": {"filePattern": "string", "verbosity": "uint32"},
    "FormatOptions": {"text": "OutputRoutingOptions", "json": "OutputRoutingOptions"},
    "OutputRoutingOptions": {"splitStream": "bool", "infoBufferSize": "Quantity"},
    "TracingConfiguration": {"endpoint": "string", "samplingRatePerMillion": "int32"},
    "Taint": {"key": "string", "value": "string", "effect": "string", "timeAdded": "Time"},
}
"""Structs of k8s.io/component-base/logs/api/v1/types.go and tracing/api/v1/types.go, and of k8s.io/api/core/v1@v0.37.1."""


class Form(msgspec.Struct, frozen=True):
    """What a kubelet makes of the form of a configuration."""

    refused: tuple[str, ...] = ()
    """Values that it cannot decode, or that are out of their range."""
    dropped: tuple[str, ...] = ()
    """Fields that it does not know, by their paths."""


def form_of(config: Config, version: KubernetesVersion) -> Form:
    """What a kubelet of that version makes of it, but for the names of feature gates and the value of the maximum delay."""
    structs = {**_OF_OTHERS, **kubelet_api().fields_of(version)}
    refused: list[str] = []
    dropped: list[str] = []
    _check_struct(config, KIND, "", structs, refused, dropped)
    if not refused:
        refused += invalid_values(config, version)
    return Form(tuple(refused), tuple(dropped))


def form_of_a_pod(spec: Config) -> Form:
    """What the API server of the newest release makes of a PodSpec: it drops what it does not know, and kubectl refuses it."""
    refused: list[str] = []
    dropped: list[str] = []
    _check_struct(spec, "PodSpec", "spec", kubelet_api().fields_of_a_pod(), refused, dropped)
    return Form(tuple(refused), tuple(dropped))


def _check_struct(
    value: Mapping[Any, Any], name: str, place: str, structs: Mapping[str, Any], refused: list[str], dropped: list[str]
) -> None:
    fields = structs[name]
    for key, each in value.items():
        path = f"{place}.{key}" if place else str(key)
        if key not in fields:
            dropped.append(path)
        elif path != MAXIMUM:
            _check(each, fields[key], path, structs, refused, dropped)


def _check(value: Any, go: str, path: str, structs: Mapping[str, Any], refused: list[str], dropped: list[str]) -> None:
    """A value against its Go type; null leaves a field as it is, but for a duration, which decodes itself (metav1.Duration)."""
    if value is None:
        if go == "Duration" and path not in _POINTERS:
            refused.append(f"{path} is null; a kubelet decodes it as {go}")
        return
    go = "map[string]any" if go == "ResourceList" else go  # quantities of a pod are for crashloop.stress.pod_faults
    if go.startswith("[]"):
        if _is_a(value, list, path, go, refused):
            for number, each in enumerate(value):
                _check(each, go[2:], f"{path}[{number}]", structs, refused, dropped)
    elif go.startswith("map["):
        if _is_a(value, dict, path, go, refused):
            for key, each in value.items():
                _check(each, go.partition("]")[2], f"{path}[{key}]", structs, refused, dropped)
    elif go in structs:
        if _is_a(value, dict, path, go, refused):
            _check_struct(value, go, path, structs, refused, dropped)
    elif go in _SCALARS and not _SCALARS[go](value):
        refused.append(f"{path} is {json.dumps(value, default=str)}; a kubelet decodes it as {go}")


_POINTERS = ("containerLogMonitorInterval",)
"""Durations that a configuration may leave open, as the maximum delay: null is no value."""


def _is_a(value: Any, kind: type, path: str, go: str, refused: list[str]) -> bool:
    if not isinstance(value, kind):
        refused.append(f"{path} is {json.dumps(value, default=str)}; a kubelet decodes it as {go}")
    return isinstance(value, kind)


def _is_whole(bits: int) -> Callable[[Any], bool]:
    least = 0 if bits < 0 else -(2 ** (bits - 1))
    most = 2 ** (bits - 1) - 1 if bits > 0 else 2**-bits - 1
    # JSON has one kind of number, so 110.0 and 1.1e2 are whole.
    return lambda value: type(value) in (int, float) and value % 1 == 0 and least <= value <= most


def _is_duration(value: Any) -> bool:
    try:
        return isinstance(value, str) and parse_duration_ns(value) is not None
    except NotADuration:
        return False


_SCALARS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int32": _is_whole(32),
    "int64": _is_whole(64),
    "uint64": _is_whole(-64),
    "uint32": _is_whole(-32),
    "float64": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "Duration": _is_duration,
    "TimeOrMetaDuration": lambda value: _is_duration(value) if isinstance(value, str) else _is_whole(64)(value),
    "Quantity": lambda value: (
        isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and QUANTITY.fullmatch(str(value)) is not None
    ),
}
