"""Permissions of the credentials in use, checked before any other request, and the Lease that shows that a run lives.

The API server answers every authenticated user about itself (SelfSubjectAccessReview; the role system:basic-user).

All times are by the API server's clock: holder and finder of a lease may run on different machines.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from crashloop.kube.answers import ApiRefusal, CredentialsRefused
from crashloop.kube.client import KubeApi
from crashloop.yaml_text import Json

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


NAME = "crashloop"

_API = "coordination.k8s.io/v1"
_MERGE_PATCH = "application/merge-patch+json"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A lease, as read."""

    holder: str
    renewed: datetime
    uid: str
    resource_version: str


def take_lease(api: KubeApi, namespace: str, holder: str, *, labels: dict[str, str], lasts_s: int) -> Lease:
    """Take the lease of a namespace, with its duration from each renewal. Raises ApiRefusal with code 409 if it is held."""
    now = _micro_time(api.now())
    body = {
        "apiVersion": _API,
        "kind": "Lease",
        "metadata": {"name": NAME, "labels": labels},
        "spec": {"holderIdentity": holder, "acquireTime": now, "renewTime": now, "leaseDurationSeconds": lasts_s},
    }
    return _read(api.call(f"take the lease of namespace {namespace}", "POST", _path(namespace), body=body))


def renew_lease(api: KubeApi, namespace: str, lease: Lease) -> None:
    """Raises ApiRefusal if another holder took it."""
    body = {"metadata": {"uid": lease.uid}, "spec": {"renewTime": _micro_time(api.now())}}
    doing = f"renew the lease of namespace {namespace}"
    api.call(doing, "PATCH", _path(namespace, NAME), body=body, content_type=_MERGE_PATCH)


def lease_of(api: KubeApi, namespace: str, *, label: str) -> Lease | None:
    """The lease of a namespace, if it carries a label; None if it is not held."""
    query = {"fieldSelector": f"metadata.name={NAME}", "labelSelector": label}
    found = api.call(f"look for the lease of namespace {namespace}", "GET", _path(namespace), query=query)
    return next((_read(each) for each in found["items"]), None)


def delete_lease(api: KubeApi, namespace: str, lease: Lease, *, even_renewed: bool) -> None:
    """A lease that is gone, was taken by another holder, or (if that matters) was renewed, stays."""
    seen = {"uid": lease.uid} | ({} if even_renewed else {"resourceVersion": lease.resource_version})
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": seen}
    try:
        api.call(f"delete the lease of namespace {namespace}", "DELETE", _path(namespace, NAME), body=body)
    except ApiRefusal as error:
        if error.code not in (404, 409):
            raise


def _read(lease: Json) -> Lease:
    spec, meta = lease.get("spec") or {}, lease["metadata"]
    return Lease(
        holder=spec.get("holderIdentity", ""),
        renewed=datetime.fromisoformat(spec.get("renewTime") or meta["creationTimestamp"]),
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
    )


def _path(namespace: str, name: str | None = None) -> str:
    return f"/apis/{_API}/namespaces/{namespace}/leases" + (f"/{name}" if name else "")


def _micro_time(moment: datetime) -> str:
    """As a MicroTime is spelt."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
