"""Which nodes of an existing cluster can be used, which quota is left, and which permissions the manifests grant."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from crashloop.cluster.existing.survey import (
    IN_NAMESPACE,
    LOADS,
    MANIFESTS,
    NODE_EVENTS,
    OBSERVE,
    OBSERVE_MANIFEST,
    ON_NODES,
    OWN_NAMESPACE,
    STRESS_MANIFEST,
    why_unusable,
)
from crashloop.kube.access import Permission

ROOT = Path(__file__).parents[4]


def node(*, ready: str | None = "True", reason: str = "KubeletReady", os: str = "linux", **spec: Any) -> dict[str, Any]:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "reason": reason}]
    return {
        "metadata": {"name": "worker", "labels": {"kubernetes.io/os": os}},
        "spec": spec,
        "status": {"conditions": conditions},
    }


def taint(key: str, effect: str) -> dict[str, Any]:
    return {"taints": [{"key": key, "effect": effect}]}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (node(), None),
        (node(ready="False", reason="KubeletNotReady"), "not Ready (KubeletNotReady)"),
        (node(ready="Unknown", reason="NodeStatusUnknown"), "not Ready (NodeStatusUnknown)"),
        (node(ready=None), "not Ready (its kubelet reported no reason)"),
        (node(unschedulable=True), "cordoned"),
        (node(os="windows"), "runs windows, not linux"),
        (node(**taint("dedicated", "NoSchedule")), "tainted (dedicated)"),
        (node(**taint("dedicated", "PreferNoSchedule")), None),
    ],
    ids=["ready", "not-ready", "lost", "new", "cordoned", "windows", "tainted", "softly-tainted"],
)
def test_a_node_is_used_only_if_it_is_ready_for_pods(found: dict[str, Any], why: str | None) -> None:
    assert why_unusable(found) == why


def test_a_node_that_was_declared_is_used_despite_its_taints_only() -> None:
    assert why_unusable(node(**taint("dedicated", "NoExecute")), declared=True) is None
    assert why_unusable(node(unschedulable=True), declared=True) == "cordoned"


def granted(manifest: str) -> dict[str, set[Permission]]:
    """Permissions by the namespace of the role, empty for roles of the cluster."""
    found: dict[str, set[Permission]] = {}
    for each in yaml.safe_load_all((ROOT / manifest).read_text()):
        for rule in each.get("rules", ()):
            permissions = {
                Permission(verb=verb, resource=resource, group=group)
                for group in rule.get("apiGroups", ())
                for resource in rule.get("resources", ())
                for verb in rule["verbs"]
            }
            found.setdefault(each["metadata"].get("namespace", ""), set()).update(permissions)
    return found


def plain(permissions: tuple[Permission, ...]) -> set[Permission]:
    return {Permission(verb=each.verb, resource=each.resource, group=each.group) for each in permissions}


def test_the_manifest_for_one_namespace_grants_just_what_is_needed_there_to_see_nodes_and_their_events() -> None:
    expected = {"crashloop": plain(IN_NAMESPACE), "": plain(ON_NODES), "default": plain(NODE_EVENTS)}
    assert granted(MANIFESTS[True]) == expected


def test_the_manifest_for_own_namespaces_grants_just_what_is_needed() -> None:
    everywhere = plain((*IN_NAMESPACE, *ON_NODES, *OWN_NAMESPACE))
    assert granted(MANIFESTS[False]) == {"": everywhere, "default": plain(NODE_EVENTS)}


def test_the_manifest_to_observe_grants_to_look_and_nothing_that_is_not_used() -> None:
    assert granted(OBSERVE_MANIFEST) == {"": plain(OBSERVE)}
    assert {str(each) for each in OBSERVE} == {"list pods", "watch pods", "list nodes"}


def test_the_manifest_for_stress_grants_pods_and_jobs_of_loads_and_metrics() -> None:
    of_loads = plain((*LOADS["Pod"], *LOADS["Job"]))
    metrics = {Permission(verb="get", resource="nodes/proxy")}
    assert granted(STRESS_MANIFEST) == {"crashloop": of_loads, "": metrics}


@pytest.mark.parametrize(
    ("manifest", "permissions"),
    [
        ("configz", {("get", "nodes/configz")}),
        ("configz-through-proxy", {("get", "nodes/proxy")}),
    ],
)
def test_each_other_manifest_grants_one_thing(manifest: str, permissions: set[tuple[str, str]]) -> None:
    expected = {Permission(verb=verb, resource=resource) for verb, resource in permissions}
    assert granted(f"manifests/rbac/{manifest}.yaml") == {"": expected}


@pytest.mark.parametrize("document", ["manifests/rbac/existing.yaml", "docs/providers.md"])
def test_what_amounts_to_cluster_admin_says_so_and_names_the_narrower_way(document: str) -> None:
    text = (ROOT / document).read_text()
    assert "is equivalent to cluster-admin" in text
    assert "existing-namespace.yaml" in text
