"""Connects to an existing cluster, or explains to the kubeconfig's owner why that failed."""

from collections.abc import Iterable

from crashloop.cluster.existing.permissions import MANIFESTS, STRESS_MANIFEST, needed
from crashloop.cluster.provider import ExistingOptions
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.kube.access import Permission, missing_permissions
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiUnreachable


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
    require(
        api,
        needed(options.namespace, loads),
        options.namespace,
        subject=f"kubeconfig {options.kubeconfig}: its user lacks permissions for a run {where}.",
        remedy=f"Apply {manifests} with sufficient permissions." + ("" if options.namespace else narrower),
    )


def require(
    api: KubeApi, permissions: Iterable[Permission], namespace: str | None, *, subject: str, remedy: str
) -> None:
    """Raise UsageError that lists every missing permission, and the remedy."""
    missing = missing_permissions(api, permissions, namespace)
    if missing:
        forbidden = ", ".join(str(each) for each in missing)
        raise UsageError(f"{subject}\nForbidden: {forbidden}.\n{remedy}")
