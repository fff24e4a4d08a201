"""What a run on an existing cluster, and a look at one, ask of the API server, as data. manifests/rbac grants exactly this."""

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
    *_in_namespace("resourcequotas", "list"),
    *_in_namespace("leases", "create", "delete", "list", "patch", group="coordination.k8s.io"),
)
"""In the namespace where the pods run."""

ON_NODES: tuple[Permission, ...] = _in_cluster("nodes", "get", "list")

NODE_EVENTS: tuple[Permission, ...] = (Permission(verb="list", resource="events", namespace="default"),)
"""By the Kubernetes Event of a kubelet's start it is seen that one was restarted. They are where nodes' events go.

Without them a restart too quick for the Node object would be taken for a kubelet that is early.
"""

OWN_NAMESPACE: tuple[Permission, ...] = (
    *_in_cluster("namespaces", "create", "delete", "list"),
    *_in_namespace("serviceaccounts", "get"),
)
"""Without --namespace. What is needed in a namespace is then needed in all of them: its name is not known before."""

OBSERVE: tuple[Permission, ...] = (*_in_namespace("pods", "list", "watch"), *_in_cluster("nodes", "list"))
"""What `crashloop observe` asks for: to look."""
OBSERVE_MANIFEST = "manifests/rbac/observe.yaml"

MANIFESTS = {True: "manifests/rbac/existing-namespace.yaml", False: "manifests/rbac/existing.yaml"}
"""The manifest that grants what is needed, by whether a namespace was given."""


def needed(namespace: str | None) -> tuple[Permission, ...]:
    """Everything that a run needs, in the given namespace or in one of its own."""
    return (*IN_NAMESPACE, *ON_NODES, *NODE_EVENTS, *(OWN_NAMESPACE if namespace is None else ()))
