"""What kube-state-metrics makes of a pod's status: internal/store/pod.go@v2.15.0."""

from collections.abc import Iterator
from typing import Any

from crashloop.sim.behaviour import Behaviour

PREFIX = "kube_pod_container_status"


def state_series(uid: str, status: dict[str, Any], behaviour: Behaviour) -> Iterator[dict[str, Any]]:
    """The values about the pod's containers."""
    how = behaviour.state_metrics
    for each in status.get("containerStatuses", ()):
        labels = {"uid": uid, "container": each["name"]}
        yield _value("restarts_total", each["restartCount"] - (how == "behind"), labels)
        waiting = each.get("state", {}).get("waiting")
        if waiting and how != "no reason":
            yield _value("waiting_reason", 1, labels | {"reason": waiting.get("reason", "")})
        last = each.get("lastState", {}).get("terminated")
        if last:
            yield _value("last_terminated_reason", 1, labels | {"reason": last["reason"]})
            yield _value("last_terminated_exitcode", 0 if how == "no code" else last["exitCode"], labels)


def _value(name: str, value: float, labels: dict[str, str]) -> dict[str, Any]:
    return {"name": f"{PREFIX}_{name}", "labels": labels, "value": value}
