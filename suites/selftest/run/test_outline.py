"""A plan in numbers: when each node is needed, and for how long."""

import msgspec

from crashloop.cluster.provider import Capability
from crashloop.run.planning import Declared, build_plan, outline, sentences
from crashloop.spec.plan import Budgets
from suites.conformance.scenarios import crashing

SETTINGS = {"provider": "local", "scope": "quick", "kubernetes_version": "1.37.1"}
TWO = (
    Declared("CAP-3", crashing("max-1s", restarts=12, run_s=0.0)),
    Declared("CAP-3", crashing("max-2s", restarts=10)),
)


def test_nodes_that_fit_are_up_at_once() -> None:
    plan = build_plan(TWO, SETTINGS, frozenset(Capability), Budgets())
    assert plan is not None
    found = outline(plan, frozenset(Capability))
    assert [(node.profile, node.scenarios, node.begin_s) for node in found.nodes] == [
        ("max-2s", 1, 0.0),
        ("max-1s", 1, 0.0),
    ]
    assert found.expected_s == max(node.end_s for node in found.nodes)
    assert next(sentences(found)) == (
        "2 verdicts on 1 requirement; 2 nodes, 26 container starts and 0 probes by a command, 0 scenarios without a node."
    )


def test_a_node_that_does_not_fit_follows_the_one_that_ends_first() -> None:
    plan = build_plan(TWO, SETTINGS, frozenset(Capability), Budgets())
    assert plan is not None
    first, second = outline(msgspec.structs.replace(plan, budgets=Budgets(live_nodes=1)), frozenset(Capability)).nodes
    assert second.begin_s == first.end_s + 10.0
