"""`restarts`: watches the pods of a namespace, and asserts when their containers restart."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from crashloop.cluster.existing.survey import OBSERVE, OBSERVE_MANIFEST, connect, require_permitted
from crashloop.errors import CrashloopError, UsageError
from crashloop.inference.judging import MIN_WAITS, NodeFinding, is_decided, why_early, why_not_followed
from crashloop.inference.loops import CrashLoop
from crashloop.kube.answers import ApiRefusal, KubeError
from crashloop.kube.kubelet import ConfigzReader
from crashloop.kube.objects import kubelet_version, missing_for_all
from crashloop.kube.watch import PodObject
from crashloop.model.config import Curve
from crashloop.observe.nodes import (
    Configured,
    findings_of,
    is_modelled,
    nodes_by_name,
    read_configurations,
)
from crashloop.observe.watch import LoopWatch
from crashloop.pytest_plugin.access import (
    Access,
    check_curve,
    check_name,
    check_namespace,
    check_seconds,
    check_whole,
    plain_errors,
)
from crashloop.pytest_plugin.workload import Workload, shown, told_of
from crashloop.waiting import WaitTimeout, wait_until
from crashloop.yaml_text import Json

Loops = Mapping[str, tuple[CrashLoop, ...]]
"""By node."""
MOST_SHOWN = 3
"""Pods of a failed test."""


class _WithoutImage(CrashloopError):
    """What is waited for cannot come."""


class Restarts:
    """The restarts in a namespace since `start`. An assertion that lacks evidence fails, and reports what it lacks.

    Evidence and rules are those of `crashloop observe` (docs/observing.md).
    """

    def __init__(self, access: Access, namespace: str) -> None:
        """Raises UsageError for an unusable kubeconfig or missing permissions, PrerequisiteError without an API server."""
        check_namespace(namespace)
        self._namespace = namespace
        self._api, _ = connect(access.kubeconfig, access.context)
        subject = f"kubeconfig {access.kubeconfig}: its user lacks permissions to watch namespace {namespace}."
        require_permitted(self._api, OBSERVE, namespace, subject=subject, remedy=f"Apply {OBSERVE_MANIFEST}.")
        self._before = nodes_by_name(self._api)
        self._watch = LoopWatch(self._api, namespace, self._note)
        self._seen: dict[str, list[str]] = {}
        """Pod -> the changes of its containers' states, as lines with the time they came."""
        self._asked: list[str] = []
        """Pods that assertions were about."""

    def start(self) -> None:
        """Returns when the pods have been listed."""
        self._watch.start()

    def close(self) -> None:
        self._watch.stop()
        self._api.close()

    @plain_errors
    def of(self, subject: str) -> Workload:
        """The pods of a workload (`deploy/operator`), a selector (`app=web`) or a name. Raises UsageError without any."""
        found = Workload(self._api, subject, self._namespace, self._curves, self.assert_restarts)
        self._asked += found.pods
        return found

    def on_failure(self) -> list[tuple[str, str]]:
        """Titles and texts of what a failed test shows: of the pods that it asked about, else of those that changed."""
        names = list(dict.fromkeys(self._asked)) or [name for name, lines in self._seen.items() if len(lines) > 1]
        return [
            section
            for name in names[:MOST_SHOWN]
            for section in shown(self._api, self._namespace, name, tuple(self._seen.get(name, ())))
        ]

    def _note(self, pod: PodObject) -> None:
        status = msgspec.json.decode(pod.status)
        listed = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
        lines = self._seen.setdefault(pod.metadata.name, [])
        for each in listed:
            line = f"{each['name']}: restart {each['restartCount']}, {told_of(each.get('state'))}"
            last = next((said for said in reversed(lines) if f" {each['name']}: " in said), "")
            if not last.endswith(line):
                lines.append(f"{datetime.now(UTC):%H:%M:%S.%f}"[:-3] + f" {line}")

    def _curves(self, curve: Curve | None) -> dict[str, Curve]:
        return {name: each.curve for name, each in self._configured(curve).items() if each.curve is not None}

    @plain_errors
    def assert_restarts(
        self,
        pod: str,
        at_least: int,
        *,
        container: str | None = None,
        within_s: float = 300.0,
        since: Json | None = None,
    ) -> None:
        """A container of the pod, or the named one, is restarted that often within some seconds from now.

        Earlier restarts do not count; those after the status `since` do. Fails at once if its image does not come.
        """
        __tracebackhide__ = True
        check_whole("assert_restarts: at_least", at_least, least=1)
        check_seconds("assert_restarts: within_s", within_s)
        check_name("assert_restarts: pod", pod)
        self._check_container(pod, container)
        self._asked.append(pod)
        before = _restart_counts(self._status(pod) if since is None else since)
        counts: dict[str, int] = {}

        def enough() -> bool:
            status = self._status(pod)
            counts.update({name: count - before.get(name, 0) for name, count in _restart_counts(status).items()})
            chosen = counts if container is None else {container: counts.get(container, 0)}
            if max(chosen.values(), default=0) >= at_least:
                return True
            _require_images(self._without_image({pod: status}, container))
            return False

        try:
            wait_until(
                f"pod {self._namespace}/{pod} to restart {container or 'a container'} {at_least} times",
                enough,
                timeout_s=within_s,
                every_s=0.5,
                last_seen=lambda: ", ".join(f"{name} restarted {count} times" for name, count in counts.items()),
            )
        except (WaitTimeout, _WithoutImage) as error:
            raise AssertionError(str(error)) from None

    @plain_errors
    def assert_follows(
        self, curve: Curve | None = None, *, pod: str | None = None, waits: int = MIN_WAITS, within_s: float = 300.0
    ) -> None:
        """Every node with restarts here, or that of one pod, follows the curve, by that many waits besides free first restarts.

        Without a curve each kubelet's own configuration counts, which needs the permission to read it (nodes/proxy).
        Fails at once if nothing has restarted, and no pod can run for want of its image.
        """
        __tracebackhide__ = True
        check_curve("assert_follows: curve", curve)
        check_whole("assert_follows: waits", waits, least=MIN_WAITS)
        check_seconds("assert_follows: within_s", within_s)
        self._ask(pod)
        configured = self._configured(curve)

        def decided() -> bool:
            if not self._loops(pod):
                _require_images(self._all_without_image(pod))
            return is_decided(self._findings(configured, pod, self._before), waits=waits)

        try:
            with suppress(WaitTimeout):  # the reasons follow from the findings
                wait_until(f"{waits} waits on every node", decided, timeout_s=within_s, every_s=1.0)
        except _WithoutImage as error:
            raise AssertionError(str(error)) from None
        reasons = why_not_followed(self._findings(configured, pod, nodes_by_name(self._api)), waits=waits)
        _require_none(reasons and reasons + self._left_out() + self._loss())

    @plain_errors
    def assert_no_early_restart(self, curve: Curve | None = None, *, pod: str | None = None) -> None:
        """No restart so far, here or of one pod, came before the curve allows; at least one was due after a delay."""
        __tracebackhide__ = True
        check_curve("assert_no_early_restart: curve", curve)
        self._ask(pod)
        configured = self._configured(curve)
        findings = self._findings(configured, pod, nodes_by_name(self._api))
        curves = {name: each.curve for name, each in configured.items() if each.curve is not None}
        _require_none(why_early(findings, self._loops(pod), curves) + self._loss())

    def _ask(self, pod: str | None) -> None:
        if pod is not None:
            check_name("pod", pod)
            self._asked.append(pod)

    def _check_container(self, pod: str, container: str | None) -> None:
        """Raises UsageError for one that a pod does not have, which nobody would see restart. A pod may come later."""
        with suppress(ApiRefusal):
            spec = self._api.get_pod(self._namespace, pod)["spec"] if container is not None else {}
            names = [each["name"] for field in ("containers", "initContainers") for each in spec.get(field) or ()]
            if names and container not in names:
                raise UsageError(
                    f"pod {self._namespace}/{pod} has no container {container!r}; it has {', '.join(names)}."
                )

    def _findings(
        self, configured: Mapping[str, Configured], pod: str | None, after: dict[str, Json]
    ) -> list[NodeFinding]:
        loops = self._loops(pod)
        nodes = {name: node for name, node in {**self._before, **after}.items() if name in loops}
        return findings_of(nodes, loops, configured, before=self._before, after=after)

    def _loops(self, pod: str | None) -> Loops:
        self._watch.wait(0)  # raises a fault that has ended the watch
        found = self._watch.by_node()
        chosen = {node: tuple(each for each in loops if pod in (None, each.pod)) for node, loops in found.items()}
        return {node: loops for node, loops in chosen.items() if loops}

    def _configured(self, curve: Curve | None) -> dict[str, Configured]:
        """By node."""
        if curve is not None:
            return {name: Configured(curve=curve, by="the test") for name in self._before}
        modelled = (node for node in self._before.values() if is_modelled(kubelet_version(node)))
        return read_configurations(ConfigzReader(self._api), modelled)

    def _status(self, pod: str) -> Json:
        """Empty while there is no such pod."""
        try:
            status: Json = self._api.get_pod(self._namespace, pod)["status"]
        except ApiRefusal as error:
            if error.code == 404:
                return {}
            raise
        return status

    def _all_without_image(self, pod: str | None) -> list[str]:
        """A sentence per pod here, or for the one, if none of them can run; empty also if they cannot be listed now."""
        try:
            listed = msgspec.json.decode(self._api.list_pods(self._namespace, label_selector=""))["items"]
        except KubeError:
            return []
        statuses = {each["metadata"]["name"]: each["status"] for each in listed}
        asked = {
            name: status
            for name, status in statuses.items()
            if pod in (None, name) and status.get("phase") not in ("Succeeded", "Failed")
        }
        found = self._without_image(asked)
        return found if len(found) == len(asked) else []

    def _without_image(self, statuses: Mapping[str, Json], container: str | None = None) -> list[str]:
        """A sentence per pod that cannot run, or not that container of it, for want of an image."""
        missing = ((pod, missing_for_all(status, container)) for pod, status in statuses.items())
        return [
            f"pod {self._namespace}/{pod}: {each.container} cannot have the image {each.image} ({each.reason}).\n"
            f"{each.message}\n"
            "Name one that its node has or can pull; for crash_pod, with --crashloop-image."
            for pod, each in missing
            if each is not None
        ]

    def _left_out(self) -> list[str]:
        """Restarted containers of the namespace that were not judged, by the reason."""
        return [f"Restarted containers left out, {why}: {number}." for why, number in self._watch.left_out.items()]

    def _loss(self) -> list[str]:
        """Why changes of pods were not seen, if they were not."""
        broken = self._watch.broken_since()
        if broken is not None:
            return [f"The watch of pods was lost: {broken[1]}"]
        return (
            [f"The watch of pods was lost and its changes are gone, times: {self._watch.gaps}."]
            if self._watch.gaps
            else []
        )


def _restart_counts(status: Json) -> dict[str, int]:
    """By container."""
    sections = ("initContainerStatuses", "containerStatuses")
    return {each["name"]: each["restartCount"] for key in sections for each in status.get(key, ())}


def _require_images(missing: list[str]) -> None:
    if missing:
        raise _WithoutImage("\n".join(missing))


def _require_none(reasons: list[str]) -> None:
    __tracebackhide__ = True
    if reasons:
        raise AssertionError("\n".join(reasons))
