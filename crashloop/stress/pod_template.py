"""The user's own pod template in a load: which pod a file holds, what of it a load cannot take, and what is known of it. Pure.

Theory of operation. Its pod spec is used as it is; a run adds the name, the node, the labels and the deadline of its pods. When
and how its containers exit, only the runtime says. From the spec follow their restart policies and rules, and from when on a
probe or a hook may have had one of them killed.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

import msgspec

from crashloop.kubelet_files import Form, form_of_a_pod
from crashloop.model.gates import kubelet_api
from crashloop.spec.pod import (
    LABEL,
    Action,
    Container,
    ContainerKind,
    KillingProbe,
    Operator,
    Pod,
    RestartPolicy,
    RestartRule,
    killed_after_s,
)
from crashloop.spec.program import THEIRS
from crashloop.spec.version import RELEASES
from crashloop.stress.pod_faults import RENDER, invalid, is_template
from crashloop.stress.pod_rules import NAMES, invalid_annotations, invalid_labels, is_of_system
from crashloop.words import in_words

OF_THE_RUN = ("nodeName", "nodeSelector", "affinity", "activeDeadlineSeconds", "schedulingGates")
"""Fields of a pod spec that place a pod or end it, which the run does itself."""
_OF_THE_CLASS = ("priorityClassName", "priority", "preemptionPolicy")
"""An API server takes them if it has the PriorityClass, and those beside its name if they are what the class has."""
_TAKEN = (
    "a Pod, or an object with a pod template, such as a Deployment, Job, CronJob, JobSet, RayCluster, or a PyTorchJob "
    "with restartPolicy; of another object, a pod that it made, as `kubectl get pod -o yaml` prints it"
)
_OF_KNATIVE = ("containerConcurrency", "timeoutSeconds", "responseStartTimeoutSeconds", "idleTimeoutSeconds")
"""Fields beside those of a PodSpec in a Service of serving.knative.dev, which its controller takes out."""
_PORT_OF_KNATIVE = 8080
_STATELESS = frozenset({"secret", "configMap", "downwardAPI", "emptyDir", "projected"})
"""Volumes of a stateless pod (kubernetes/community, sig-scalability/slos/pod_startup_latency.md)."""


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pod template as a resolved profile holds it: the file is not read again."""

    file: str
    """Name of the file, without its folder."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: dict[str, Any]
    """A PodSpec in the spelling of core/v1."""
    replaced: tuple[str, ...] = ()
    """What of the file a run does not use, one sentence each."""

    @property
    def pod(self) -> Pod:
        """Its containers with their restart policies and rules; their programs are not known.

        Raises ValueError for a spec that `faults_of` objects to.
        """
        read = _read(self.spec)
        inits = (_container(each, ContainerKind.INIT) for each in read.init_containers or ())
        regular = (_container(each, ContainerKind.REGULAR) for each in read.containers)
        return Pod(containers=(*inits, *regular), restart_policy=read.restart_policy)

    @property
    def images(self) -> tuple[str, ...]:
        """Of its containers, each once."""
        return tuple(dict.fromkeys(each.image for each in _read(self.spec).all_containers))

    @property
    def killed_after_s(self) -> dict[str, float]:
        """By container, how long a life lasts at least before a probe or a hook can have ended it; others exit by themselves."""
        found = {each.name: each.killed_after_s for each in _read(self.spec).all_containers}
        return {name: soonest_s for name, soonest_s in found.items() if soonest_s is not None}

    @property
    def is_stateless(self) -> bool:
        """Whether it has no volumes but those of a stateless pod."""
        return all(each.keys() - {"name"} <= _STATELESS for each in _read(self.spec).volumes or ())


def template_in(read: list[Any], *, file: str, chosen: str = "") -> PodTemplate:
    """The pod template in the documents of a YAML file, or that of `chosen`, such as Deployment/web.

    Raises ValueError with a sentence if there is none, or several of which none is chosen.
    """
    found = [(name, pod) for each in objects_in(read) for name, pod in pods_in(each)]
    names = ", ".join(name for name, _ in found[:10]) + (", ..." if len(found) > 10 else "")
    fitting = [pod for name, pod in found if chosen in ("", name)]
    if len(fitting) != 1:
        kinds = ", ".join(str(each.get("kind", "no kind")) for each in objects_in(read)) or "nothing"
        expected = f"expected one. Choose it: {file}#{found[-1][0]}" if found else f"expected one: {_TAKEN}"
        raise ValueError(
            f"{len(fitting) or 'no'} pods {f'of {chosen} ' if chosen else ''}in it ({names or kinds}); {expected}."
        )
    (pod,) = fitting
    metadata = pod.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise ValueError(f"its metadata is {metadata!r}; expected a mapping, such as {{labels: {{app: web}}}}.")
    about = {name: metadata.get(name) or {} for name in ("labels", "annotations")}
    spec, replaced = _as_run(pod["spec"])
    try:
        return msgspec.convert({"file": file, "spec": spec, "replaced": replaced, **about}, PodTemplate)
    except msgspec.ValidationError as error:
        raise ValueError(f"{in_words(error)}.") from error


def objects_in(read: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The objects among documents and in lists of them."""
    for each in read:
        if isinstance(each, dict) and isinstance(each.get("items"), list):
            yield from objects_in(each["items"])
        elif isinstance(each, dict):
            yield each


def _as_run(spec: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A pod spec without what a run decides itself, and a sentence for each such field."""
    kept = {name: value for name, value in spec.items() if name not in OF_THE_RUN or value is None}
    said = [f"spec.{name} is left out: the run places its pods, and ends them." for name in spec if name not in kept]
    if not kept.get("restartPolicy", "Always"):
        del kept["restartPolicy"]  # an empty text is no value in Go
    of_class = kept.get("priorityClassName")
    if (
        isinstance(of_class, str)
        and NAMES["PodSpec.priorityClassName"].form.fullmatch(of_class)
        and not is_of_system(of_class)
    ):
        kept = {name: value for name, value in kept.items() if name not in _OF_THE_CLASS}
        said.append(
            f"spec.priorityClassName is left out, with what it decides: a cluster may have no class {of_class}."
        )
    for field in ("initContainers", "containers"):
        listed = kept.get(field)
        if not isinstance(listed, list):
            continue
        kept[field] = [*listed]
        for number, each in enumerate(listed):
            if isinstance(each, dict) and _pulls_always(each.get("imagePullPolicy"), str(each.get("image"))):
                kept[field][number] = {**each, "imagePullPolicy": "IfNotPresent"}
                said.append(
                    f"spec.{field}[{number}].imagePullPolicy is IfNotPresent: each restart would wait for the registry, and that "
                    "time would be the kubelet's lateness."
                )
    return kept, tuple(said)


def _pulls_always(policy: object, image: str) -> bool:
    """By its policy, or without one by the tag `latest`, given or not (pkg/apis/core/v1/defaults.go@v1.37.1)."""
    if policy is not None:
        return policy == "Always"
    name = image.rpartition("/")[2]
    return "@" not in name and name.partition(":")[2] in ("", "latest")


def faults_of(template: PodTemplate) -> Iterator[str]:
    """What a load cannot take of a template, one sentence per fault."""
    form = form_of_a_pod(template.spec)
    yield from unknown_fields(form)
    try:
        pod = template.pod
    except ValueError as error:
        yield f"{error}."
        return
    yield from (
        f"{each}."
        for each in form.refused
        or (*invalid(template.spec), *(*invalid_labels(template.labels), *invalid_annotations(template.annotations)))
    )
    if all(_stays_down(pod, each) for each in pod.containers):
        yield "restartPolicy is Never, and no container has a restart policy or a restart rule: nothing would restart."


def unknown_fields(form: Form) -> Iterator[str]:
    """A sentence for each field of a PodSpec that the API server would drop, so that its pod ran without it."""
    known = {field for fields in kubelet_api().fields_of_a_pod().values() for field in fields}
    newest = ".".join(map(str, RELEASES[-1]))
    for place in form.dropped:
        name = place.rpartition(".")[2]
        near = get_close_matches(name, known - {name}, 1, 0.8)
        yield f"{place} is no field of Kubernetes {newest}{f'; did you mean {near[0]}?' if near else '.'}"


def pods_in(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod of a Pod, or the pod templates of another object wherever they are, by names such as Deployment/web.

    Of several each has the name of what it is the template of: JobSet/a/worker, PyTorchJob/a/Master, RayCluster/a/headGroupSpec.
    """
    metadata = document.get("metadata")
    name = f"{document.get('kind', 'object')}/{metadata.get('name', '?') if isinstance(metadata, dict) else '?'}"
    if document.get("kind") == "Pod":
        if isinstance(document.get("spec"), dict):
            yield name, document
        return
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    spec = document.get("spec")
    is_template = not (isinstance(spec, dict) and "containers" in spec)  # else its containers are what an operator adds
    found = [
        (place, _named(pod) if group == "serving.knative.dev" else pod)
        for place, pod in _templates(document, ())
        if (is_template and not place)
        or group in _AS_THEY_ARE
        or (pod["spec"].get("restartPolicy") and group not in _REPLACED)
    ]
    for place, pod in found:
        several = len(found) > 1 or "replicatedJobs" in place
        yield "/".join((name, *place[-1:])) if several and place else name, pod


def _named(pod: dict[str, Any]) -> dict[str, Any]:
    """With what Knative gives a container: its name and the port of its probes (serving, revision_defaults.go, deploy.go)."""
    spec = pod["spec"]
    for field, name in (("containers", "user-container"), ("initContainers", "init-container")):
        listed = spec.get(field)
        if isinstance(listed, list) and all(isinstance(each, dict) for each in listed):
            names = [f"{name}-{number}" for number in range(len(listed))] if len(listed) > 1 else [name]
            named = [{"name": own, **_with_ports(each)} for own, each in zip(names, listed, strict=False)]
            spec = {**spec, field: named}
    return {**pod, "spec": spec}


def _with_ports(container: dict[str, Any]) -> dict[str, Any]:
    port = next((each.get("containerPort") for each in container.get("ports") or () if isinstance(each, dict)), None)
    found = dict(container)
    for name, probe in container.items():
        for how in ("httpGet", "tcpSocket") if name.endswith("Probe") and isinstance(probe, dict) else ():
            if isinstance(probe.get(how), dict):
                found[name] = {**probe, how: {"port": port or _PORT_OF_KNATIVE} | probe[how]}
    return found


_AS_THEY_ARE = frozenset(
    {"", "apps", "batch", "jobset.x-k8s.io", "leaderworkerset.x-k8s.io", "ray.io", "template.openshift.io"}
)
"""API groups whose controllers make pods with the restart policy of their templates; others have to state one."""
_REPLACED = frozenset({"sparkoperator.k8s.io", "flink.apache.org"})
"""API groups whose pods have the restart policy that the program wants, whatever a template says."""
_BETWEEN = frozenset({"spec", "template", "jobTemplate"})
"""Names on the way to a template that tell nothing about it."""


def _templates(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """What has a PodSpec, with the names on the way to it."""
    spec = value.get("spec") if isinstance(value, dict) else None
    if isinstance(spec, dict) and "containers" in spec:
        yield place, {**value, "spec": {key: each for key, each in spec.items() if key not in _OF_KNATIVE}}
    elif isinstance(value, dict):
        policy = value.get("restartPolicy")
        for key, each in value.items():
            if key == "template" and policy and isinstance(each, dict) and isinstance(each.get("spec"), dict):
                # A replica of Kubeflow has the policy of its template; ExitCode is kept by its controller, with new pods.
                each = {**each, "spec": each["spec"] | {"restartPolicy": "Never" if policy == "ExitCode" else policy}}
            if key != "status":
                yield from _templates(each, place if key in _BETWEEN else (*place, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            about = each if isinstance(each, dict) else {}
            yield from _templates(each, (*place, str(about.get("name") or about.get("groupName") or number)))


class _ExitCodes(msgspec.Struct, frozen=True):
    operator: Operator
    values: tuple[int, ...] = ()


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    action: Action
    exit_codes: _ExitCodes


class _Lifecycle(msgspec.Struct, frozen=True, rename="camel"):
    post_start: dict[str, Any] | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a container that decide about its restarts."""

    name: str
    image: str
    image_pull_policy: str | None = None
    restart_policy: RestartPolicy | None = None
    restart_policy_rules: tuple[_Rule, ...] | None = None
    liveness_probe: KillingProbe | None = None
    startup_probe: KillingProbe | None = None
    lifecycle: _Lifecycle | None = None

    @property
    def has_hook(self) -> bool:
        return self.lifecycle is not None and self.lifecycle.post_start is not None

    @property
    def killed_after_s(self) -> float | None:
        """None if nothing kills it."""
        return 0.0 if self.has_hook else killed_after_s(self.liveness_probe, self.startup_probe)


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    containers: tuple[_Container, ...]
    init_containers: tuple[_Container, ...] | None = None
    volumes: tuple[dict[str, Any], ...] | None = None
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS

    @property
    def all_containers(self) -> tuple[_Container, ...]:
        return (*(self.init_containers or ()), *self.containers)


def _read(spec: dict[str, Any]) -> _PodSpec:
    """Raises ValueError."""
    try:
        read = msgspec.convert(_without_nulls(spec), _PodSpec)
    except msgspec.ValidationError as error:
        raise ValueError(in_words(error, "spec")) from error
    if not read.containers:
        raise ValueError("its pod spec has no containers")
    wrong = next((each.name for each in read.all_containers if not LABEL.fullmatch(each.name)), None)
    if wrong is not None:
        hint = RENDER if is_template(wrong) else ""
        raise ValueError(f"{wrong!r} is no name of a container: 1 to 63 lower-case letters, digits and dashes{hint}")
    return read


def _without_nulls(value: Any) -> Any:
    """A field that is null is one that is not given, as for every API server."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _container(read: _Container, kind: ContainerKind) -> Container:
    rules = tuple(
        RestartRule(action=each.action, operator=each.exit_codes.operator, values=each.exit_codes.values)
        for each in read.restart_policy_rules or ()
    )
    return Container(
        name=read.name,
        kind=kind,
        program=THEIRS,
        restart_policy=read.restart_policy,
        rules=rules,
        killed_after_s=read.killed_after_s,
        post_start=read.has_hook,
    )


def _stays_down(pod: Pod, container: Container) -> bool:
    policy = container.restart_policy or pod.restart_policy
    return policy is RestartPolicy.NEVER and not container.rules
