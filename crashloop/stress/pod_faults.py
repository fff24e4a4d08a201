"""What no API server or kubelet takes of a pod spec whose fields have the right types: the values that files break most often.

Source: pkg/apis/core/validation/validation.go@v1.37.1; github.com/distribution/reference for images, which a kubelet parses.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crashloop.model.api_server import MAX_RULES, MAX_VALUES
from crashloop.spec.pod import LABEL_KEY, LABEL_VALUE
from crashloop.stress.pod_resources import HUGE_PAGES, amount_of, beyond_the_pod, invalid_resources
from crashloop.stress.pod_rules import MOST_PRIORITY, NAMES, OF_CLASSES, broken_rules, is_of_system

Json = Mapping[str, Any]
RENDER = "; render the template first"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_DIGEST = r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}"
_IMAGE = re.compile(rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?(?:@(?:{_DIGEST}))?", re.ASCII)
_HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")
_HOOKS = ("exec", "httpGet", "sleep", "tcpSocket")
_PORT_NAME = NAMES["ContainerPort.name"].form
"""IANA_SVC_NAME of RFC 6335."""
_FIELDS = re.compile(
    r"metadata\.(name|namespace|uid|(labels|annotations)\['[^' ]+'\])|spec\.(nodeName|serviceAccountName)"
    r"|status\.(hostIP|podIP)s?"
)
"""Of a pod, those that a variable may have."""
_LAST_PORT = 65_535


def is_template(value: Any) -> bool:
    """Whether a tool still has to put something in its place: Helm, OpenShift and shells, people, ko."""
    return re.search(r"\{\{|\$|<.*>|^ko://", str(value)) is not None


def invalid(spec: Json) -> Iterator[str]:
    """A sentence without its full stop per fault of a PodSpec, each with its path."""
    spec = _with_empty_items(spec)
    grace_s = spec.get("terminationGracePeriodSeconds")
    if grace_s is not None and grace_s < 0:
        yield f"spec.terminationGracePeriodSeconds is {grace_s}; 0 or more is valid"
    if spec.get("ephemeralContainers"):
        yield "spec.ephemeralContainers is set; they can be added to a pod that runs only"
    yield from broken_rules(spec)
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        yield "spec.dnsConfig.nameservers is missing; dnsPolicy None needs it"
    yield from (f"spec.{fault}" for fault in _of_windows(spec, spec))
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        yield "spec.shareProcessNamespace is true beside hostPID; one of them is valid"
    yield from (f"spec.{fault}" for fault in (*_security(spec.get("securityContext") or {}), *_of_the_pod(spec)))
    for number, each in enumerate(spec.get("volumes") or ()):
        yield from (f"spec.volumes[{number}]{fault}" for fault in _volume(each))
    for number, each in enumerate(spec.get("tolerations") or ()):
        yield from (f"spec.tolerations[{number}].{fault}" for fault in _toleration(each))
    volumes = {each.get("name"): each for each in spec.get("volumes") or ()}
    claims = {each.get("name") for each in spec.get("resourceClaims") or ()}
    for field in ("initContainers", "containers"):
        for number, each in enumerate(spec.get(field) or ()):
            runs_once = field == "initContainers" and each.get("restartPolicy") != "Always"
            faults = (*_invalid_in(each, volumes), *_beside(each, spec, claims, runs_once=runs_once))
            yield from (f"spec.{field}[{number}].{fault}" for fault in faults)


def _with_empty_items(value: Any) -> Any:
    """An item of a list that is null is one without fields, as for every API server."""
    if isinstance(value, list):
        return [{} if each is None else _with_empty_items(each) for each in value]
    return {key: _with_empty_items(each) for key, each in value.items()} if isinstance(value, dict) else value


def _of_the_pod(spec: Json) -> Iterator[str]:
    yield from _chosen((spec.get("os") or {}).get("name"), ("linux",), "os.name")
    for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get("hostUsers") is False else ():
        if spec.get(name):
            yield f"{name} is true; with hostUsers false it cannot be"
    if spec.get("hostUsers") is False and any(each.get("volumeDevices") for each in spec.get("containers") or ()):
        yield "hostUsers is false; its containers cannot have volumeDevices"
    whole = spec.get("resources") or {}
    yield from invalid_resources(whole)
    for name in {**(whole.get("limits") or {}), **(whole.get("requests") or {})}:
        if name not in ("cpu", "memory") and not name.startswith(HUGE_PAGES):
            yield f"resources has {name}; of a pod as a whole, cpu, memory and hugepages are valid"
    yield from _together(spec, whole)
    yield from _ports_of_host(spec, "containers", spec.get("containers") or ())
    for number, each in enumerate(spec.get("initContainers") or ()):  # they run one after the other
        yield from _ports_of_host(spec, "initContainers", [{}] * number + [each])


def _ports_of_host(spec: Json, field: str, containers: Sequence[Json]) -> Iterator[str]:
    """On its host's network each port is one of the host."""
    taken: set[Any] = set()
    for number, container in enumerate(containers):
        for place, port in enumerate(container.get("ports") or ()):
            path, inside = f"{field}[{number}].ports[{place}].hostPort", port.get("containerPort")
            outside = port.get("hostPort") or (inside if spec.get("hostNetwork") else None)
            if outside != inside and spec.get("hostNetwork") and field == "containers":
                yield f"{path} is {outside}; with hostNetwork, the containerPort {inside} is valid"
            key = (outside, port.get("protocol") or "TCP", port.get("hostIP") or "")
            if outside and key in taken:
                yield f"{path} is {outside} twice"
            taken.add(key)


_MOST_OF_DNS = {"nameservers": 3, "searches": 32}
_OF_HOST = {
    "hostNetwork": re.compile(r"net[./].+"),
    "hostIPC": re.compile(r"kernel[./](shm|msg|sem).*|fs[./]mqueue[./].+"),
}
"""Sysctls of a namespace that a pod may share with its host."""


def _together(spec: Json, whole: Json) -> Iterator[str]:
    """Fields of a pod beside each other. `whole`: its resources as a whole."""
    priority, name = spec.get("priority"), spec.get("priorityClassName") or ""
    if priority is not None and priority != OF_CLASSES.get(name, min(priority, MOST_PRIORITY)):
        yield f"priority is {priority}; what its class has is valid ({OF_CLASSES.get(name, f'up to {MOST_PRIORITY}')})"
    if is_of_system(name) and name not in OF_CLASSES:
        yield f"priorityClassName is {name!r}; of names that begin with system-, {' and '.join([*OF_CLASSES][1:])} are valid"
    if spec.get("preemptionPolicy") in ("Never", "") and name in OF_CLASSES:
        yield f"preemptionPolicy is {spec['preemptionPolicy'] or 'empty'}; only its class decides that"
    if spec.get("overhead") and not spec.get("runtimeClassName"):
        yield "overhead is set without a runtimeClassName, whose RuntimeClass decides it"
    if whole.get("claims"):
        yield "resources.claims is set; of a pod as a whole it is not valid"
    for other in ("hostNetwork", "setHostnameAsFQDN") if spec.get("hostnameOverride") else ():
        if spec.get(other):
            yield f"hostnameOverride is set; beside {other} it is not valid"
    for number, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        if each.get("minDomains") and each.get("whenUnsatisfiable") == "ScheduleAnyway":
            yield f"topologySpreadConstraints[{number}].minDomains is set; it needs whenUnsatisfiable DoNotSchedule"
        yield from _selector(each.get("labelSelector"), f"topologySpreadConstraints[{number}].labelSelector")
        if each.get("matchLabelKeys") and each.get("labelSelector") is None:
            yield f"topologySpreadConstraints[{number}].matchLabelKeys is set; it needs labelSelector"
    for name, most in _MOST_OF_DNS.items():
        if len((spec.get("dnsConfig") or {}).get(name) or ()) > most:
            yield f"dnsConfig.{name} has more than {most}"
    for number, each in enumerate((spec.get("securityContext") or {}).get("sysctls") or ()):
        for field, names in _OF_HOST.items():
            if spec.get(field) and names.fullmatch(each.get("name") or ""):
                yield f"securityContext.sysctls[{number}].name is {each['name']!r}; with {field} it is the host's"
    yield from beyond_the_pod(spec)


_WITH_VALUES = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""Operators of a selector, and whether they take values."""


def _selector(selector: Any, path: str) -> Iterator[str]:
    """Of labels (apimachinery/pkg/apis/meta/v1/validation)."""
    if not isinstance(selector or {}, Mapping):
        yield f"{path} is {selector!r}; a mapping is valid"
        return
    labels, terms = ((selector or {}).get(field) or {} for field in ("matchLabels", "matchExpressions"))
    if not isinstance(labels, Mapping) or not all(isinstance(each, Mapping) for each in terms or ()):
        yield f"{path} has to have a mapping as matchLabels, and a list of mappings as matchExpressions"
        return
    for key, value in labels.items():
        if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(str(value)):
            yield f"{path}.matchLabels has {key!r}: {value!r}, which is no label"
    for number, term in enumerate(terms):
        of_it = f"{path}.matchExpressions[{number}]"
        key, operator = str(term.get("key")), str(term.get("operator") or "")
        if not LABEL_KEY.fullmatch(key):
            yield f"{of_it}.key is {key!r}, which is no key of a label"
        yield from _chosen(operator or "missing", tuple(_WITH_VALUES), f"{of_it}.operator")
        wrong = [each for each in term.get("values") or () if not LABEL_VALUE.fullmatch(str(each))]
        yield from (f"{of_it}.values has {each!r}, which is no value of a label" for each in wrong)
        if _WITH_VALUES.get(operator, bool(term.get("values"))) is not bool(term.get("values")):
            needed = "needs some" if _WITH_VALUES[operator] else "takes none"
            yield f"{of_it}.values {'is set' if term.get('values') else 'is missing'}; the operator {operator} {needed}"


def _beside(container: Json, spec: Json, claims: set[Any], *, runs_once: bool) -> Iterator[str]:
    """Of a container what its pod decides. `runs_once`: it is an init container, and no sidecar."""
    yield from _security(container.get("securityContext") or {})
    yield from _of_windows(container, spec)
    for number, claim in enumerate((container.get("resources") or {}).get("claims") or ()):
        if claim.get("name") not in claims:
            yield f"resources.claims[{number}].name is {claim.get('name')!r}; spec.resourceClaims has no such claim"
    for number, each in enumerate(container.get("resizePolicy") or ()) if runs_once else ():
        if each.get("restartPolicy") == "RestartContainer":
            yield f"resizePolicy[{number}].restartPolicy is RestartContainer; an init container may have it if it is a sidecar"
    for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe") if runs_once else ():
        if container.get(field) is not None:
            yield f"{field} is set; an init container may have it if its restartPolicy is Always"
    hooks = container.get("lifecycle") or {}
    grace_s = 30 if spec.get("terminationGracePeriodSeconds") is None else spec["terminationGracePeriodSeconds"]
    for name, hook in hooks.items():
        pause_s = ((hook.get("sleep") or {}).get("seconds") or 0) if isinstance(hook, Mapping) else 0
        if not 0 <= pause_s <= grace_s:
            yield f"lifecycle.{name}.sleep.seconds is {pause_s}; 0 to the grace period, {grace_s}, is valid"
    yield from _user(container, spec)
    if spec.get("restartPolicy") == "Never":
        for number, each in enumerate(container.get("resizePolicy") or ()):
            if each.get("restartPolicy") == "RestartContainer":
                yield f"resizePolicy[{number}].restartPolicy is RestartContainer; under the pod's Never, NotRequired is valid"
    if hooks.get("stopSignal") and not (spec.get("os") or {}).get("name"):
        yield "lifecycle.stopSignal needs spec.os.name"


def _user(container: Json, spec: Json) -> Iterator[str]:
    """Settings of the container come before those of its pod."""
    own, of_pod = container.get("securityContext") or {}, spec.get("securityContext") or {}
    in_force = {**of_pod, **{name: value for name, value in own.items() if value is not None}}
    if in_force.get("runAsNonRoot") and in_force.get("runAsUser") == 0:
        yield "securityContext.runAsUser is 0 beside runAsNonRoot; no kubelet starts such a container"
    if own.get("procMount") == "Unmasked" and spec.get("hostUsers") is not False:
        yield "securityContext.procMount is Unmasked; it needs hostUsers false"


def _of_windows(owner: Json, spec: Json) -> Iterator[str]:
    """Of a pod or a container: options for another system than the one that the pod names."""
    options = (owner.get("securityContext") or {}).get("windowsOptions")
    if (spec.get("os") or {}).get("name") and options is not None:
        yield "securityContext.windowsOptions is set; with spec.os.name linux it is not valid"
    elif (options or {}).get("hostProcess"):
        yield "securityContext.windowsOptions.hostProcess is true; the nodes of a load have Linux"


def _security(context: Json) -> Iterator[str]:
    """Of a pod or a container."""
    for field in ("seccompProfile", "appArmorProfile"):
        profile = context.get(field) or {}
        if profile.get("type") == "Localhost" and not profile.get("localhostProfile"):
            yield f"securityContext.{field}.localhostProfile is missing; the type Localhost needs it"
        if profile.get("type") != "Localhost" and profile.get("localhostProfile"):
            yield f"securityContext.{field}.localhostProfile is set; only the type Localhost takes it"
    added = (context.get("capabilities") or {}).get("add") or ()
    if context.get("allowPrivilegeEscalation") is False and (context.get("privileged") or "CAP_SYS_ADMIN" in added):
        yield "securityContext.allowPrivilegeEscalation is false; beside privileged and CAP_SYS_ADMIN it is not valid"


_WITH_ITEMS = ("secret", "configMap", "downwardAPI")


def _volume(volume: Json) -> Iterator[str]:
    sources = [field for field, value in volume.items() if field != "name" and value is not None]
    size = (volume.get("emptyDir") or {}).get("sizeLimit")
    if size is not None and amount_of(size) is None:
        yield f".emptyDir.sizeLimit is {size!r}, which is no quantity"
    paths: list[str] = []
    for each in (volume.get("projected") or {}).get("sources") or ():
        paths += [item.get("path") or "" for kind in _WITH_ITEMS for item in (each.get(kind) or {}).get("items") or ()]
        paths += [(each.get(kind) or {}).get("path") or "" for kind in ("clusterTrustBundle", "serviceAccountToken")]
    yield from (f".projected has the path {path!r} twice" for path in sorted({*paths} - {""}) if paths.count(path) > 1)
    if len(sources) > 1:
        yield f" has {', '.join(sources)}; one of them is valid"


def _toleration(toleration: Json) -> Iterator[str]:
    operator = toleration.get("operator") or "Equal"
    yield from _chosen(operator, ("Equal", "Exists"), "operator")
    if operator == "Exists" and toleration.get("value"):
        yield f"value is {toleration['value']!r}; beside the operator Exists none is valid"
    if not toleration.get("key") and operator != "Exists":
        yield "key is missing; the operator Exists needs none"
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        yield "tolerationSeconds is set; only the effect NoExecute takes it"


def _invalid_in(container: Json, volumes: Mapping[Any, Json]) -> Iterator[str]:
    image, rules = container.get("image"), container.get("restartPolicyRules") or ()
    if not image or not _IMAGE.fullmatch(image):
        yield f"image is {image!r}, which is no image{RENDER if is_template(image) else ''}"
    yield from invalid_resources(container.get("resources") or {})
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
    for number, mount in enumerate(container.get("volumeMounts") or ()):
        if not mount.get("mountPath") or ":" in mount["mountPath"]:
            yield f"volumeMounts[{number}].mountPath is {mount.get('mountPath')!r}; a path without a colon is valid"
        inside = mount.get("subPath") or mount.get("subPathExpr") or ""
        if inside.startswith("/") or ".." in inside.split("/"):
            yield f"volumeMounts[{number}].subPath is {inside!r}; a path inside the volume is valid"
        if mount.get("mountPropagation") == "Bidirectional" and not (container.get("securityContext") or {}).get(
            "privileged"
        ):
            yield f"volumeMounts[{number}].mountPropagation is Bidirectional; only a privileged container may have it"
        if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible") and not mount.get("readOnly"):
            yield f"volumeMounts[{number}].recursiveReadOnly is {mount['recursiveReadOnly']}; it needs readOnly"
        if mount.get("name") not in volumes:
            yield f"volumeMounts[{number}].name is {mount.get('name')!r}; the pod has no such volume, and no claim is made for it"
    for number, device in enumerate(container.get("volumeDevices") or ()):
        if not {"persistentVolumeClaim", "ephemeral"} & {*volumes.get(device.get("name"), ())}:
            yield f"volumeDevices[{number}].name is {device.get('name')!r}, which is no claim of the pod"
        if device.get("name") in {each.get("name") for each in container.get("volumeMounts") or ()}:
            yield f"volumeDevices[{number}].name is {device['name']!r}, which is in volumeMounts too; one of them is valid"
    for number, variable in enumerate(container.get("env") or ()):
        source = variable.get("valueFrom") or {}
        of_file, field = source.get("fileKeyRef") or {}, (source.get("fieldRef") or {}).get("fieldPath")
        if of_file.get("volumeName") and volumes.get(of_file["volumeName"], {}).get("emptyDir") is None:
            yield f"env[{number}].valueFrom.fileKeyRef.volumeName is {of_file['volumeName']!r}, which is no emptyDir of the pod"
        if field and not _FIELDS.fullmatch(field):
            yield f"env[{number}].valueFrom.fieldRef.fieldPath is {field!r}, which is no field that a variable may have"
        if variable.get("value") and variable.get("valueFrom") is not None:
            yield f"env[{number}] has a value and a valueFrom; one of them is valid"


def _chosen(value: Any, values: Sequence[str], path: str) -> Iterator[str]:
    if value and value not in values:
        yield f"{path} is {value!r}; valid are {', '.join(values)}"


def _probe(probe: Json | None, name: str) -> Iterator[str]:
    if probe is None:
        return
    yield from _handler(probe, name, _HANDLERS)
    for key, value in probe.items():
        if isinstance(value, int) and value < 0:
            yield f"{name}.{key} is {value}; 0 or more is valid"
    if name != "readinessProbe" and (probe.get("successThreshold") or 1) > 1:
        yield f"{name}.successThreshold is {probe['successThreshold']}; of this probe, 1 is valid"
    if name == "readinessProbe" and probe.get("terminationGracePeriodSeconds") is not None:
        yield f"{name}.terminationGracePeriodSeconds is set; this probe ends nothing"
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
    if isinstance(value, str) and not _PORT_NAME.fullmatch(value):
        yield f"{path} is {value!r}; valid are 1 to {_LAST_PORT}, and names of up to 15 lower-case letters, digits and dashes"
    if value is None or (isinstance(value, int) and not 0 < value <= _LAST_PORT):
        yield f"{path} is {'missing' if value is None else value}; 1 to {_LAST_PORT} is valid"
