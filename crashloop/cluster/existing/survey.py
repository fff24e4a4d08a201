"""What an existing cluster lets a run use: the connection, its permissions, the namespace's quota, and the nodes.

manifests/rbac grants exactly the permissions that are listed here. What fails is explained to the kubeconfig's owner.
"""

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec

from crashloop.cluster.provider import Capability, ExistingOptions, Survey, SurveyedNode
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.kube.access import Permission, missing_permissions
from crashloop.kube.answers import ApiRefusal, ApiUnreachable
from crashloop.kube.client import KubeApi
from crashloop.kube.kubelet import ConfigzReader, ConfigzRefused
from crashloop.kube.objects import kubelet_version, node_cores
from crashloop.pods.manifest import HOSTNAME_LABEL
from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import Json


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


def needed_permissions(namespace: str | None, loads: Iterable[str] = ()) -> tuple[Permission, ...]:
    """The permissions of a run, in the given namespace or in a new one; `loads` are kinds of object of a stress run."""
    of_loads = (each for kind in loads for each in LOADS[kind])
    return (*IN_NAMESPACE, *ON_NODES, *NODE_EVENTS, *(OWN_NAMESPACE if namespace is None else ()), *of_loads)


def connect(kubeconfig: str, context: str | None) -> tuple[KubeApi, str]:
    """A connection, and the API server's version.

    Raises UsageError for an unusable kubeconfig or credentials, PrerequisiteError if the API server does not answer.
    """
    api = KubeApi(kubeconfig, context=context)
    try:
        return api, api.version()
    except ApiUnreachable as error:
        raise PrerequisiteError(
            f"kubeconfig {api.kubeconfig}: the API server at {api.server} does not answer.\n{error}\n"
            "Check that the cluster is up and reachable from here, and that its certificate matches the kubeconfig."
        ) from error


def require_permissions(api: KubeApi, options: ExistingOptions, loads: Iterable[str] = ()) -> None:
    """Raise UsageError naming every verb and resource that a run needs and the credentials lack.

    `loads` are the kinds of object that a stress run makes.
    """
    manifests = MANIFESTS[options.namespace is not None] + (f" and {STRESS_MANIFEST}" if loads else "")
    where = f"in namespace {options.namespace}" if options.namespace else "in a namespace of its own"
    narrower = f"\nOr name a namespace with --namespace, which needs the far fewer permissions of {MANIFESTS[True]}."
    require_permitted(
        api,
        needed_permissions(options.namespace, loads),
        options.namespace,
        subject=f"kubeconfig {options.kubeconfig}: its user lacks permissions for a run {where}.",
        remedy=f"Apply {manifests} with sufficient permissions." + ("" if options.namespace else narrower),
    )


def require_permitted(
    api: KubeApi, permissions: Iterable[Permission], namespace: str | None, *, subject: str, remedy: str
) -> None:
    """Raise UsageError that lists every missing permission, and the remedy."""
    missing = missing_permissions(api, permissions, namespace)
    if missing:
        forbidden = ", ".join(str(each) for each in missing)
        raise UsageError(f"{subject}\nForbidden: {forbidden}.\n{remedy}")


LEAST_PODS = 2
"""A heartbeat and a scenario."""

_POD_COUNTS = ("pods", "count/pods")


def pods_in_quota(api: KubeApi, options: ExistingOptions) -> int | None:
    """The pods that the quota of the given namespace still admits; None without one.

    Raises UsageError if that, or `max_pods`, is too low for any run.
    """
    if options.max_pods < LEAST_PODS:
        raise UsageError(
            f"--max-pods {options.max_pods}: a run needs {LEAST_PODS} pods at least: a heartbeat and a scenario."
        )
    if options.namespace is None:
        return None
    path = f"/api/v1/namespaces/{options.namespace}/resourcequotas"
    free = dict(_free_in_quotas(api.call("list the quotas", "GET", path)["items"]))
    tightest = min(free, key=lambda name: free[name], default=None)
    if tightest is not None and free[tightest] < LEAST_PODS:
        raise UsageError(
            f"namespace {options.namespace}: its ResourceQuota {tightest} admits {free[tightest]} more pods; "
            f"a run needs {LEAST_PODS} at least.\nRemove pods from the namespace, or have the quota raised."
        )
    return min(free.values(), default=None)


def _free_in_quotas(quotas: list[Json]) -> Iterator[tuple[str, int]]:
    for quota in quotas:
        status = quota.get("status", {})
        for key in _POD_COUNTS:
            if key in status.get("hard", {}):
                hard, used = status["hard"][key], status.get("used", {}).get(key, "0")
                yield quota["metadata"]["name"], max(int(hard) - int(used), 0)


ALWAYS = frozenset({Capability.NODES_CHANGE})
"""The nodes in use change with the scenarios that need them; every node in use has its heartbeat pod."""
DEFAULT_PROFILE = "stock"
BAD_REQUEST = 400
AT_ONCE = 8
"""Kubelets whose configuration is read concurrently."""
_REPELS = ("NoSchedule", "NoExecute")

PROXY_RISK = (
    "nodes/configz is enough for kubelets since 1.33 that can be reached and whose certificates the cluster has signed "
    "(manifests/rbac/configz.yaml).\n"
    "nodes/proxy works everywhere, but also permits running commands in every container of the node "
    "(manifests/rbac/configz-through-proxy.yaml).\n"
    "Or leave --read-configz out, and declare what the nodes have with --node-profile NODE=PROFILE."
)

log = logging.getLogger(__name__)


def survey(options: ExistingOptions, loads: Iterable[str] = ()) -> Survey:
    """The cluster as it is now; `loads` are the kinds of object that a stress run makes.

    Raises UsageError and PrerequisiteError as `connect` does, and for missing permissions, too low a quota, and unknown or
    unusable nodes.
    """
    api, version = connect(options.kubeconfig, options.context)
    try:
        require_permissions(api, options, tuple(loads))
        objects = _selected_nodes(api, options.node_selector)
        _require_known_nodes(options, objects)
        nodes = tuple(_surveyed_node(each, options) for each in sorted(objects, key=_node_name))
        if options.read_configz:
            nodes = _with_configz(api, {_node_name(each): each for each in objects}, nodes)
        quota = pods_in_quota(api, options)
    finally:
        api.close()
    if all(node.unusable is not None for node in nodes):
        reasons = "\n".join(f"node {node.name}: {node.unusable}." for node in nodes)
        raise PrerequisiteError(f"cluster at {api.server}: none of its nodes can be used.\n{reasons}".rstrip())
    return Survey(
        kubernetes_version=str(KubernetesVersion.parse(version)),
        nodes=nodes,
        max_pods=options.max_pods if quota is None else min(options.max_pods, quota),
        quota=quota,
        capabilities=capabilities(options),
    )


def capabilities(options: ExistingOptions) -> frozenset[Capability]:
    """Capabilities that need no access to nodes."""
    return ALWAYS | ({Capability.CONFIGZ} if options.read_configz else frozenset())


def why_unusable(node: Json, *, declared: bool = False) -> str | None:
    """Why a node cannot be used, in a few words. A node that was declared by name is used despite its taints."""
    conditions = {each["type"]: each for each in node["status"].get("conditions", ())}
    ready = conditions.get("Ready", {})
    if ready.get("status") != "True":
        return f"not Ready ({ready.get('reason', 'its kubelet reported no reason')})"
    labels = node["metadata"].get("labels", {})
    if labels.get("kubernetes.io/os", "linux") != "linux":
        return f"runs {labels['kubernetes.io/os']}, not linux"
    if node["spec"].get("unschedulable"):
        return "cordoned"
    taints = [each["key"] for each in node["spec"].get("taints", ()) if each["effect"] in _REPELS]
    return f"tainted ({', '.join(taints)})" if taints and not declared else None


def _selected_nodes(api: KubeApi, selector: str) -> list[Json]:
    """The nodes with the labels of --node-selector. Raises UsageError for a selector that is not valid, or that no node has."""
    try:
        found = api.nodes(label_selector=selector)
    except ApiRefusal as error:
        if error.code != BAD_REQUEST or not selector:
            raise
        raise UsageError(f"--node-selector {selector!r}: {error}") from error
    if not found and selector:
        raise UsageError(f"--node-selector {selector!r}: no node of the cluster has these labels.")
    return found


def _surveyed_node(node: Json, options: ExistingOptions) -> SurveyedNode:
    declared = options.node_profiles.get(_node_name(node))
    unusable = why_unusable(node, declared=declared is not None)
    if declared is None and not options.node_profiles and not options.read_configz:
        declared = DEFAULT_PROFILE
    return SurveyedNode(
        name=_node_name(node),
        kubelet_version=str(kubelet_version(node)),
        declared=declared,
        cores=int(node_cores(node) or 0) or None,
        hostname=node["metadata"].get("labels", {}).get(HOSTNAME_LABEL),
        unusable=unusable,
    )


def _with_configz(api: KubeApi, found: dict[str, Json], nodes: tuple[SurveyedNode, ...]) -> tuple[SurveyedNode, ...]:
    """The nodes with their kubelets' configuration; a node without one cannot be used. Raises UsageError if all lack it."""
    usable = [node.name for node in nodes if node.unusable is None]
    kubelets = ConfigzReader(api)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="configz") as pool:
        answers = dict(zip(usable, pool.map(lambda name: _configz_answer(kubelets, found[name]), usable), strict=True))
    silent = {name: answer for name, answer in answers.items() if isinstance(answer, ConfigzRefused)}
    if silent and len(silent) == len(answers):
        error = next(iter(silent.values()))
        raise UsageError(f"--read-configz: {error}\n{PROXY_RISK}") from error
    for error in silent.values():
        log.warning("%s", error)
    return tuple(_with_configz_answer(node, answers.get(node.name)) for node in nodes)


def _configz_answer(kubelets: ConfigzReader, node: Json) -> Json | ConfigzRefused:
    try:
        return kubelets.config(node)
    except ConfigzRefused as error:
        return error


def _with_configz_answer(node: SurveyedNode, answer: Json | ConfigzRefused | None) -> SurveyedNode:
    if isinstance(answer, ConfigzRefused):
        return msgspec.structs.replace(node, unusable="its kubelet's configuration cannot be read")
    return node if answer is None else msgspec.structs.replace(node, configz=answer)


def _require_known_nodes(options: ExistingOptions, nodes: list[Json]) -> None:
    known = sorted(map(_node_name, nodes))
    labelled = " with the labels of --node-selector" if options.node_selector else ""
    for name in options.node_profiles:
        if name not in known:
            raise UsageError(
                f"--node-profile {name}=...: the cluster has no node {name!r}{labelled}; its nodes{labelled}: {', '.join(known)}."
            )


def _node_name(node: Json) -> str:
    name: str = node["metadata"]["name"]
    return name
