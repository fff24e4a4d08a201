"""The user's own pod template in a load: which pod a file holds, what of it a load cannot take, and what is known of it. Pure.

Theory of operation. Its pod spec is used as it is; a run adds the name, the node, the labels and the deadline of its pods. When
and how its containers exit, only the runtime says. From the spec follow their restart policies and rules, and from when on a
probe or a hook may have had one of them killed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from crashloop.spec.killing_probe import KillingProbe, killed_after_s
from crashloop.spec.pod import Action, Container, ContainerKind, Operator, Pod, RestartPolicy, RestartRule
from crashloop.spec.program import THEIRS

OF_THE_RUN = ("nodeName", "nodeSelector", "affinity", "activeDeadlineSeconds", "schedulingGates")
"""Fields of a pod spec that place a pod or end it, which the run does itself."""
_PLACES = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"), ("template",))
"""Where a template is: in a Deployment, Job or the like, in a CronJob, in a PodTemplate."""
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
    def has_hooks(self) -> bool:
        """Whether a container has a postStart hook: while it runs, the kubelet does nothing else for the pod."""
        return any(each.has_hook for each in _read(self.spec).all_containers)

    @property
    def killed_after_s(self) -> dict[str, float]:
        """By container, how long a life lasts at least before a probe or a hook can have ended it; others exit by themselves."""
        found = {each.name: each.killed_after_s for each in _read(self.spec).all_containers}
        return {name: soonest_s for name, soonest_s in found.items() if soonest_s is not None}

    @property
    def is_stateless(self) -> bool:
        """Whether it has no volumes but those of a stateless pod."""
        return all(each.keys() - {"name"} <= _STATELESS for each in _read(self.spec).volumes or ())


def template_in(documents: list[Any], *, file: str) -> PodTemplate:
    """The pod template in the documents of a YAML file. Raises ValueError with a sentence if it has none, or several."""
    found = [pod for each in documents if (pod := _pod_in(each)) is not None]
    if len(found) != 1:
        kinds = ", ".join(str(each.get("kind", "no kind")) for each in documents if isinstance(each, dict)) or "nothing"
        raise ValueError(
            f"{len(found) or 'no'} pods in it ({kinds}); expected one: a Pod, a PodTemplate or an object with spec.template."
        )
    metadata = found[0].get("metadata") or {}
    if not isinstance(metadata, dict):
        raise ValueError(f"its metadata is {metadata!r}; expected a mapping, such as {{labels: {{app: web}}}}.")
    about = {name: metadata.get(name) or {} for name in ("labels", "annotations")}
    try:
        return msgspec.convert({"file": file, "spec": found[0]["spec"], **about}, PodTemplate)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}.") from error


def faults_of(template: PodTemplate) -> Iterator[str]:
    """What a load cannot take of a template, one sentence per fault."""
    for field in OF_THE_RUN:
        if template.spec.get(field) is not None:
            yield f"spec.{field} is set, which a run sets or replaces itself; leave it out."
    try:
        read, pod = _read(template.spec), template.pod
    except ValueError as error:
        yield f"{error}."
        return
    if all(_stays_down(pod, each) for each in pod.containers):
        yield "restartPolicy is Never, and no container has a restart policy or a restart rule: nothing would restart."
    for each in read.all_containers:
        if each.pulls_always:
            yield (
                f"container {each.name!r}: its image {each.image} would be pulled at every restart, and the time of a pull "
                "cannot be told from the kubelet's delay; set imagePullPolicy to IfNotPresent or Never."
            )


def _pod_in(document: Any) -> dict[str, Any] | None:
    """The pod of one document, with `spec`; None if it has none."""
    if not isinstance(document, dict):
        return None
    if document.get("kind") == "Pod":
        found = document
    else:
        found = next((each for place in _PLACES if (each := _at(document, place)) is not None), {})
    return found if isinstance(found.get("spec"), dict) else None


def _at(document: Mapping[str, Any], place: tuple[str, ...]) -> dict[str, Any] | None:
    found: Any = document
    for name in place:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


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

    @property
    def pulls_always(self) -> bool:
        """By its policy, or without one by the tag `latest`, given or not (pkg/apis/core/v1/defaults.go@v1.37.1)."""
        if self.image_pull_policy is not None:
            return self.image_pull_policy == "Always"
        name = self.image.rpartition("/")[2]
        return "@" not in name and name.partition(":")[2] in ("", "latest")


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
        read = msgspec.convert(spec, _PodSpec)
    except msgspec.ValidationError as error:
        raise ValueError(f"its pod spec: {error}") from error
    if not read.containers:
        raise ValueError("its pod spec has no containers")
    return read


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
