"""Permissions that `crashloop run` and `crashloop observe` need on an existing cluster. manifests/rbac grants exactly these."""

from collections.abc import Iterable

from crashloop.kube.access import Permission


def _in_namespace(resource: str, *verbs: str, group: str = "") -> tuple[Permission, ...]:
    return tuple(Permission(verb=verb, resource=resource, group=group) for verb in verbs)


def _in_cluster(resource: str, *verbs: str) -> tuple[Permission, ...]:
    return tuple(Permission(verb=verb, resource=resource, namespaced=False) for verb in verbs)


IN_NAMESPACE: tuple[Permission, ...] = (
    *_in_namespace("pods", "create", "delete", "get", "list", "patch", "watch"),
    *_in_namespace("pods/log", "get"),
    *_in_namespace("pods/resize", "patch"),
    *_in_namespace("pods/ephemeralcontainers", "patch"),
    *_in_namespace("events", "list", "watch"),
    *_in_namespace("resourcequotas", "list"),
    *_in_namespace("leases", "create", "delete", "list", "patch", group="coordination.k8s.io"),
)
"""In the namespace where the pods run."""

ON_NODES: tuple[Permission, ...] = _in_cluster("nodes", "get", "list")

NODE_EVENTS: tuple[Permission, ...] = (Permission(verb="list", resource="events", namespace="default"),)
"""The Kubernetes Event of a kubelet's start shows a restart of the kubelet; events of nodes go to this namespace.

Without it a restart too quick for the Node object would look like a container that was restarted early.
"""

OWN_NAMESPACE: tuple[Permission, ...] = (
    *_in_cluster("namespaces", "create", "delete", "list"),
    *_in_namespace("serviceaccounts", "get"),
)
"""Without --namespace. The namespace's name is not known beforehand, so its permissions are needed cluster-wide."""

LOADS: dict[str, tuple[Permission, ...]] = {
    "Pod": _in_namespace("pods", "deletecollection"),
    "Job": _in_namespace("jobs", "create", "delete", "deletecollection", "list", group="batch"),
    "Service": (
        *_in_namespace("services", "create", "delete", "deletecollection", "list"),
        *_in_namespace("endpointslices", "list", group="discovery.k8s.io"),
    ),
    "Deployment": _in_namespace("deployments", "create", "delete", "deletecollection", "list", "patch", group="apps"),
}
"""What `crashloop stress` needs besides, by the kinds of object that its loads make.

manifests/rbac/stress.yaml grants those for pods and Jobs: the others need a namespace of the run's own.
"""

OBSERVE: tuple[Permission, ...] = (*_in_namespace("pods", "list", "watch"), *_in_cluster("nodes", "list"))
"""Permissions of `crashloop observe`: read-only."""
OBSERVE_MANIFEST = "manifests/rbac/observe.yaml"

MANIFESTS = {True: "manifests/rbac/existing-namespace.yaml", False: "manifests/rbac/existing.yaml"}
"""The manifest with the permissions, by whether a namespace was given."""


STRESS_MANIFEST = "manifests/rbac/stress.yaml"


def needed(namespace: str | None, loads: Iterable[str] = ()) -> tuple[Permission, ...]:
    """The permissions of a run, in the given namespace or in a new one; `loads` are kinds of object of a stress run."""
    of_loads = (each for kind in loads for each in LOADS[kind])
    return (*IN_NAMESPACE, *ON_NODES, *NODE_EVENTS, *(OWN_NAMESPACE if namespace is None else ()), *of_loads)
