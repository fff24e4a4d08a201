"""Who ended a container, and which findings of docs/findings concern its pod.

It was ended by its own exit, a signal, its memory, a probe, a hook, or by nobody, as it never started.
Source: reasons of k8s.io/kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go and pkg/kubelet/images/types.go@v1.37.1.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import MAXYEAR, UTC, datetime, timedelta
from enum import StrEnum
from signal import Signals
from typing import NamedTuple

from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import Json


class Cause(StrEnum):
    """What ended the last life, or keeps the next from starting."""

    EXIT = "exit"
    SIGNAL = "signal"
    MEMORY = "OOM"
    PROBE = "probe"
    HOOK = "hook"
    IMAGE = "image"
    START = "start"
    RULE = "rule"
    NONE = "none"


_IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed"})
_NOT_PULLED = frozenset({"ErrImageNeverPull", "InvalidImageName", "ImageInspectError"})
"""Ends before a pull: pkg/kubelet/images/image_manager.go@v1.37.1 EnsureImageExists."""
_START = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "PreCreateHookError",
        "PreStartHookError",
    }
)
_NO_START = frozenset({"StartError", "ContainerCannotRun"})
HOOKS = frozenset({"PostStartHookError"})
LOST = "ContainerStatusUnknown"
"""The reason of an end that the runtime has no record of."""
_NOT_SEEN = "Unknown"
"""containerd's reason, beside 255, of an end that it did not see: internal/cri/server/helpers.go@v2.1."""
_BY_PROBE = ("failed liveness probe", "failed startup probe")


def waits_for(waiting: Json, *, has_ended: bool) -> tuple[Cause, str] | None:
    """What other than the backoff a container waits for; None for the backoff, or if that is all.

    `has_ended`: an instance of it has. Without one the kubelet counts no attempt: kuberuntime_manager.go doBackOff.
    """
    reason = str(waiting.get("reason") or "")
    lengthens = "each failed attempt lengthens the delay as a crash does"
    if reason in _NOT_PULLED:
        then = lengthens if has_ended else "the kubelet looks again every 10 to 15 s"
        return Cause.IMAGE, f"it waits for its image ({reason}), which is not pulled; {then}"
    if reason in _IMAGE:
        beside = f"beside that, {lengthens}" if has_ended else "the restart curve does not apply"
        return Cause.IMAGE, f"it waits for its image ({reason}), which has a backoff of its own; {beside}"
    if reason in HOOKS:
        return Cause.HOOK, f"its postStart hook failed ({reason})"
    if reason in _START:
        never_ran = "it has never run, so no delay counts, and the kubelet tries again every 10 to 15 s"
        return Cause.START, f"it could not be started ({reason}); {lengthens if has_ended else never_ran}"
    return None


def cause_of(ended: Json, *, probes: bool, killed_by: str, has_memory_limit: bool = True) -> tuple[Cause, str]:
    """Of a terminated state. `probes`: a liveness or startup probe is declared; `killed_by`: an Event's word about a kill."""
    code, reason = int(ended.get("exitCode") or 0), str(ended.get("reason") or "")
    if reason == "OOMKilled":
        ran_out = (
            "it exceeded its memory limit" if has_memory_limit else "memory of its node ran out; it has no memory limit"
        )
        return Cause.MEMORY, f"exit code {code}: the kernel killed it, as {ran_out} (OOMKilled)"
    if reason in _NO_START:
        return Cause.START, f"exit code {code}: the runtime could not start it ({reason})"
    if reason == "RestartingAllContainers":
        return Cause.RULE, "a rule RestartAllContainers of its pod removed it; how it ended is in no status"
    if reason in HOOKS or killed_by == "hook":
        return Cause.HOOK, f"exit code {code}: the kubelet killed it, as its postStart hook failed"
    if killed_by:
        return Cause.PROBE, f"exit code {code}: the kubelet killed it ({killed_by})"
    if reason == LOST:
        return Cause.NONE, f"its kubelet lost it, and does not know how it ended ({reason}; {code} is no exit code)"
    if reason == _NOT_SEEN:
        return (
            Cause.NONE,
            f"its runtime was away, as while a node restarts, and did not see it end ({reason}; {code} is no exit code)",
        )
    if code < 0:
        return Cause.EXIT, f"exit code {code}: it ended with the status 0x{code & 0xFFFFFFFF:08X} of Windows"
    number = int(ended.get("signal") or 0) or (code - 128 if 128 < code <= 128 + max(Signals) else 0)
    if not number:
        return Cause.EXIT, f"exit code {code}: it exited by itself"
    name = Signals(number).name if number in {each.value for each in Signals} else f"signal {number}"
    if number in (Signals.SIGTERM, Signals.SIGKILL) and probes:
        return Cause.SIGNAL, (
            f"exit code {code}: {name}; a kill by a probe looks the same, and an Event would tell (kubectl describe)"
        )
    return Cause.SIGNAL, f"exit code {code}: ended by {name}"


def killed_by(events: Iterable[Json], pod: Json, container: str, ended: Json) -> str:
    """What the newest Event of that life says about who killed the container: a sentence about a probe, `hook`, or empty.

    Events outlive the instance that they are about by an hour; they and `ended` have whole seconds.
    """
    uid = (pod.get("metadata") or {}).get("uid")
    started, finished = time_of(ended.get("startedAt")), time_of(ended.get("finishedAt"))
    said = ""
    for each in sorted(events, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or "")):
        about = each.get("involvedObject") or {}
        if about.get("uid") != uid or f"{{{container}}}" not in str(about.get("fieldPath")):
            continue
        at = time_of(each.get("lastTimestamp") or each.get("eventTime"))
        if at and ((started and at < started - _WHOLE) or (finished and at > finished + _WHOLE)):
            continue
        message = str(each.get("message") or "")
        if each.get("reason") == "FailedPostStartHook":
            said = "hook"
        elif each.get("reason") == "Killing":
            by_hook = "hook" if "FailedPostStartHook" in message else ""
            said = next((probe for probe in _BY_PROBE if probe in message), by_hook)
    return said


_WHOLE = timedelta(seconds=1)


def time_of(text: object) -> datetime | None:
    """None also for the year 1, which stands for no time, and for the last one, after which there is none."""
    try:
        found = datetime.fromisoformat(str(text))
        return found.astimezone(UTC) if found.tzinfo is not None and 1970 < found.year < MAXYEAR else None
    except ValueError:
        return None


class Concern(NamedTuple):
    """A finding, its sentence, and whom it concerns."""

    page: str
    sentence: str
    since: tuple[int, int]
    concerns: Callable[[Json, Json], bool]
    """Of a container and its pod's spec."""


def _probed(container: Json, _: Json) -> bool:
    return bool(container.get("livenessProbe") or container.get("startupProbe"))


def _ruled(container: Json, _: Json) -> bool:
    return bool(container.get("restartPolicyRules"))


def _restarts_all(container: Json, _: Json) -> bool:
    return any(each.get("action") == "RestartAllContainers" for each in container.get("restartPolicyRules") or ())


def _policy(container: Json, spec: Json) -> str:
    return str(container.get("restartPolicy") or spec.get("restartPolicy") or "Always")


def _needs_objects(container: Json, _: Json) -> bool:
    needed = any(
        (each.get("valueFrom") or {}).keys() & {"configMapKeyRef", "secretKeyRef"}
        for each in container.get("env") or ()
    )
    return needed or bool(container.get("envFrom"))


def _is_init(container: Json, spec: Json) -> bool:
    return container in (spec.get("initContainers") or ()) and container.get("restartPolicy") != "Always"


_CONCERNS = (
    Concern("delay-after-kill", "The delay after a kill by a probe counts from the exit before.", (1, 33), _probed),
    Concern(
        "probe-failures-go-on",
        "Failures of a liveness probe outlive the container that they are about.",
        (1, 33),
        _probed,
    ),
    Concern(
        "clean-exit-after-kill",
        "A clean exit on a liveness kill ends a pod under OnFailure.",
        (1, 33),
        lambda container, spec: _probed(container, spec) and _policy(container, spec) == "OnFailure",
    ),
    Concern(
        "rules-match-kills",
        "Rules match the exit code of a kill by a probe.",
        (1, 34),
        lambda container, spec: _probed(container, spec) and _ruled(container, spec),
    ),
    Concern(
        "restart-all-without-backoff", "Restarts by RestartAllContainers are never delayed.", (1, 35), _restarts_all
    ),
    Concern(
        "restart-all-hides-exit-code", "RestartAllContainers hides how the containers ended.", (1, 35), _restarts_all
    ),
    Concern("failed-starts-lengthen-the-delay", "A start that failed lengthens the delay.", (1, 33), _needs_objects),
    Concern("init-delay-is-forgotten", "An init container forgets its delay with its sandbox.", (1, 33), _is_init),
    Concern(
        "never-runs-again",
        "A container under Never that has ended runs again in another sandbox.",
        (1, 34),
        lambda container, spec: (
            container.get("restartPolicy") == "Never" and spec.get("restartPolicy", "Always") != "Never"
        ),
    ),
    Concern(
        "never-gets-no-second-sandbox",
        "A pod under Never that loses its sandbox stays Running for good.",
        (1, 34),
        lambda container, spec: spec.get("restartPolicy") == "Never" and _ruled(container, spec),
    ),
)


def concerns_of(container: Json, spec: Json, version: KubernetesVersion) -> Iterator[str]:
    """A sentence and its page for each finding."""
    for each in _CONCERNS:
        if version.release >= each.since and each.concerns(container, spec):
            yield f"{each.sentence} docs/findings/{each.page}.md"
