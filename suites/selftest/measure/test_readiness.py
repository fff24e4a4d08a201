"""Nodes are Ready by their condition, and one that is gone is not."""

from typing import Any, cast

import pytest

from crashloop.kube.answers import ApiRefusal
from crashloop.kube.client import KubeApi
from crashloop.measure.measuring import NAMED_AT_MOST, readiness

FOUND = {"good": 0.0, "silent": 1.0, "new": 1.0, "gone": 1.0}


class _Nodes:
    """An API of which only the nodes are read, together or by name."""

    def __init__(self, refused: int = 404) -> None:
        self.refused = refused
        self.asked: list[str] = []

    def nodes(self) -> list[dict[str, Any]]:
        self.asked.append("all")
        return [
            _node("good", {"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}),
            _node("silent", {"type": "Ready", "status": "Unknown"}),
            _node("new"),
            _node("not-ours", {"type": "Ready", "status": "True"}),
        ]

    def node(self, name: str) -> dict[str, Any]:
        for each in self.nodes():
            if each["metadata"]["name"] == name:
                self.asked[-1] = name
                return each
        raise ApiRefusal("no such node", self.refused, "NotFound", "", ())


def _node(name: str, *conditions: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": list(conditions)} if conditions else {}}


def ready(api: _Nodes, names: tuple[str, ...]) -> dict[str, float]:
    return {series.labels["node"]: value for _, series, value in readiness(cast(KubeApi, api), names)}


def test_every_node_of_the_run_is_ready_or_not() -> None:
    assert ready(_Nodes(), tuple(FOUND)) == FOUND


def test_few_nodes_are_read_by_name_and_many_by_one_list() -> None:
    few, many = _Nodes(), _Nodes()
    ready(few, ("good", "silent"))
    ready(many, tuple(f"node-{number}" for number in range(NAMED_AT_MOST + 1)))
    assert (few.asked, many.asked) == (["good", "silent"], ["all"])


def test_a_refusal_is_no_answer() -> None:
    with pytest.raises(ApiRefusal):
        ready(_Nodes(refused=403), ("gone",))
