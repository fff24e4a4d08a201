"""`restarts.of`: the pods of one workload, and when they were back after they had crashed; what a failed test shows of them."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from crashloop.errors import CrashloopError, UsageError
from crashloop.inference.windows import window
from crashloop.kube.answers import ApiRefusal, KubeError
from crashloop.kube.client import NOT_FOUND, KubeApi
from crashloop.kube.objects import kubelet_version
from crashloop.model.config import Curve
from crashloop.pytest_plugin.access import check_curve, check_seconds, check_whole, plain_errors
from crashloop.pytest_plugin.faults import status_of
from crashloop.waiting import wait_until
from crashloop.why.causes import time_of
from crashloop.why.objects import at
from crashloop.why.sources import pods_of
from crashloop.yaml_text import Json

LOOK_EVERY_S = 0.5
SEEN_WITHIN_S = 5.0
"""How much later than a start the API server may show it."""
LAST_LINES = 40


def live_pods(api: KubeApi, subject: str, namespace: str) -> list[Json]:
    """Raises UsageError for a subject that is not there, or that has no pods."""
    if not isinstance(subject, str):
        raise UsageError(f"{subject!r}: expected a pod, a workload such as deploy/web, or a selector, in quotes.")
    pods = [each for each in pods_of(api, subject, namespace) if each.get("status")]
    if not pods:
        raise UsageError(f"{subject}: it has no pods in namespace {namespace}.")
    return pods


def container_names(pod: Json) -> list[str]:
    """Of the containers that stay: regular ones and sidecars."""
    sidecars = [each for each in pod["spec"].get("initContainers") or () if each.get("restartPolicy") == "Always"]
    return [each["name"] for each in (*pod["spec"]["containers"], *sidecars)]


class Workload:
    """The pods that a workload, a selector or a name had when it was asked for. A pod that is gone fails every assertion."""

    def __init__(
        self,
        api: KubeApi,
        subject: str,
        namespace: str,
        curve_of: Callable[[Curve | None], Mapping[str, Curve]],
        count: Callable[..., None],
    ) -> None:
        """`curve_of`: the curve of each node; `count`: `Restarts.assert_restarts`."""
        self._api, self.subject, self.namespace = api, subject, namespace
        self._curve_of, self._count = curve_of, count
        self._before = {each["metadata"]["name"]: each for each in live_pods(api, subject, namespace)}

    @property
    def pods(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._before)

    @plain_errors
    def assert_restarts(self, at_least: int, *, container: str | None = None, within_s: float = 300.0) -> None:
        """In each pod a container, or the named one, is restarted that often within some seconds from now."""
        __tracebackhide__ = True
        check_whole("assert_restarts: at_least", at_least, least=1)
        check_seconds("assert_restarts: within_s", within_s)
        ends = datetime.now(UTC) + timedelta(seconds=within_s)
        for pod in self.pods:
            left_s = max((ends - datetime.now(UTC)).total_seconds(), 0.0)
            self._count(pod, at_least, container=container, within_s=left_s, since=self._before[pod]["status"])

    @plain_errors
    def assert_back_within(self, curve: Curve | float | None = None) -> None:
        """Every container that has ended since `restarts.of` runs again, as soon as the curve lets it; at least one has ended.

        The delay is that of its restart count, and the release's own lateness of the kubelet is added (docs/observing.md).
        A number is a limit in seconds from exit to start. Without either the configuration of each kubelet counts.
        """
        __tracebackhide__ = True
        if isinstance(curve, int | float):
            check_seconds("assert_back_within: the limit", curve)
        else:
            check_curve("assert_back_within: curve", curve)
        curves = {} if isinstance(curve, int | float) else self._curve_of(curve)
        versions = {name: kubelet_version(node) for name, node in self._nodes().items()}
        late: list[str] = []
        began = self._api.now()

        def decided() -> bool:
            late.clear()
            waits = [each for pod in self.pods for each in self._ended(pod)]
            if not waits:
                raise AssertionError(
                    f"{self.subject}: no container of it has ended since restarts.of(); crash() ends one."
                )
            now = self._api.now()
            pending = False
            for pod, container, status in waits:
                node = pod["spec"].get("nodeName")
                is_back = status["restartCount"] > _count_before(self._before, pod, container)
                is_back = is_back and (status.get("state") or {}).get("running") is not None
                restart = max(status["restartCount"] + (0 if is_back else 1), 1)
                limit_s, by = _limit(curve, curves.get(node), restart, versions.get(node))
                exited, started = _exited(status), time_of(at(status, "state", "running", "startedAt"))
                place = f"{self.namespace}/{pod['metadata']['name']} {container}"
                if exited is None or (is_back and started is None):
                    pending = True
                    if (now - began).total_seconds() > (SEEN_WITHIN_S if is_back else limit_s + SEEN_WITHIN_S):
                        late.append(f"{place}: its status does not say when it ended, or started again.")
                elif is_back and started is not None:
                    took_s = (started - exited).total_seconds()
                    if took_s > limit_s:
                        late.append(f"{place}: it was back {took_s:g} s after its exit; {by}.")
                elif (now - exited).total_seconds() <= limit_s + SEEN_WITHIN_S:
                    pending = True
                else:
                    late.append(
                        f"{place}: {(now - exited).total_seconds():g} s after its exit it {_does(status)}; {by}."
                    )
            return bool(late) or not pending

        wait_until(f"{self.subject} to be back", decided, timeout_s=float("inf"), every_s=LOOK_EVERY_S)
        if late:
            raise AssertionError("\n".join(late))

    def _nodes(self) -> dict[str, Json]:
        names = {pod["spec"].get("nodeName") for pod in self._before.values()}
        return {name: self._api.node(name) for name in names if name}

    def _ended(self, name: str) -> Iterator[tuple[Json, str, Json]]:
        """The containers of a pod that have ended since `restarts.of`, with their statuses. Raises AssertionError."""
        try:
            pod = self._api.get_pod(self.namespace, name)
        except ApiRefusal as error:
            if error.code != NOT_FOUND:
                raise
            pod = {"metadata": {}}
        before = self._before[name]
        if pod["metadata"].get("uid") != before["metadata"]["uid"]:
            raise AssertionError(f"pod {self.namespace}/{name}: it is gone, so it cannot be back.")
        for container in container_names(pod):
            now, then = status_of(pod, container), status_of(before, container)
            has_ended = (now.get("state") or {}).get("terminated") and not (then.get("state") or {}).get("terminated")
            if now and (now["restartCount"] > then.get("restartCount", 0) or has_ended or _is_newer(now, then)):
                yield pod, container, now


def _count_before(before: Mapping[str, Json], pod: Json, container: str) -> int:
    return int(status_of(before[pod["metadata"]["name"]], container).get("restartCount", 0))


def _is_newer(now: Json, then: Json) -> bool:
    return (now.get("lastState") or {}) != (then.get("lastState") or {})


def _exited(status: Json) -> datetime | None:
    state = status.get("state") or {}
    ended = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    return time_of(ended.get("finishedAt"))


def _does(status: Json) -> str:
    state = status.get("state") or {}
    waiting = state.get("waiting")
    return f"waits ({waiting.get('reason')})" if waiting else "has not started again"


def _limit(asked: Curve | float | None, curve: Curve | None, restart: int, version: Any) -> tuple[float, str]:
    """The latest second after the exit, and its reason."""
    if isinstance(asked, int | float):
        return float(asked), f"{asked:g} s were allowed"
    if curve is None or version is None:
        raise UsageError(
            "assert_back_within: the curve of its node is not known.\nGive one: crashloop_curve(), or seconds."
        )
    due_s = curve.delay_s(restart)
    latest_s = window(due_s, version).latest
    return float(latest_s), f"restart {restart} is due after {due_s:g} s, and comes within {latest_s} s"


def shown(api: KubeApi, namespace: str, name: str, timeline: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Title and text of what a failed test shows of a pod: its statuses and Events, the logs before, what was seen."""
    try:
        pod = api.get_pod(namespace, name)
    except CrashloopError as error:
        yield f"pod {namespace}/{name}", str(error)
        pod = {}
    if pod:
        yield f"describe pod {namespace}/{name}", "\n".join([*_described(pod), *_events(api, namespace, pod)])
    for container in container_names(pod) if pod else ():
        if status_of(pod, container).get("restartCount"):
            yield f"previous log of {namespace}/{name} {container}", _previous(api, namespace, name, container)
    if timeline:
        yield f"timeline of {namespace}/{name}", "\n".join(timeline)


def _described(pod: Json) -> Iterator[str]:
    status = pod.get("status") or {}
    yield f"node {pod['spec'].get('nodeName', 'none')}, phase {status.get('phase', 'unknown')}"
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        yield f"{each['name']}: image {each.get('image', '')}, {each['restartCount']} restarts"
        yield from (
            f"  {title}: {told}"
            for title, key in (("now", "state"), ("before", "lastState"))
            if (told := told_of(each.get(key)))
        )


def told_of(state: Json | None) -> str:
    """A container's state in a line; empty without one."""
    for kind, about in (state or {}).items():
        said = ", ".join(
            f"{key} {value}" for key, value in (about or {}).items() if key not in ("containerID", "message")
        )
        message = (about or {}).get("message")
        return f"{kind}: {said}{f' ({message})' if message else ''}"
    return ""


def _events(api: KubeApi, namespace: str, pod: Json) -> Iterator[str]:
    try:
        listed = api.events_of(namespace, pod["metadata"]["name"])
    except KubeError as error:
        yield f"Events: {error}"
        return
    mine = [each for each in listed if each["involvedObject"].get("uid") == pod["metadata"]["uid"]]
    for each in sorted(mine, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or "")):
        at, count = each.get("lastTimestamp") or each.get("eventTime"), each.get("count") or 1
        yield f"{at} {each.get('reason')} x{count}: {each.get('message')}"


def _previous(api: KubeApi, namespace: str, name: str, container: str) -> str:
    try:
        return (
            "\n".join(api.read_log(namespace, name, container, previous=True).splitlines()[-LAST_LINES:]) or "(empty)"
        )
    except KubeError as error:
        return str(error)
