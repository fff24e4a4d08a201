"""Permissions of the credentials in use, checked before any other request.

The API server answers every authenticated user about itself (SelfSubjectAccessReview; the role system:basic-user).
"""

from collections.abc import Iterable

import msgspec

from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiRefusal, CredentialsRefused

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Permission(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One verb on one resource, in the spelling of RBAC."""

    verb: str
    resource: str
    """Plural, with its subresource: `pods/log`."""
    group: str = ""
    namespaced: bool = True
    namespace: str | None = None
    """The fixed namespace where it is needed; None: the working namespace."""

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "") + where


def missing_permissions(api: KubeApi, wanted: Iterable[Permission], namespace: str | None) -> tuple[Permission, ...]:
    """The permissions that are not granted: in the namespace, or for None in all namespaces.

    An API server that refuses such reviews (403) leaves this open: then none counts as missing.
    Raises CredentialsRefused if it does not know the user.
    """
    try:
        return tuple(each for each in wanted if not _allowed(api, each, namespace))
    except ApiRefusal as error:
        if error.code != 403 or isinstance(error, CredentialsRefused):
            raise
        return ()


def _allowed(api: KubeApi, permission: Permission, namespace: str | None) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    attributes = {"verb": permission.verb, "group": permission.group, "resource": resource, "subresource": subresource}
    where = permission.namespace or namespace
    if permission.namespaced and where is not None:
        attributes["namespace"] = where
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = api.call(f"review the permission to {permission}", "POST", _REVIEWS, body=body)
    return bool(answer["status"].get("allowed"))
