"""Locust users, one class a kind of load. Everything they make they remove when they stop."""

import time
from typing import ClassVar, Generic, TypeVar

import gevent
from locust import User, constant, task

from crashloop.stress.loads import AnyLoad, Churn, Crash, Demand, Jobs, Rollout
from load.arrivals import Arrivals
from load.manifests import SERVER_PATH, SERVER_PORT, Json, Maker
from load.pace import arrivals_ns
from load.worker import Worker

FOREVER_S = 1e6
GONE_WITHIN_S = 90.0
"""How long a pod that was deleted may take to be gone; a full node takes its time."""
TAKEN_WITHIN_S = 60.0
"""How long the API server may be away when a pod of a storm is made."""
AGAIN_S = 1.0
NOT_FOUND = 404

L = TypeVar("L", bound=AnyLoad)


class LoadUser(User, Generic[L]):
    """What all users have in common. They do their work when they come and when they go; in between they wait."""

    abstract = True
    wait_time = constant(FOREVER_S)
    worker: ClassVar[Worker]
    name: ClassVar[str]
    """Of the load."""
    load: L

    @task
    def stay(self) -> None:
        """Nothing to do: Locust stops a user that waits at once."""

    @property
    def maker(self) -> Maker:
        return self.worker.maker(self.name)

    def next_serial(self) -> int:
        return self.worker.serial(self.name)

    def create_pod(self, manifest: Json, intended_ns: int | None = None) -> bool:
        """Create a pod that is followed; whether the API server took it."""
        pod = manifest["metadata"]["name"]
        self.worker.watch.expect(pod, time.time_ns())
        operation = self.worker.api.create(manifest, load=self.name, intended_ns=intended_ns)
        if operation.error and operation.code:
            self.worker.watch.forget(pod)
        return not operation.error

    def remove(self, kind: str, name: str) -> None:
        """Delete an object and wait until its pods are gone. An API server that is away is asked again."""
        deadline_s = time.monotonic() + GONE_WITHIN_S
        while time.monotonic() < deadline_s:
            operation = self.worker.api.delete(kind, name, load=self.name)
            if operation.code == NOT_FOUND:
                self.worker.watch.forget(name)
            if not operation.error or operation.code == NOT_FOUND:
                self.worker.watch.deleting(name, operation.sent_ns)
                self.worker.watch.wait_gone(name, timeout_s=max(0.0, deadline_s - time.monotonic()))
                return
            gevent.sleep(AGAIN_S)


class CrashUser(LoadUser[Crash]):
    """One pod of a crash storm."""

    abstract = True

    def on_start(self) -> None:
        manifest = self.maker.crashing(self.load, self.next_serial())
        self.pod = manifest["metadata"]["name"]
        deadline_s = time.monotonic() + TAKEN_WITHIN_S
        while not self.create_pod(manifest) and time.monotonic() < deadline_s:
            gevent.sleep(AGAIN_S)

    def on_stop(self) -> None:
        self.remove("Pod", self.pod)


class ArrivingUser(LoadUser[L]):
    """A user that makes arrivals of an open model."""

    abstract = True

    def on_start(self) -> None:
        load = self.load
        assert isinstance(load, Churn | Jobs | Demand)
        burst = load.burst if isinstance(load, Demand) else None
        self.arrivals = Arrivals(
            lambda began_ns: arrivals_ns(load.rate_per_s, began_ns, burst),
            load.in_flight,
            self.arrive,
            lambda intended_ns: self.worker.dropped(self.name, intended_ns),
        )
        self.arrivals.start()

    def on_stop(self) -> None:
        self.arrivals.stop(timeout_s=GONE_WITHIN_S)

    def arrive(self, intended_ns: int) -> None:
        raise NotImplementedError


class ChurnUser(ArrivingUser[Churn]):
    """Healthy pods that come and go."""

    abstract = True

    def arrive(self, intended_ns: int) -> None:
        manifest = self.maker.healthy(self.load, self.next_serial())
        pod = manifest["metadata"]["name"]
        try:
            if not self.create_pod(manifest, intended_ns):
                return
            if not self.worker.watch.wait_for(pod, "started", timeout_s=self.load.start_within_s):
                self.worker.fail(self.name, "started", self.load.start_within_s, f"pod {pod} has not started")
            gevent.sleep(self.load.hold_s)
        finally:
            self.remove("Pod", pod)


class JobsUser(ArrivingUser[Jobs]):
    """Jobs that come, fail some times and succeed."""

    abstract = True

    def arrive(self, intended_ns: int) -> None:
        manifest = self.maker.job(self.load, self.next_serial())
        job = manifest["metadata"]["name"]
        try:
            if self.worker.api.create(manifest, load=self.name, intended_ns=intended_ns).error:
                return
            if not self.worker.watch.wait_for(job, "completed", timeout_s=self.load.complete_within_s):
                self.worker.fail(self.name, "completed", self.load.complete_within_s, f"job {job} has not completed")
        finally:
            self.remove("Job", job)


class RolloutUser(LoadUser[Rollout]):
    """A Deployment that crashes and is rolled out again and again."""

    abstract = True

    def on_start(self) -> None:
        manifest = self.maker.deployment(self.load, self.next_serial())
        self.deployment = manifest["metadata"]["name"]
        self.worker.api.create(manifest, load=self.name)
        self.rolling = gevent.spawn(self._roll)

    def on_stop(self) -> None:
        self.rolling.kill()
        self.remove("Deployment", self.deployment)

    def _roll(self) -> None:
        number = 0
        while True:
            gevent.sleep(self.load.period_s)
            number += 1
            template = {"metadata": {"annotations": {"crashloop.dev/rolled": str(number)}}}
            self.worker.api.patch("Deployment", self.deployment, {"spec": {"template": template}}, load=self.name)


class DemandUser(ArrivingUser[Demand]):
    """A server, and the requests to it."""

    abstract = True

    def on_start(self) -> None:
        manifest = self.maker.server(self.load, self.next_serial())
        self.pod = manifest["metadata"]["name"]
        self.create_pod(manifest)
        self.worker.watch.wait_for(self.pod, "started", timeout_s=TAKEN_WITHIN_S)
        super().on_start()

    def on_stop(self) -> None:
        super().on_stop()
        self.remove("Pod", self.pod)

    def arrive(self, intended_ns: int) -> None:
        self.worker.api.visit(
            self.pod,
            SERVER_PORT,
            SERVER_PATH,
            load=self.name,
            intended_ns=intended_ns,
            timeout_s=self.load.timeout_s,
        )


USERS: dict[type[AnyLoad], type[User]] = {
    Crash: CrashUser,
    Churn: ChurnUser,
    Jobs: JobsUser,
    Rollout: RolloutUser,
    Demand: DemandUser,
}


def user_class(name: str, load: AnyLoad) -> type[User]:
    """The class of users that carry a load out."""
    return type(name, (USERS[type(load)],), {"abstract": False, "name": name, "load": load})
