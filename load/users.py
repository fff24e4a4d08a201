"""Locust users, one class per kind of load. Users remove their objects when they stop."""

import itertools
import time
from functools import cached_property, partial
from typing import ClassVar, Generic, TypeVar

import gevent
from locust import User, constant, task

from crashloop.pods.manifest import RUN_LABEL
from crashloop.stress.assignment import UNSERVED, Operation
from crashloop.stress.loads import AnyLoad, Canary, Churn, Crash, Demand, Finish, Jobs, OpenLoad, Rollout
from crashloop.stress.pods import arrivals_ns
from crashloop.yaml_text import Json
from load.arrivals import Arrivals, to_the_end
from load.backlog import Backlog
from load.endpoints import Endpoints
from load.manifests import Made, Maker, Series, made
from load.patience import Patience
from load.visits import Visits
from load.worker import Worker

FOREVER_S = 1e6
AGAIN_S = 1.0
GRACE_S = 5.0
"""Extra wait for a removal, so that remaining objects are counted."""
NOT_FOUND, CONFLICT = 404, 409

L = TypeVar("L", bound=AnyLoad)


class LoadUser(User, Generic[L]):
    """Common behaviour of all users. They work when they start and when they stop; in between they wait."""

    abstract = True
    wait_time = constant(FOREVER_S)
    worker: ClassVar[Worker]
    name: ClassVar[str]
    """Of the load."""
    has_lives: ClassVar[bool] = False
    """Whether it makes pods that keep a journal of their containers' lives."""
    load: L

    @task
    def stay(self) -> None:
        """No work: Locust stops a waiting user at once."""

    @cached_property
    def maker(self) -> Maker:
        """Of the stage in which the user starts, which is its only one."""
        return self.worker.maker(self.name)

    def next_serial(self) -> int:
        return self.worker.serial(self.name)

    def create(self, made: Made, intended_ns: int | None = None) -> Operation | None:
        """Create an object, and follow it if it is a pod; None if it is there, otherwise the failed request."""
        if made.kind == "Pod":
            self.worker.watch.expect(made.name, time.time_ns())
        operation = self.worker.api.create(made, load=self.name, intended_ns=intended_ns)
        # The name is unique, so it exists because an earlier request without an answer was accepted.
        there = not operation.error or operation.code == CONFLICT
        if not there and operation.code:
            self.worker.watch.forget(made.name)
        return None if there else operation

    def patience(self, away_s: float) -> Patience:
        return Patience(away_s=away_s, refused_s=self.worker.order.refused_within_s)

    def insist(self, manifest: Json) -> bool:
        """Create an object for the whole stage; retries while the API server is away. Whether it is there."""
        patience, wanted = self.patience(self.worker.order.taken_within_s), made(manifest)
        while (failed := self.create(wanted)) is not None:
            if (within_s := patience.ends_with(failed)) is not None:
                self.worker.fail(self.name, "created", wanted.name, within_s, failed)
                return False
            gevent.sleep(AGAIN_S)
        return True

    def remove(self, kind: str, name: str) -> None:
        """Delete an object and wait until its pods are gone; retries while the API server is away."""
        if self.has_lives and self.worker.order.keeps_journals:
            self.worker.keep_journals(self.name, self.load, name)
        gone_within_s = self.worker.order.gone_within_s
        patience = self.patience(gone_within_s)
        while (operation := self.worker.api.delete(kind, name, load=self.name)).error:
            if operation.code == NOT_FOUND:
                self.worker.watch.forget(name)
                break
            if (within_s := patience.ends_with(operation)) is not None:
                self.worker.fail(self.name, "deleted", name, within_s, operation)
                return
            gevent.sleep(AGAIN_S)
        self.worker.watch.deleting(name, operation.sent_ns)
        if not self.worker.watch.wait_gone(name, timeout_s=patience.left_s):
            self.worker.fail(self.name, "deleted", name, gone_within_s)


class CrashUser(LoadUser[Crash]):
    """One pod of a crash storm."""

    abstract = True
    has_lives = True

    def on_start(self) -> None:
        manifest = self.maker.crashing(self.load, self.next_serial())
        self.pod = manifest["metadata"]["name"]
        self.insist(manifest)

    def on_stop(self) -> None:
        self.remove("Pod", self.pod)


class ArrivingUser(LoadUser[L]):
    """A user that makes arrivals of an open model."""

    abstract = True

    def on_start(self) -> None:
        load = self.load
        assert isinstance(load, OpenLoad)
        self.arrivals = Arrivals(
            partial(arrivals_ns, load),
            load.in_flight,
            self.arrive,
            lambda intended_ns: self.worker.dropped(self.name, intended_ns),
        )
        self.arrivals.start()

    def on_stop(self) -> None:
        self.arrivals.stop(timeout_s=self.worker.order.gone_within_s + GRACE_S)

    @cached_property
    def series(self) -> Series:
        return Series(self.maker.name, self.make)

    def make(self, serial: int) -> Json:
        """The object of an arrival, if it makes any."""
        raise NotImplementedError

    def arrive(self, intended_ns: int) -> None:
        raise NotImplementedError

    def live_out(self, intended_ns: int, step: str, within_s: float, hold_s: float = 0.0) -> None:
        """Create the next object, wait for a step of its life, hold it for a while, and remove it."""
        next_one = self.series.of(self.next_serial())
        try:
            if self.create(next_one, intended_ns) is not None:
                return
            if not self.worker.watch.wait_for(next_one.name, step, timeout_s=within_s):
                self.worker.fail(self.name, step, next_one.name, within_s)
            gevent.sleep(hold_s)
        finally:
            to_the_end(partial(self.remove, next_one.kind, next_one.name))


class ChurnUser(ArrivingUser[Churn]):
    """Healthy pods that come and go."""

    abstract = True
    has_lives = True

    def make(self, serial: int) -> Json:
        return self.maker.healthy(self.load, serial)

    def arrive(self, intended_ns: int) -> None:
        self.live_out(intended_ns, "started", self.load.start_within_s, self.load.hold_s)


class FinishUser(ArrivingUser[Finish]):
    """Pods that end, and have to stay down."""

    abstract = True
    has_lives = True

    def make(self, serial: int) -> Json:
        return self.maker.finishing(self.load, serial)

    def arrive(self, intended_ns: int) -> None:
        self.live_out(intended_ns, "started", self.load.start_within_s, self.load.run_s + self.load.hold_s)


class JobsUser(ArrivingUser[Jobs]):
    """Jobs that start, fail `failures` times and succeed."""

    abstract = True

    def make(self, serial: int) -> Json:
        return self.maker.job(self.load, serial)

    def arrive(self, intended_ns: int) -> None:
        self.live_out(intended_ns, "completed", self.load.complete_within_s)


class RolloutUser(LoadUser[Rollout]):
    """A crashing Deployment with periodic rollouts."""

    abstract = True

    def on_start(self) -> None:
        manifest = self.maker.deployment(self.load, self.next_serial())
        self.deployment = manifest["metadata"]["name"]
        self.insist(manifest)
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


class DemandUser(LoadUser[Demand]):
    """A server, and the requests to it."""

    abstract = True

    endpoints: Endpoints | None = None
    """Of its Service, if it has one."""

    def on_start(self) -> None:
        self._share()
        manifest = self.maker.server(self.load, self.next_serial())
        self.pod = manifest["metadata"]["name"]
        within_s = self.worker.order.taken_within_s
        if self.insist(manifest) and not self.worker.watch.wait_for(self.pod, "started", timeout_s=within_s):
            self.worker.fail(self.name, "started", self.pod, within_s)
        choose = None if self.endpoints is None else self.endpoints.next
        visits = Visits(self.worker, self.name, self.pod, choose)
        self.backlog = Backlog(partial(arrivals_ns, self.load), self.load.in_flight, visits.visit, visits.unanswered)
        self.backlog.start()
        self.leaving = [
            gevent.spawn_later(burst.after_s, self.backlog.give_up)
            for burst in self.load.bursts
            if not burst.rate_per_s
        ]

    def on_stop(self) -> None:
        gevent.killall(self.leaving)
        self.backlog.stop(timeout_s=GRACE_S)
        if self.endpoints is not None and self.load.service is not None:
            self.endpoints.stop()
            self.remove("Service", self.load.service)
            self.worker.leaves(self.load.service)
        self.remove("Pod", self.pod)

    def _share(self) -> None:
        """Follow the Service of the load, which its first user makes."""
        if self.load.service is not None:
            if self.worker.takes(self.load.service):
                self.insist(self.maker.service(self.load.service))
            self.endpoints = Endpoints(self.worker.api, self.load.service, self.name)
            self.endpoints.start()


class CanaryUser(ArrivingUser[Canary]):
    """Reads of the API server."""

    abstract = True
    has_lives = True
    streams = True
    """Whether the API server serves streaming lists, as far as is known."""

    def on_start(self) -> None:
        manifest = self.maker.read(self.load, self.next_serial())
        self.pod = manifest["metadata"]["name"]
        self.insist(manifest)
        self.turns = itertools.cycle((self._get, self._list, *([self._watch_list] if self.load.watch_lists else [])))
        super().on_start()

    def on_stop(self) -> None:
        super().on_stop()
        self.remove("Pod", self.pod)

    def arrive(self, intended_ns: int) -> None:
        next(self.turns)(intended_ns)

    def _get(self, intended_ns: int) -> None:
        within_s = self.load.answer_within_s
        self.worker.api.get_pod(self.pod, load=self.name, intended_ns=intended_ns, timeout_s=within_s)

    def _list(self, intended_ns: int) -> None:
        within_s = self.load.answer_within_s
        self.worker.api.list_pods(self._selector, load=self.name, intended_ns=intended_ns, timeout_s=within_s)

    def _watch_list(self, intended_ns: int) -> None:
        """Where it is not served a LIST takes its place, as in informers."""
        if self.streams:
            within_s = self.load.answer_within_s
            read = self.worker.api.watch_list_pods(
                self._selector, load=self.name, intended_ns=intended_ns, timeout_s=within_s
            )
            self.streams = read.code not in UNSERVED
        if not self.streams:
            self._list(intended_ns)

    @property
    def _selector(self) -> str:
        return f"{RUN_LABEL}={self.worker.order.run}"


USERS: dict[type[AnyLoad], type[User]] = {
    Crash: CrashUser,
    Churn: ChurnUser,
    Finish: FinishUser,
    Jobs: JobsUser,
    Rollout: RolloutUser,
    Demand: DemandUser,
    Canary: CanaryUser,
}


def user_class(name: str, load: AnyLoad) -> type[User]:
    """The class of users for a load."""
    return type(name, (USERS[type(load)],), {"abstract": False, "name": name, "load": load})
