"""The namespace of a run: created or borrowed, kept by a lease, and left as it was.

Theory of operation. A run holds the Lease of its namespace and renews it; the lease is labelled with the run's name, as
is every object of the run. A lease that was not renewed for long belongs to a killed run: the next start removes that
run's objects, and its namespace if the run created it. Pods are named after their scenarios, so a borrowed namespace
serves one run at a time: the lease has a fixed name, and of two simultaneous requests for it one succeeds. Times are the
API server's, independent of the runs' own clocks.
"""

import logging
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from crashloop.errors import UsageError
from crashloop.kube.access import Lease, delete_lease, lease_of, renew_lease, take_lease
from crashloop.kube.answers import ApiRefusal, KubeError
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL

PREFIX = "crashloop-"
RENEW_S = 20.0
LASTS_S = 300
"""A lease that was not renewed for this long belongs to a killed run. Longer than any outage that a run survives."""

_LEASED = "crashloop.dev/leased"
"""Marks a namespace with a run's lease; other namespaces with the run label are left alone."""
_RESTRICTED = {
    "pod-security.kubernetes.io/enforce": "restricted",
    "pod-security.kubernetes.io/warn": "restricted",
}

log = logging.getLogger(__name__)


class LeasedNamespace:
    """A namespace that holds this run's lease."""

    def __init__(self, api: KubeApi, namespace: str, run: str, *, is_ours: bool) -> None:
        self.namespace = namespace
        self._api = api
        self._run = run
        self._is_ours = is_ours
        self._lease: Lease | None = None
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def hold(self) -> None:
        """Take the lease, and renew it from now on. Raises ApiRefusal with code 409 if another run holds it."""
        labels = {RUN_LABEL: self._run}
        self._lease = take_lease(self._api, self.namespace, self._run, labels=labels, lasts_s=LASTS_S)
        self._thread.start()

    def leave(self) -> None:
        """Remove the run's namespace, or its workloads and its lease. Safe to call twice."""
        self._left.set()
        try:
            if self._is_ours:
                remove_namespace(self._api, self.namespace)
            elif self._lease is not None:
                self._give_back(self._lease)
        except KubeError:
            log.warning(
                "namespace %s: the objects of this run stay behind; the next run there removes them, %d s from now.\n"
                "To remove them at once: %s",
                self.namespace,
                LASTS_S,
                self._removal(),
            )
            raise

    def _removal(self) -> str:
        """The command that does what `leave` does."""
        if self._is_ours:
            return f"kubectl delete namespace {self.namespace}"
        return f"kubectl delete pods,jobs,leases --namespace {self.namespace} --selector {RUN_LABEL}={self._run}"

    def _give_back(self, lease: Lease) -> None:
        """Remove workloads and lease, unless another run took the lease: then that run removed the workloads."""
        held = lease_of(self._api, self.namespace, label=RUN_LABEL)
        if held is None or held.uid == lease.uid:
            remove_workloads(self._api, self.namespace, self._run)
            delete_lease(self._api, self.namespace, lease, even_renewed=True)

    def _renew(self) -> None:
        assert self._lease is not None
        while not self._left.wait(RENEW_S):
            try:
                renew_lease(self._api, self.namespace, self._lease)
            except KubeError as error:
                log.warning("namespace %s: the lease is not renewed: %s", self.namespace, error)


def make(api: KubeApi, run: str) -> LeasedNamespace:
    """A new namespace that admits only pods of the Pod Security Standard "restricted"."""
    remove_orphans(api, now=api.now())
    name = api.create_namespace(prefix=PREFIX, labels={RUN_LABEL: run, _LEASED: "true", **_RESTRICTED})
    place = LeasedNamespace(api, name, run, is_ours=True)
    try:
        place.hold()
        api.wait_for_default_service_account(name)
    except BaseException:
        place.leave()
        raise
    return place


def borrow(api: KubeApi, namespace: str, run: str) -> LeasedNamespace:
    """An existing namespace. Raises UsageError if another run uses it, or if it does not exist."""
    held = lease_of(api, namespace, label=RUN_LABEL)
    if held is not None and _is_orphaned(held.renewed, api.now()):
        log.info("namespace %s: run %s was killed; removing its objects", namespace, held.holder)
        remove_workloads(api, namespace, held.holder)
        delete_lease(api, namespace, held, even_renewed=False)
    place = LeasedNamespace(api, namespace, run, is_ours=False)
    try:
        place.hold()
    except ApiRefusal as error:
        if error.code == 404:
            raise UsageError(f"namespace {namespace}: the cluster has no such namespace.") from error
        if error.code == 409:
            raise _taken(namespace, lease_of(api, namespace, label=RUN_LABEL)) from error
        raise
    return place


def _taken(namespace: str, lease: Lease | None) -> UsageError:
    who = "another run" if lease is None else f"run {lease.holder}"
    renewed = "" if lease is None else f" (its lease was renewed at {lease.renewed:%H:%M:%S} UTC)"
    return UsageError(
        f"namespace {namespace}: {who} works in it{renewed}.\n"
        f"Wait until it ends (if it was killed: {LASTS_S} s), or name another namespace."
    )


def remove_orphans(api: KubeApi, *, now: datetime) -> tuple[str, ...]:
    """Remove the namespaces of killed runs; their names."""
    orphans = tuple(_orphaned_namespaces(api, now))
    for name in orphans:
        log.info("namespace %s: left by a killed run; removing it", name)
        remove_namespace(api, name)
    return orphans


def remove_namespace(api: KubeApi, name: str) -> None:
    """With everything in it; a namespace that is gone or terminating is no error."""
    try:
        api.delete_namespace(name)
    except ApiRefusal as error:
        if error.code not in (404, 409):
            raise


def remove_workloads(api: KubeApi, namespace: str, run: str) -> None:
    """The Jobs and pods of a run."""
    _remove_jobs(api, namespace, run)
    for name in _pods_of(api, namespace, run):
        api.delete_pod(namespace, name, grace_s=0)


def _remove_jobs(api: KubeApi, namespace: str, run: str) -> None:
    """The Jobs of a run, which would make further pods. Who may not do that leaves them to their own deadline."""
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    try:
        found = api.call("list Jobs", "GET", path, query={"labelSelector": f"{RUN_LABEL}={run}"})
    except ApiRefusal as error:
        if error.code != 403:
            raise
        return
    for each in found["items"]:
        name = each["metadata"]["name"]
        try:
            api.call(f"delete Job {name}", "DELETE", f"{path}/{name}", query={"propagationPolicy": "Background"})
        except ApiRefusal as error:
            if error.code not in (403, 404):
                raise


def _pods_of(api: KubeApi, namespace: str, run: str) -> list[str]:
    found = msgspec.json.decode(api.list_pods(namespace, label_selector=f"{RUN_LABEL}={run}"))
    return [pod["metadata"]["name"] for pod in found["items"]]


def _orphaned_namespaces(api: KubeApi, now: datetime) -> Iterator[str]:
    """Namespaces of killed runs; a namespace that another run creates right now may have no lease yet."""
    found = api.call("list namespaces", "GET", "/api/v1/namespaces", query={"labelSelector": _LEASED})
    for each in found["items"]:
        meta = each["metadata"]
        lease = lease_of(api, meta["name"], label=RUN_LABEL)
        sign = datetime.fromisoformat(meta["creationTimestamp"]) if lease is None else lease.renewed
        going = "deletionTimestamp" in meta
        # The prefix as well: any namespace can carry a label, and removal is final.
        if meta["name"].startswith(PREFIX) and not going and _is_orphaned(sign, now):
            yield meta["name"]


def _is_orphaned(renewed: datetime, now: datetime) -> bool:
    return now - renewed > timedelta(seconds=LASTS_S)
