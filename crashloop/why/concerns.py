"""Which findings of docs/findings concern a pod, by its spec and the kubelet's release."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import Json


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
