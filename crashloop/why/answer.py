"""What the statuses of a pod's containers say about their next start, and what its spec says about every exit."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Required, TypedDict, cast

import msgspec

from crashloop.errors import UsageError
from crashloop.kubelet_files import form_of_a_pod
from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.model.counter import RESET_AFTER_S
from crashloop.model.lateness import latest_s, soonest_s
from crashloop.model.restart import Decided, Decision, decide
from crashloop.model.variants import as_shipped
from crashloop.spec.duration import stated_backoff_s
from crashloop.spec.pod import Container, ContainerKind, Pod
from crashloop.spec.scenario import Mode
from crashloop.spec.version import RELEASES, KubernetesVersion
from crashloop.stress.pod_template import PodTemplate, unknown_fields
from crashloop.why.causes import HOOKS, LOST, Cause, cause_of, concerns_of, killed_by, time_of, waits_for
from crashloop.words import in_words
from crashloop.yaml_text import Json

WHY_FORMAT = "crashloop.why/1"
RESETS = (
    f"a run of more than {RESET_AFTER_S:g} s before the next exit",
    "a new image or other resources of the container",
    "a restart of the kubelet or of the node",
    "a new pod in its place",
)
_KILLED = (137, 143)
_HAS_RUN = ("Running", "Succeeded", "Failed", "Unknown")
_LAST_YEAR = 9000
"""Later, there is no time after the delay."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a node's kubelet is, as far as known."""

    version: KubernetesVersion
    """By whose rules the answer is worked out."""
    states_version: bool = True
    """False: nothing says which release the node's kubelet is."""
    gates: dict[str, bool] = {}
    curve: Curve | None = None
    """None: not known."""
    curve_by: str = ""


class ExitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of the container after an exit."""

    exit: str
    """An exit code, or "kill by a probe"."""
    decision: str
    step: str


class ContainerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer about one container. Times are UTC by the node's clock, delays are seconds."""

    pod: str
    container: str
    node: str | None
    kubelet_version: str | None
    """None if nothing says it."""
    restarts: int
    cause: Cause
    last_exit: str
    state: str
    """What it does now."""
    delay_s: float | None
    """As the kubelet states it; None if it states none."""
    counted_s: float | None
    """While it states none: the delay by the restart count on the curve, if nothing reset it; None where it is not that."""
    step: str
    curve: Curve
    curve_by: str
    earliest: datetime | None
    """The next start is due from then on; None if nothing says so."""
    latest: datetime | None
    resets: tuple[str, ...] = RESETS
    exits: tuple[ExitAnswer, ...]
    looks_like_liveness_spiral: bool
    findings: tuple[str, ...]
    unknown_fields: tuple[str, ...] = ()
    """Of the pod's spec, one sentence each: no Kubernetes has them, so this answer leaves them out."""


class WhyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `why --json`."""

    format: str = WHY_FORMAT
    asked_at: datetime
    containers: tuple[ContainerAnswer, ...]


class _Ended(TypedDict, total=False):
    exitCode: Required[Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]]
    signal: int | None
    reason: str | None
    startedAt: str | None
    finishedAt: str | None


class _Waiting(TypedDict, total=False):
    reason: str | None
    message: str | None


class _State(TypedDict, total=False):
    waiting: _Waiting | None
    running: dict[str, Any] | None
    terminated: _Ended | None


class _Status(msgspec.Struct, rename="camel"):
    name: str
    restart_count: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0
    state: _State | None = None
    last_state: _State | None = None


class _Statuses(msgspec.Struct, rename="camel"):
    phase: str | None = None
    reason: str | None = None
    conditions: Any = None
    container_statuses: list[_Status] | None = None
    init_container_statuses: list[_Status] | None = None


class _EnvVar(TypedDict, total=False):
    valueFrom: dict[str, Any] | None


class _ContainerSpec(msgspec.Struct, rename="camel"):
    name: str
    env: list[_EnvVar] | None = None
    liveness_probe: dict[str, Any] | None = None
    startup_probe: dict[str, Any] | None = None
    resources: dict[str, dict[str, Any] | list[Any] | None] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    containers: list[_ContainerSpec]
    init_containers: list[_ContainerSpec] | None = None
    node_name: str | None = None


class _Meta(msgspec.Struct, rename="camel"):
    name: str = "?"
    namespace: str | None = None
    deletion_timestamp: str | None = None


class _Pod(msgspec.Struct):
    spec: _Spec
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _Statuses | None = None


class TooOld(UsageError):
    """A pod of a kubelet that is older than every model."""


def answer_of(pod: Json, setting: Setting, events: Iterable[Json]) -> tuple[ContainerAnswer, ...]:
    """One answer for each container of a pod or of a template, init containers first.

    Raises UsageError for an object that is no pod, and TooOld for a release that the model does not cover.
    """
    try:
        read = msgspec.convert({field: value for field, value in pod.items() if value is not None}, _Pod)
        planned = PodTemplate(file="", spec=pod["spec"]).pod
    except (msgspec.ValidationError, ValueError) as error:
        why = "; ".join((in_words(error), *_unknown_fields(pod.get("spec")))).rstrip(".?")
        raise UsageError(f"pod {_name(pod)}: it cannot be read ({why}).") from error
    if setting.version.release < RELEASES[0]:
        first = ".".join(map(str, RELEASES[0]))
        raise TooOld(f"pod {_name(pod)}: its kubelet, {setting.version}, is older than the model covers ({first}).")
    listed = (read.status.init_container_statuses, read.status.container_statuses) if read.status else ()
    statuses = {each.name: each for some in listed for each in some or ()}
    specs = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
    seen = list(events)
    unknown = _unknown_fields(pod["spec"])
    over, of_sidecars = _over(read), _over_for_sidecars(planned, statuses, setting)
    return tuple(
        _container_answer(
            pod,
            read,
            planned,
            spec,
            container,
            statuses.get(container.name),
            setting,
            seen,
            unknown,
            over=over or (of_sidecars if container.is_sidecar else ""),
        )
        for spec, container in zip(specs, planned.containers, strict=True)
    )


def _container_answer(
    pod: Json,
    read: _Pod,
    planned: Pod,
    spec: Json,
    container: Container,
    status: _Status | None,
    setting: Setting,
    events: list[Json],
    unknown: tuple[str, ...],
    *,
    over: str,
) -> ContainerAnswer:
    state = cast("Mapping[str, Json | None]", (status and status.state) or {})
    last = cast("Mapping[str, Json | None]", (status and status.last_state) or {})
    waiting, ended = state.get("waiting"), state.get("terminated") or last.get("terminated")
    probes = bool(spec.get("livenessProbe") or spec.get("startupProbe"))
    has_ended = status is not None and (status.restart_count > 0 or (waiting or {}).get("reason") == "CrashLoopBackOff")
    cause, last_exit = Cause.NONE, "its status does not say how" if has_ended else "it has never ended"
    if status is None and read.status and read.status.phase in _HAS_RUN:
        last_exit = "its pod has no status of it"
    if ended:
        by = "hook" if (waiting or {}).get("reason") in HOOKS else killed_by(events, pod, container.name, ended)
        limited = any("memory" in _limits(each) for each in (spec, pod["spec"]))
        cause, last_exit = cause_of(ended, probes=probes, killed_by=by, has_memory_limit=limited)
    blocked = waits_for(waiting, has_ended=has_ended or ended is not None) if waiting else None
    if blocked is not None:
        cause = blocked[0]
    delay_s = stated_backoff_s(str(waiting.get("message"))) if waiting and blocked is None else None
    curve = setting.curve or DEFAULT_CURVE
    code = int((ended or {}).get("exitCode") or 0)
    shown = state.get("terminated")
    is_lost = shown is not None and shown.get("reason") == LOST  # to a kubelet it has not run, so nothing delays it
    decision = None
    if shown and cause is not Cause.PROBE:
        decision = _decided(planned, container, code, setting, is_lost=is_lost).decision
    counts = not over and blocked is None and decision is Decision.RESTART and not is_lost
    started, finished = (time_of(ended.get(field)) if ended else None for field in ("startedAt", "finishedAt"))
    is_reset = bool(started and finished and finished - started > timedelta(seconds=RESET_AFTER_S))
    counted_s = curve.delay_s(1 if is_reset else status.restart_count + 1) if status and counts else None
    due_s = counted_s if delay_s is None else delay_s
    earliest = latest = None
    if not over and due_s is not None and finished is not None and finished.year <= _LAST_YEAR:
        beside = probes or len(planned.containers) > 1
        soonest = soonest_s(due_s, setting.version, mode=Mode.NATURAL, other_sync_sources=beside)
        last_s = latest_s(due_s, setting.version, mode=Mode.NATURAL, other_sync_sources=beside)
        earliest = finished + timedelta(seconds=soonest)
        latest = finished + timedelta(seconds=last_s + 1.0)  # finishedAt is cut to whole seconds
    killed = cause is Cause.PROBE or (cause is Cause.SIGNAL and code in _KILLED)
    return ContainerAnswer(
        pod=_name(pod),
        container=container.name,
        node=read.spec.node_name,
        kubelet_version=str(setting.version) if setting.states_version else None,
        restarts=status.restart_count if status else 0,
        cause=cause,
        last_exit=last_exit,
        state=over or _state(read, status, state, blocked, delay_s, finished, decision),
        delay_s=delay_s,
        counted_s=counted_s,
        step=_step(delay_s, curve, known=setting.curve is not None),
        curve=curve,
        curve_by=setting.curve_by or "the release's default; the node's configuration is not known",
        earliest=earliest,
        latest=latest,
        exits=tuple(_exits(planned, container, setting, probes=probes)),
        looks_like_liveness_spiral=killed and bool(spec.get("livenessProbe")) and "cpu" in _limits(spec),
        findings=tuple(concerns_of(spec, pod["spec"], setting.version)),
        unknown_fields=unknown,
    )


def _unknown_fields(spec: object) -> tuple[str, ...]:
    return tuple(unknown_fields(form_of_a_pod(spec))) if isinstance(spec, dict) else ()


def _over(read: _Pod) -> str:
    """Why nothing in the pod is started any more; empty where it may be."""
    phase = read.status.phase if read.status else None
    if phase in ("Failed", "Succeeded"):
        why = f", {read.status.reason}" if read.status and read.status.reason else ""
        return f"its pod has ended ({phase}{why}): nothing in it is started again"
    return "its pod is being deleted: nothing in it is started again" if read.metadata.deletion_timestamp else ""


def _over_for_sidecars(planned: Pod, statuses: Mapping[str, _Status], setting: Setting) -> str:
    """Why no sidecar is started any more (kuberuntime_manager.go computePodActions); empty where it may be."""
    for each in planned.containers:
        ended = ((statuses[each.name].state or {}) if each.name in statuses else {}).get("terminated")
        if each.kind is ContainerKind.REGULAR and (
            ended is None or _decided(planned, each, ended["exitCode"], setting).decision is not Decision.STOP
        ):
            return ""
    return "its pod ends, as the other containers have: no sidecar of it is started again"


def _state(
    read: _Pod,
    status: _Status | None,
    state: Mapping[str, Json | None],
    blocked: tuple[Cause, str] | None,
    delay_s: float | None,
    finished: datetime | None,
    decision: Decision | None,
) -> str:
    if read.status and read.status.reason == "NodeLost":
        return "its node does not answer (NodeLost): what its status says is old"
    if status is None:
        if unplaced := _unplaced(read.status):
            return unplaced
        phase = f" of it (its pod is {read.status.phase})" if read.status and read.status.phase else ""
        return f"no status{phase}: this is what the spec alone says"
    if blocked is not None:
        return blocked[1]
    if delay_s is not None and finished is None:
        return "it waits for its delay; the status has no time of the exit, so the next start is not known"
    if delay_s is not None:
        return "it waits for its delay"
    if state.get("running") is not None:
        return "it runs, so no delay is under way"
    if state.get("terminated") is not None:
        return f"it has ended, {_AFTER.get(decision, 'and the kubelet states no delay')}"
    reason = (state.get("waiting") or {}).get("reason")
    return f"it waits ({reason}), and the kubelet states no delay" if reason else "its status says nothing"


def _unplaced(status: _Statuses | None) -> str:
    """Why the pod has no node, in the scheduler's words; empty if it says nothing."""
    listed = status.conditions if status else None
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and (each.get("type"), each.get("status")) == ("PodScheduled", "False"):
            return f"its pod has no node yet ({each.get('reason')}: {each.get('message') or 'without a word'})"
    return ""


_AFTER: Mapping[Decision | None, str] = {
    Decision.STOP: "and is not started again after this exit",
    Decision.RESTART_ALL: "and a rule has all containers of its pod started again, without a delay",
}


def _decided(
    pod: Pod, container: Container, code: int, setting: Setting, *, killed: bool = False, is_lost: bool = False
) -> Decided:
    """What an exit leads to; the curve delays a restart of this container alone."""
    return decide(
        pod,
        container,
        code,
        gates=setting.gates,
        version=setting.version,
        killed=killed,
        record_lost=is_lost,
        deviations=as_shipped(setting.version),
    )


def _exits(pod: Pod, container: Container, setting: Setting, *, probes: bool) -> Iterable[ExitAnswer]:
    """For the exit codes 0, 1, 137 and those that rules name, and for a kill by a probe."""
    named = {code for rule in container.rules for code in rule.values}
    cases = [(str(code), code, False) for code in sorted({0, 1, 137} | named)]
    if probes:
        cases.append(("kill by a probe", 137, True))
    for text, code, killed in cases:
        decided = _decided(pod, container, code, setting, killed=killed)
        yield ExitAnswer(exit=text, decision=str(decided.decision), step=decided.step)


def _step(delay_s: float | None, curve: Curve, *, known: bool) -> str:
    """Where on the curve a stated delay stands."""
    if delay_s is None:
        return "no delay is stated"
    if delay_s >= curve.maximum_s and delay_s == curve.delay_s(2 + 64):
        return "at the maximum: it grows no more"
    restart = next((each for each in range(2, 66) if curve.delay_s(each) == delay_s), None)
    if restart is not None:
        return f"delay {restart - 1} of the curve; after another crash {curve.after(delay_s):g} s"
    configured = "the node's configuration" if known else "the default curve"
    return f"{delay_s:g} s is no delay of {configured}: the kubelet has another maximum or initial delay"


def _limits(spec: Json) -> Json:
    """Of a container, or of a pod as a whole."""
    return (spec.get("resources") or {}).get("limits") or {}


def _name(pod: Json) -> str:
    metadata = pod.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    generated = about.get("generateName")
    name = about.get("name") or (f"{generated}?" if generated else "?")
    return f"{about.get('namespace') or 'default'}/{name}"
