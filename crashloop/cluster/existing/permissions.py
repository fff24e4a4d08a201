"""Permissions that `crashloop run` and `crashloop observe` need on an existing cluster. manifests/rbac grants exactly these."""

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

OBSERVE: tuple[Permission, ...] = (*_in_namespace("pods", "list", "watch"), *_in_cluster("nodes", "list"))
"""Permissions of `crashloop observe`: read-only."""
OBSERVE_MANIFEST = "manifests/rbac/observe.yaml"

MANIFESTS = {True: "manifests/rbac/existing-namespace.yaml", False: "manifests/rbac/existing.yaml"}
"""The manifest with the permissions, by whether a namespace was given."""


def needed(namespace: str | None) -> tuple[Permission, ...]:
    """The permissions of a run, in the given namespace or in a new one."""
    return (*IN_NAMESPACE, *ON_NODES, *NODE_EVENTS, *(OWN_NAMESPACE if namespace is None else ()))
