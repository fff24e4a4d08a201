"""Nodes are Ready by their condition, and one that is gone is not."""

from typing import Any, cast

from crashloop.kube.client import KubeApi
from crashloop.measure.measuring import readiness


class _Nodes:
    """An API of which only the nodes are read."""

    def nodes(self) -> list[dict[str, Any]]:
        return [
            _node("good", {"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}),
            _node("silent", {"type": "Ready", "status": "Unknown"}),
            _node("new"),
            _node("not-ours", {"type": "Ready", "status": "True"}),
        ]


def _node(name: str, *conditions: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": list(conditions)} if conditions else {}}


def test_every_node_of_the_run_is_ready_or_not() -> None:
    found = readiness(cast(KubeApi, _Nodes()), ("good", "silent", "new", "gone"))
    assert {series.labels["node"]: value for _, series, value in found} == {
        "good": 0.0,
        "silent": 1.0,
        "new": 1.0,
        "gone": 1.0,
    }
