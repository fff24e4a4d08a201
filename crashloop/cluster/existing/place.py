"""The namespace that a run works in: made or borrowed, kept alive, and left as it was.

Theory of operation. A run holds a Lease in its namespace, labelled with its name like all that it makes, and renews it.
A lease that has not been renewed for long is that of a run which was killed: the next start removes what it left, its
whole namespace where it had made one. In a borrowed namespace only one run works at a time, for pods bear the names of
their scenarios.
"""

import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiRefusal, KubeError
from crashloop.kube.leases import create_lease, delete_lease, leases, renew_lease
from crashloop.kube.manifests import RUN_LABEL

PREFIX = "crashloop-"
RENEW_S = 20.0
LASTS_S = 300
"""A lease that was not renewed for so long is an orphan's. Longer than any outage that a run survives."""

_LEASED = "crashloop.dev/leased"
"""Marks a namespace whose run holds a lease in it; others with our run label are none of our business."""
_RESTRICTED = {
    "pod-security.kubernetes.io/enforce": "restricted",
    "pod-security.kubernetes.io/warn": "restricted",
}

log = logging.getLogger(__name__)


class Place:
    """A namespace with our lease in it."""

    def __init__(self, api: KubeApi, namespace: str, run: str, *, is_ours: bool) -> None:
        self.namespace = namespace
        self._api = api
        self._run = run
        self._is_ours = is_ours
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def hold(self) -> None:
        """Take the lease, and renew it from now on."""
        create_lease(self._api, self.namespace, self._run, labels={RUN_LABEL: self._run}, lasts_s=LASTS_S)
        self._thread.start()

    def leave(self) -> None:
        """Remove what the run has made: its namespace, or its pods and its lease. Safe to call twice."""
        self._left.set()
        if self._is_ours:
            remove_namespace(self._api, self.namespace)
        else:
            remove_run(self._api, self.namespace, self._run)

    def _renew(self) -> None:
        while not self._left.wait(RENEW_S):
            try:
                renew_lease(self._api, self.namespace, self._run)
            except KubeError as error:
                log.warning("namespace %s: the lease is not renewed: %s", self.namespace, error)


def make(api: KubeApi, run: str) -> Place:
    """A namespace of our own, in which only pods of the Pod Security Standard "restricted" are let in."""
    remove_orphans(api, now=datetime.now(UTC))
    name = api.create_namespace(prefix=PREFIX, labels={RUN_LABEL: run, _LEASED: "true", **_RESTRICTED})
    place = Place(api, name, run, is_ours=True)
    try:
        place.hold()
        api.wait_for_default_service_account(name)
    except BaseException:
        place.leave()
        raise
    return place


def borrow(api: KubeApi, namespace: str, run: str) -> Place:
    """A namespace that exists. Raises UsageError if another run works in it, or if it is not there."""
    for lease in leases(api, namespace, label_selector=RUN_LABEL):
        if not _is_orphaned(lease.renewed, datetime.now(UTC)):
            raise UsageError(
                f"namespace {namespace}: run {lease.holder} works in it "
                f"(its lease was renewed at {lease.renewed:%H:%M:%S} UTC).\n"
                f"Wait until it has ended (for one that was killed: {LASTS_S} s), or name another namespace."
            )
        log.info("namespace %s: run %s was killed; what it left is removed", namespace, lease.holder)
        remove_run(api, namespace, lease.holder)
    place = Place(api, namespace, run, is_ours=False)
    try:
        place.hold()
    except ApiRefusal as error:
        if error.code != 404:
            raise
        raise UsageError(f"namespace {namespace}: the cluster has none of that name.") from error
    except BaseException:
        place.leave()
        raise
    return place


def remove_orphans(api: KubeApi, *, now: datetime) -> tuple[str, ...]:
    """Remove the namespaces that runs which were killed have left; their names."""
    orphans = tuple(_orphaned_namespaces(api, now))
    for name in orphans:
        log.info("namespace %s is what a run that was killed has left; it is removed", name)
        remove_namespace(api, name)
    return orphans


def remove_namespace(api: KubeApi, name: str) -> None:
    """With all that is in it; one that is gone or going is no error."""
    try:
        api.delete_namespace(name)
    except ApiRefusal as error:
        if error.code not in (404, 409):
            raise


def remove_run(api: KubeApi, namespace: str, run: str) -> None:
    """The pods of a run, and its lease last."""
    for name in _pods_of(api, namespace, run):
        api.delete_pod(namespace, name, grace_s=0)
    delete_lease(api, namespace, run)


class _Metadata(msgspec.Struct):
    name: str


class _Pod(msgspec.Struct):
    metadata: _Metadata


class _Pods(msgspec.Struct):
    items: tuple[_Pod, ...] = ()


def _pods_of(api: KubeApi, namespace: str, run: str) -> list[str]:
    found = msgspec.json.decode(api.list_pods(namespace, label_selector=f"{RUN_LABEL}={run}"), type=_Pods)
    return [pod.metadata.name for pod in found.items]


def _orphaned_namespaces(api: KubeApi, now: datetime) -> Iterator[str]:
    """Namespaces of runs that were killed; those that others make at this moment may still be without a lease."""
    found = api.call("list namespaces", "GET", "/api/v1/namespaces", query={"labelSelector": _LEASED})
    for each in found["items"]:
        meta = each["metadata"]
        signs = [lease.renewed for lease in leases(api, meta["name"], label_selector=RUN_LABEL)]
        made = datetime.fromisoformat(meta["creationTimestamp"])
        going = "deletionTimestamp" in meta
        # The prefix as well: a label can be put on any namespace, and removal is for good.
        if meta["name"].startswith(PREFIX) and not going and _is_orphaned(max((*signs, made)), now):
            yield meta["name"]


def _is_orphaned(renewed: datetime, now: datetime) -> bool:
    return now - renewed > timedelta(seconds=LASTS_S)
