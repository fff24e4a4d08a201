"""The actions of one pod sync: which containers it kills or starts, whether it removes the sandbox or all containers.

pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions, getContainersToReset and kuberuntime_container.go
computeInitContainerActions @v1.37.1, in the order of the source; where it differs from the KEPs the source is followed.
"""

from collections.abc import Callable, Collection

import msgspec

from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind, RestartPolicy
from sim.behaviour import Behaviour
from sim.host import World
from sim.instance import InstanceState, InstanceView, PodView, SimulatedInstance
from sim.pod import SimPod
from sim.policy import Policies


class Kill(msgspec.Struct, frozen=True):
    """An instance that the kubelet stops."""

    container: Container
    instance: SimulatedInstance


class Actions(msgspec.Struct, kw_only=True):
    """The plan of one sync, carried out in this order."""

    reset: Container | None = None
    """All containers are to be restarted because this one exited."""
    kills: list[Kill] = []
    kill_pod: bool = False
    create_sandbox: bool = False
    starts: list[Container] = []


class Probed(msgspec.Struct, kw_only=True):
    """What the probes said so far, by container id."""

    failed: dict[str, Probe] = {}
    """The probe that failed."""
    started: set[str] = set()


def decide(pod: SimPod, view: PodView, policies: Policies, probed: Probed) -> Actions:
    """The plan for a pod as the pod cache shows it."""
    actions = Actions()
    source = reset_source(pod, view, policies)
    if source is not None:
        actions.reset = source
        return actions
    if not view.has_sandbox:
        return _without_sandbox(pod, view, policies, actions)
    actions.starts += [each for each in pod.ephemerals if _ephemeral_due(each, pod, view, policies)]
    initialized = _init(pod, view, policies, probed, actions)
    actions.starts = [each for each in actions.starts if not _held_by_sidecar(each, pod, view, policies.behaviour)]
    if actions.kill_pod:
        return actions
    awaits_init = policies.behaviour.awaits_init_after_reset if pod.was_reset else policies.behaviour.waits_for_init
    awaits_init &= not pod.unawaited
    awaits_init &= pod.sandboxes < 2 or policies.behaviour.new_sandbox_inits != "beside"
    if not initialized and awaits_init:
        return actions
    actions = _regular(pod, view, policies, probed, actions)
    if policies.behaviour.sidecars_hold_regular and _sidecar_down(pod, view):
        actions.starts = [each for each in actions.starts if each.kind is not ContainerKind.REGULAR]
    return actions


def _held_by_sidecar(container: Container, pod: SimPod, view: PodView, behaviour: Behaviour) -> bool:
    """Whether a faulty kubelet does not start an init container or sidecar again because a sidecar before it is down."""
    held = "sidecars" if container.is_sidecar else "init"
    if behaviour.down_sidecars_hold != held or container not in pod.inits or view.newest(container.name) is None:
        return False
    before = [view.newest(each.name) for each in pod.inits[: pod.inits.index(container)] if each.is_sidecar]
    return any(each is not None and each.state is InstanceState.EXITED for each in before)


def _sidecar_down(pod: SimPod, view: PodView) -> bool:
    newest = [view.newest(each.name) for each in pod.inits if each.is_sidecar]
    return any(each is not None and each.state is InstanceState.EXITED for each in newest)


def _regular(pod: SimPod, view: PodView, policies: Policies, probed: Probed, actions: Actions) -> Actions:
    """Plan the regular containers; a pod in which none is kept or started is stopped, sidecars and all."""
    kept = 0
    starts: list[Container] = []
    behaviour = policies.behaviour
    fails_as_one = behaviour.probe_kills_all and any(each.container_id in probed.failed for each in pod.alive())
    if behaviour.forgotten == "what runs as well":
        fails_as_one |= any(each.name in pod.forgotten and view.newest(each.name) is None for each in pod.regulars)
    for container in pod.regulars:
        newest = view.newest(container.name)
        if newest is None:
            if not (policies.behaviour.starts_one_regular and container is not pod.regulars[0]):
                starts.append(container)
        elif newest.state is InstanceState.EXITED:
            if restarts(newest.instance, container, pod, policies) or container.name in pod.reruns:
                starts.append(container)
        elif fails_as_one or _to_kill(newest.instance, pod, probed) or _resized(newest.instance, pod, policies):
            actions.kills.append(Kill(container, newest.instance))
            heeded = policies.behaviour.changes_heed_policy
            changed = newest.instance.image != pod.images[container.name] or _resized(newest.instance, pod, policies)
            if (changed and not heeded) or policies.restarts_after_kill(container, pod.spec.restart_policy):
                starts.append(container)
        else:
            kept += 1
    if kept == 0 and not starts:
        named = {each.name for each in pod.ephemerals} if behaviour.awaits_ephemerals else set()
        actions.kill_pod = not any(each.name in named for each in pod.alive())
        return actions
    actions.starts += starts
    return actions


def restarts(instance: SimulatedInstance, container: Container, pod: SimPod, policies: Policies) -> bool:
    """Whether an exited instance is to be followed by another."""
    if _completes_init(instance, container) or container.name in pod.left:
        return False
    if policies.behaviour.retries_inits == "first" and container in pod.inits[1:] and not container.is_sidecar:
        return False
    if instance.refused and policies.leaves_refused(container):
        return False
    if container.is_sidecar:
        return policies.restarts_sidecar(container, pod.spec, instance)
    return policies.restarts(container, pod.spec, instance)


def _completes_init(instance: SimulatedInstance, container: Container) -> bool:
    return container.kind is ContainerKind.INIT and not container.is_sidecar and instance.exit_code == 0


def _ephemeral_due(container: Container, pod: SimPod, view: PodView, policies: Policies) -> bool:
    newest = view.newest(container.name)
    beside = policies.behaviour.repeats_ephemeral_beside and any(pod.numbers.get(each.name) for each in pod.regulars)
    return newest is None or (
        newest.state is InstanceState.EXITED and (beside or restarts(newest.instance, container, pod, policies))
    )


def reset_source(pod: SimPod, view: PodView, policies: Policies) -> Container | None:
    """The container whose exit restarts all containers."""
    behaviour = policies.behaviour
    if not policies.reset or (behaviour.resets_once and pod.was_reset):
        return None
    if pod.is_static and behaviour.static_resets == "none":
        return None
    if behaviour.resets_under_never_only and pod.spec.restart_policy is not RestartPolicy.NEVER:
        return None
    sources = []
    for container in pod.regulars if behaviour.resets_by_regular_only else (*pod.inits, *pod.regulars):
        newest = view.newest(container.name)
        if (
            newest is not None
            and newest.state is InstanceState.EXITED
            and container.name not in pod.left
            and policies.resets(container, pod.spec, newest.instance)
        ):
            sources.append(container)
    if not behaviour.resets_before_start_up and not any(view.newest(each.name) for each in pod.regulars):
        sources = [each for each in sources if not each.is_sidecar]
    if behaviour.triggers_together == "none" and len(sources) > 1:
        return None
    return sources[0] if sources else None


def _without_sandbox(pod: SimPod, view: PodView, policies: Policies, actions: Actions) -> Actions:
    actions.kill_pod = bool(view)
    if pod.spec.restart_policy is RestartPolicy.NEVER and pod.sandboxes and view:
        # A pod that has run under Never gets no second sandbox, whatever its containers' own policies say.
        return actions
    finished = {
        container.name
        for container in pod.regulars
        if policies.runs_once(container, pod.spec.restart_policy)
        and not policies.behaviour.new_sandbox_runs_all
        and (newest := view.newest(container.name)) is not None
        and newest.state is InstanceState.EXITED
        and newest.instance.exit_code == 0
    }
    waiting = [container for container in pod.regulars if container.name not in finished]
    waiting = waiting[:1] if policies.behaviour.starts_one_regular else waiting
    if not waiting:
        return actions
    actions.create_sandbox = True
    # One that has run stays as it is: kuberuntime_manager.go@v1.37.1 computePodActions.
    ephemerals = [each for each in pod.ephemerals if view.newest(each.name) is None]
    actions.starts = [*ephemerals, *pod.inits[:1]] if pod.inits else [*ephemerals, *waiting]
    again = policies.behaviour.new_sandbox_inits if pod.sandboxes else "all"
    if not policies.behaviour.waits_for_init or again == "beside":
        actions.starts = [*ephemerals, *pod.inits[:1], *waiting]
    if again == "none":
        actions.starts = [*ephemerals, *waiting]
    if policies.delays_sidecars and pod.inits and pod.inits[0].is_sidecar:
        actions.starts = [*ephemerals, *waiting]
    return actions


def _init(pod: SimPod, view: PodView, policies: Policies, probed: Probed, actions: Actions) -> bool:
    """Plan the init containers; whether regular containers may start."""
    inits = {"first": pod.inits[:1], "none": ()}.get(policies.behaviour.new_sandbox_inits, pod.inits)
    inits = inits if pod.sandboxes > 1 else pod.inits
    past = any(present(container, pod, view) is not None for container in pod.regulars)
    for index, container in enumerate(inits):
        newest = present(container, pod, view)
        begun = past or any(present(later, pod, view) is not None for later in pod.inits[index + 1 :])
        if container.is_sidecar:
            if policies.delays_sidecars and not past:
                continue
            down = newest is not None and newest.state is InstanceState.EXITED
            if policies.behaviour.init_holds_sidecars and begun and not past and down:
                continue
            if policies.behaviour.sidecars_beside_running_only and past and down and not _regular_runs(pod, view):
                continue
            started = _sidecar(container, pod, newest, policies, probed, actions)
            if (not started or policies.behaviour.stops_at_sidecars) and not begun:
                return False
        elif container.name in pod.reruns:
            actions.starts.append(container)
        elif past and not policies.behaviour.repeats_init:
            if newest is None and container.name in pod.forgotten and policies.behaviour.forgotten == "init too":
                actions.starts.append(container)
        elif newest is None:
            if not begun:
                actions.starts.append(container)
                return False
        elif newest.state is not InstanceState.EXITED:
            return False
        elif newest.instance.exit_code != 0:
            if restarts(newest.instance, container, pod, policies):
                actions.starts.append(container)
            else:
                actions.kill_pod = True
            return False
        elif policies.behaviour.stops_after_init and not begun:
            return False
        elif policies.behaviour.repeats_init and _to_repeat(newest.instance, pod, view):
            actions.starts.append(container)
    return True


def present(container: Container, pod: SimPod, view: PodView) -> InstanceView | None:
    """The container's newest instance in the present sandbox."""
    newest = view.newest(container.name)
    return newest if newest is not None and newest.instance.sandbox == pod.sandboxes else None


def _to_repeat(instance: SimulatedInstance, pod: SimPod, view: PodView) -> bool:
    """Whether a kubelet that repeats init containers does so now: once, after the pod has restarted something."""
    return instance.name not in pod.repeated and any(
        newest.instance.number > 0 for each in pod.regulars if (newest := view.newest(each.name)) is not None
    )


def _sidecar(
    container: Container, pod: SimPod, newest: InstanceView | None, policies: Policies, probed: Probed, actions: Actions
) -> bool:
    """Plan a sidecar; whether it has started, so that what follows may."""
    if newest is None:
        actions.starts.append(container)
        return False
    instance = newest.instance
    if newest.state is InstanceState.EXITED:
        if restarts(instance, container, pod, policies):
            actions.starts.append(container)
        return False
    behaviour = policies.behaviour
    unawaited = pod.was_reset and behaviour.sidecars_after_reset == "not awaited"
    done = _startup_done(container, instance, probed) or not behaviour.awaits_sidecars or unawaited
    becomes = behaviour.changed_sidecar if instance.image != pod.images[instance.name] else "restarts"
    if _to_kill(instance, pod, probed) and becomes != "stays":
        actions.kills.append(Kill(container, instance))
        if becomes == "takes along":
            regulars = {each.name: each for each in pod.regulars}
            actions.kills += [Kill(regulars[each.name], each) for each in pod.alive() if each.name in regulars]
        pod.left |= {container.name} if becomes == "ends" else set()
        actions.starts += [container] if becomes != "ends" else []
        return done
    return newest.state is InstanceState.RUNNING and done


def _regular_runs(pod: SimPod, view: PodView) -> bool:
    newest = [view.newest(each.name) for each in pod.regulars]
    return any(each is not None and each.state is InstanceState.RUNNING for each in newest)


def _startup_done(container: Container, instance: SimulatedInstance, probed: Probed) -> bool:
    has_startup = container.probe(ProbeKind.STARTUP) is not None
    return not has_startup or instance.container_id in probed.started


def _to_kill(instance: SimulatedInstance, pod: SimPod, probed: Probed) -> bool:
    return instance.container_id in probed.failed or instance.image != pod.images[instance.name]


def _resized(instance: SimulatedInstance, pod: SimPod, policies: Policies) -> bool:
    """Whether an accepted resize restarts it."""
    container, how = pod.spec.container(instance.name), policies.behaviour.resize_restarts
    asked = container.restarts_on_resize or how == "any"
    wanted = asked and how != "never" and not (how == "unruled" and container.rules)
    again = how == "twice" and instance.number == 1
    return wanted and (again or instance.resources != pod.resources[instance.name])


PAIR = 2
"""The containers of a pod that KEP-5532 calls simple."""


def reset_targets(
    pod: SimPod, source: Container, waiting: Collection[str], behaviour: Behaviour
) -> tuple[Container, ...]:
    """The containers in the order of their removal, all but ephemeral ones; a faulty kubelet leaves some out."""
    others = [each for each in (*pod.regulars, *pod.inits) if each is not source]
    targets = {
        "all": [*others, source],
        "source": [source],
        "regular": [*pod.regulars],
        "no sidecars": [*(each for each in others if not each.is_sidecar), source],
        "everything": [*pod.ephemerals, *others, source],
    }[behaviour.static_resets if pod.is_static else behaviour.reset_scope]
    spared = set(waiting) if behaviour.reset_spares_waiting else set()
    if behaviour.reset_spares_done:
        spared |= {each.name for each in pod.regulars if each is not source and pod.exit_codes.get(each.name) == 0}
    return tuple(each for each in targets if each.name not in spared)


def reset_late_ns(pod: SimPod, behaviour: Behaviour) -> int:
    """How late a faulty kubelet carries RestartAllContainers out."""
    is_larger = len(pod.spec.containers) > PAIR or any(not each.is_sidecar for each in pod.inits)
    return behaviour.reset_late_ns or (behaviour.reset_late_in_larger_ns if is_larger else 0)


class LateStarts:
    """What a pod's syncs leave to a later one; nothing with a right kubelet."""

    def __init__(self, world: World, behaviour: Behaviour, pod: SimPod, wake: Callable[[], None]) -> None:
        self._loop = world.loop
        self._late_ns = behaviour.starts_behind_init_late_ns if pod.inits else 0
        self._pod = pod
        self._wake = wake
        self._due_ns: int | None = None

    def due(self, starts: list[Container]) -> list[Container]:
        """The containers that are not postponed."""
        first = [each for each in starts if each.kind is ContainerKind.REGULAR and each.name not in self._pod.numbers]
        if not (self._late_ns and first):
            return starts
        if self._due_ns is None:
            self._due_ns = self._loop.now + self._late_ns
            self._loop.at(self._due_ns, self._wake)
        return starts if self._loop.now >= self._due_ns else [each for each in starts if each not in first]
