"""What no API server or kubelet takes of a pod spec whose fields have the right types: the values that files break most often.

Source: pkg/apis/core/validation/validation.go@v1.37.1; github.com/distribution/reference for images, which a kubelet parses.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from crashloop.model.api_server import MAX_RULES, MAX_VALUES

Json = Mapping[str, Any]
RENDER = "; render the template first"
_DIGITS = r"[0-9]+(\.[0-9]*)?|\.[0-9]+"
_QUANTITY = re.compile(rf"\+?(?P<number>{_DIGITS})(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{{1,3}})?")
"""k8s.io/apimachinery/pkg/api/resource, without those below 0."""
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_DIGEST = r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}"
_IMAGE = re.compile(rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?(?:@(?:{_DIGEST}))?", re.ASCII)
_HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")
_HOOKS = ("exec", "httpGet", "sleep", "tcpSocket")
_CHOICES = {
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": ("FallbackToLogsOnError", "File"),
}
_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_LAST_PORT = 65_535
_OF_KUBERNETES = ("cpu", "memory", "ephemeral-storage")


def invalid(spec: Json) -> Iterator[str]:
    """A sentence without its full stop per fault of a PodSpec, each with its path."""
    grace_s = spec.get("terminationGracePeriodSeconds")
    if grace_s is not None and grace_s < 0:
        yield f"spec.terminationGracePeriodSeconds is {grace_s}; 0 or more is valid"
    if spec.get("ephemeralContainers"):
        yield "spec.ephemeralContainers is set; they can be added to a pod that runs only"
    yield from _chosen(spec.get("dnsPolicy"), _DNS_POLICIES, "spec.dnsPolicy")
    volumes = {each.get("name") for each in spec.get("volumes") or ()}
    for field in ("initContainers", "containers"):
        for number, each in enumerate(spec.get(field) or ()):
            yield from (f"spec.{field}[{number}].{fault}" for fault in _invalid_in(each, volumes))


def _invalid_in(container: Json, volumes: set[Any]) -> Iterator[str]:
    image, rules = container.get("image"), container.get("restartPolicyRules") or ()
    if not image or not _IMAGE.fullmatch(image):
        yield f"image is {image!r}, which is no image{RENDER if '{{' in str(image) else ''}"
    for name, values in _CHOICES.items():
        yield from _chosen(container.get(name), values, name)
    yield from _resources(container.get("resources") or {})
    for name in ("livenessProbe", "startupProbe", "readinessProbe"):
        yield from _probe(container.get(name), name)
    for name, hook in (container.get("lifecycle") or {}).items():
        yield from _handler(hook, f"lifecycle.{name}", _HOOKS) if isinstance(hook, Mapping) else ()
    if rules and not container.get("restartPolicy"):
        yield "restartPolicy is missing; restartPolicyRules need it beside them"
    if len(rules) > MAX_RULES:
        yield f"restartPolicyRules has {len(rules)} rules; {MAX_RULES} at most are valid"
    for number, rule in enumerate(rules):
        if (count := len((rule.get("exitCodes") or {}).get("values") or ())) > MAX_VALUES:
            yield f"restartPolicyRules[{number}].exitCodes.values has {count} values; {MAX_VALUES} at most are valid"
    for number, port in enumerate(container.get("ports") or ()):
        yield from _port(port.get("containerPort"), f"ports[{number}].containerPort")
    yield from _twice(container.get("ports") or (), "name", "ports")
    yield from _twice(container.get("volumeMounts") or (), "mountPath", "volumeMounts")
    for number, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            yield f"volumeMounts[{number}].name is {mount.get('name')!r}; the pod has no such volume, and no claim is made for it"
    for number, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield f"env[{number}].name is missing"
        if variable.get("value") and variable.get("valueFrom") is not None:
            yield f"env[{number}] has a value and a valueFrom; one of them is valid"


def _chosen(value: Any, values: Sequence[str], path: str) -> Iterator[str]:
    if value and value not in values:
        yield f"{path} is {value!r}; valid are {', '.join(values)}"


def _resources(resources: Json) -> Iterator[str]:
    amounts: dict[tuple[str, str], Fraction] = {}
    for kind in ("limits", "requests"):
        for name, value in (resources.get(kind) or {}).items():
            amount = amount_of(0 if value is None else value)
            if amount is None:
                yield f"resources.{kind}.{name} is {value!r}, which is no quantity, such as 500m or 64Mi"
                continue
            amounts[kind, name] = amount
            if "/" not in name and name not in _OF_KUBERNETES and not name.startswith("hugepages-"):
                yield f"resources.{kind}.{name} is no resource; valid are {', '.join(_OF_KUBERNETES)}, or a name with a domain"
            if _is_extended(name) and amount.denominator != 1:
                yield f"resources.{kind}.{name} is {value!r}; a whole number is valid"
    for (kind, name), amount in amounts.items():
        limit = amounts.get(("limits", name))
        if kind == "requests" and limit is not None and (amount > limit or (_is_extended(name) and amount != limit)):
            asked, most = resources["requests"][name], resources["limits"][name]
            yield f"resources.requests.{name} is {asked}, and the limit {most}; {_bound(name)} is valid"
        elif kind == "requests" and limit is None and _is_extended(name):
            yield f"resources.limits.{name} is missing; it has to be the same as the request"


def _is_extended(name: str) -> bool:
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")


def _bound(name: str) -> str:
    return "the same as the limit" if _is_extended(name) else "at most the limit"


_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = "KMGTPE"


def amount_of(value: Any) -> Fraction | None:
    """The number that a quantity stands for, such as 1/2 for 500m; None for what is none, or below 0."""
    read = _QUANTITY.fullmatch(str(value))
    if read is None:
        return None
    number: Fraction = Fraction(read["number"].rstrip("."))
    suffix: str = read["suffix"] or ""
    if suffix.endswith("i"):
        return number * Fraction(1 << 10 * (_BINARY.index(suffix[0]) + 1))
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:] or 0)
    return number * Fraction(f"1e{power}")


def _probe(probe: Json | None, name: str) -> Iterator[str]:
    if probe is None:
        return
    yield from _handler(probe, name, _HANDLERS)
    for key, value in probe.items():
        if isinstance(value, int) and value < 0:
            yield f"{name}.{key} is {value}; 0 or more is valid"
    if name != "readinessProbe" and (probe.get("successThreshold") or 1) > 1:
        yield f"{name}.successThreshold is {probe['successThreshold']}; of this probe, 1 is valid"
    if probe.get("terminationGracePeriodSeconds") == 0:
        yield f"{name}.terminationGracePeriodSeconds is 0; 1 or more is valid"


def _handler(given: Json, path: str, kinds: Sequence[str]) -> Iterator[str]:
    found = [kind for kind in kinds if given.get(kind) is not None]
    if len(found) != 1:
        yield f"{path} has to have one of {', '.join(kinds)}"
        return
    (kind,) = found
    if kind == "exec" and not given[kind].get("command"):
        yield f"{path}.exec.command is missing"
    if kind in ("httpGet", "tcpSocket", "grpc"):
        yield from _port(given[kind].get("port"), f"{path}.{kind}.port")


def _port(value: Any, path: str) -> Iterator[str]:
    """A text names a port of the container."""
    if value is None or (isinstance(value, int) and not 0 < value <= _LAST_PORT):
        yield f"{path} is {'missing' if value is None else value}; 1 to {_LAST_PORT} is valid"


def _twice(listed: Sequence[Json], key: str, path: str) -> Iterator[str]:
    seen: set[Any] = set()
    for number, each in enumerate(listed):
        if each.get(key) and each[key] in seen:
            yield f"{path}[{number}].{key} is {each[key]!r} twice"
        seen.add(each.get(key))
