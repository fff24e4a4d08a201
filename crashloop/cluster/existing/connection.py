"""A connection to an existing cluster, or why there is none, in words for whoever has the kubeconfig."""

from collections.abc import Iterable

from crashloop.cluster.existing.permissions import MANIFESTS, needed
from crashloop.cluster.provider import ExistingOptions
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.kube.access import Permission, missing_permissions
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiRefusal, ApiUnreachable


def connect(kubeconfig: str, context: str | None) -> tuple[KubeApi, str]:
    """A connection, and the API server's version.

    Raises UsageError for a kubeconfig or credentials that are no good, PrerequisiteError if nobody answers.
    """
    api = KubeApi(kubeconfig, context=context)
    where = f"kubeconfig {kubeconfig}" + (f", context {context}" if context else "")
    try:
        return api, api.version()
    except ApiUnreachable as error:
        raise PrerequisiteError(
            f"{where}: the API server at {api.server} does not answer.\n{error}\n"
            "See that the cluster is up and can be reached from here, and that its certificate is the kubeconfig's."
        ) from error
    except ApiRefusal as error:
        if error.code != 401:
            raise
        raise UsageError(
            f"{where}: the API server does not accept the credentials (401 {error.reason}); they may have expired.\n"
            "Log in to the cluster again, or name another kubeconfig with --kubeconfig."
        ) from error


def require_permissions(api: KubeApi, options: ExistingOptions) -> None:
    """Raise UsageError naming every verb and resource that a run needs and the credentials lack."""
    where = f"in namespace {options.namespace}" if options.namespace else "in a namespace of its own"
    require(
        api,
        needed(options.namespace),
        options.namespace,
        subject=f"kubeconfig {options.kubeconfig}: its user may not do what a run {where} needs.",
        manifest=MANIFESTS[options.namespace is not None],
    )


def require(
    api: KubeApi, permissions: Iterable[Permission], namespace: str | None, *, subject: str, manifest: str
) -> None:
    """Raise UsageError naming every permission that the credentials lack, and the manifest that grants them."""
    missing = missing_permissions(api, permissions, namespace)
    if missing:
        forbidden = ", ".join(str(each) for each in missing)
        raise UsageError(f"{subject}\nForbidden: {forbidden}.\nApply {manifest} as somebody who may.")
