"""Counts a load's objects in the cluster, and removes them with everything they own."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from crashloop.kube.client import KubeApi
from crashloop.kube.errors import CredentialsRefused, KubeError
from crashloop.stress.loads import AnyLoad, Demand, Jobs, Rollout
from crashloop.waiting import WaitTimeout, wait_until

_COLLECTIONS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
}
"""By kind, owners of pods first."""
_MADE = {Jobs: "Job", Rollout: "Deployment"}
"""By the kind of load; all others make pods."""
ASK_EVERY_S = 2.0
"""An owner may have made a pod during its own removal, so the removal is requested again."""
REFUSALS = 5
"""So many in a row, and the credentials are not accepted any more."""


class Objects(msgspec.Struct, frozen=True):
    """Number of objects by kind."""

    count: Mapping[str, int]

    def __bool__(self) -> bool:
        return any(self.count.values())

    def __str__(self) -> str:
        """Such as `1 Job and 3 Pods`."""
        words = [f"{number} {kind}{'s' * (number != 1)}" for kind, number in self.count.items() if number]
        return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class Cleared(msgspec.Struct, frozen=True):
    """The result of clearing a namespace of a load."""

    found: Objects
    """Objects at the first look."""
    still: Objects
    """Objects at the last look: none, unless the time was up."""


def kinds_of(loads: Collection[AnyLoad]) -> tuple[str, ...]:
    """The kinds of object that loads make, owners of pods first."""
    made = {_MADE.get(type(load), "Pod") for load in loads} | {"Pod"}
    made |= {"Service" for load in loads if isinstance(load, Demand) and load.service is not None}
    return tuple(kind for kind in _COLLECTIONS if kind in made)


def objects_left(api: KubeApi, namespace: str, selector: str, kinds: Iterable[str] = _COLLECTIONS) -> Objects:
    """The objects of these kinds with these labels. Raises KubeError."""
    query = {"labelSelector": selector}
    return Objects(
        {
            kind: len(
                api.call(f"list {kind}s ({selector})", "GET", _COLLECTIONS[kind].format(namespace), query=query)[
                    "items"
                ]
            )
            for kind in kinds
        }
    )


def remove_objects(api: KubeApi, namespace: str, selector: str, kinds: Iterable[str] = _COLLECTIONS) -> None:
    """Request the removal of all objects of these kinds with these labels. Raises KubeError."""
    query = {"labelSelector": selector, "propagationPolicy": "Background"}
    for kind in kinds:
        path = _COLLECTIONS[kind].format(namespace)
        api.call(f"delete the remains of a load ({selector})", "DELETE", path, query=query)


def removal(namespace: str, selector: str, kinds: Iterable[str]) -> str:
    """The command that removes what is left of these kinds with these labels."""
    resources = ",".join(_COLLECTIONS[kind].rpartition("/")[2] for kind in kinds)
    return f"kubectl delete {resources} --namespace {namespace} --selector {selector}"


def clear(
    api: KubeApi, namespace: str, selector: str, kinds: Sequence[str] = tuple(_COLLECTIONS), *, within_s: float
) -> Cleared:
    """Remove all objects of these kinds with these labels and wait until they are gone; retries while the API server is away.

    Raises KubeError if the API server is still away at the end of that time, and soon if it refuses the credentials.
    """
    looks: list[Objects] = []
    away: list[KubeError] = []

    def gone() -> bool:
        try:
            looks.append(objects_left(api, namespace, selector, kinds))
            if looks[-1]:
                remove_objects(api, namespace, selector, kinds)
        except KubeError as error:
            away.append(error)
            if len(away) >= REFUSALS and all(isinstance(each, CredentialsRefused) for each in away[-REFUSALS:]):
                raise
            return False
        away.clear()
        return not looks[-1]

    try:
        wait_until("the remains of a load to be gone", gone, timeout_s=within_s, every_s=ASK_EVERY_S)
    except WaitTimeout:
        if away:
            raise away[-1] from None
    return Cleared(looks[0], looks[-1])


def remove_namespace(api: KubeApi, name: str, *, within_s: float) -> None:
    """Delete a namespace and wait until it is gone. Raises KubeError, WaitTimeout."""
    api.delete_namespace(name)
    wait_until(
        f"namespace {name} to be gone",
        lambda: not api.exists(f"read namespace {name}", f"/api/v1/namespaces/{name}"),
        timeout_s=within_s,
        every_s=0.5,
    )
