"""Leases (coordination.k8s.io): the sign of life of a run in its namespace. Times are UTC by whoever renews."""

from datetime import UTC, datetime

import msgspec

from crashloop.kube.client import Json, KubeApi
from crashloop.kube.errors import ApiRefusal

_API = "coordination.k8s.io/v1"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A lease as it was read."""

    name: str
    holder: str
    renewed: datetime


def create_lease(api: KubeApi, namespace: str, name: str, *, labels: dict[str, str], lasts_s: int) -> None:
    """Take a lease that lasts so long after each renewal."""
    now = _now()
    body = {
        "apiVersion": _API,
        "kind": "Lease",
        "metadata": {"name": name, "labels": labels},
        "spec": {"holderIdentity": name, "acquireTime": now, "renewTime": now, "leaseDurationSeconds": lasts_s},
    }
    api.call(f"create lease {name}", "POST", _path(namespace), body=body)


def renew_lease(api: KubeApi, namespace: str, name: str) -> None:
    api.call(
        f"renew lease {name}",
        "PATCH",
        _path(namespace, name),
        body={"spec": {"renewTime": _now()}},
        content_type="application/merge-patch+json",
    )


def leases(api: KubeApi, namespace: str, *, label_selector: str) -> tuple[Lease, ...]:
    """The leases of a namespace that carry a label."""
    found = api.call("list leases", "GET", _path(namespace), query={"labelSelector": label_selector})
    return tuple(_read(each) for each in found["items"])


def delete_lease(api: KubeApi, namespace: str, name: str) -> None:
    """One that is gone already is no error."""
    try:
        api.call(f"delete lease {name}", "DELETE", _path(namespace, name))
    except ApiRefusal as error:
        if error.code != 404:
            raise


def _read(lease: Json) -> Lease:
    spec, meta = lease.get("spec") or {}, lease["metadata"]
    renewed = spec.get("renewTime") or meta["creationTimestamp"]
    return Lease(name=meta["name"], holder=spec.get("holderIdentity", ""), renewed=datetime.fromisoformat(renewed))


def _path(namespace: str, name: str | None = None) -> str:
    return f"/apis/{_API}/namespaces/{namespace}/leases" + (f"/{name}" if name else "")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
