"""Shared state of one worker's users: the assignment, the connection, the watch, and the file of operations."""

import itertools
import os
import time
from collections import defaultdict
from pathlib import Path

import msgspec
from locust.env import Environment

from crashloop.stress.assignment import JOIN_VARIABLE, ORDER_VARIABLE, WORKER_VARIABLE, Joining, Operation, Order
from crashloop.stress.generator import load_access
from crashloop.stress.loads import AnyLoad
from crashloop.stress.pods import scenario_of
from crashloop.stress.profile import hosts_in
from load.api import Api
from load.manifests import Maker
from load.records import Records
from load.remote_master import ask_for_order
from load.watching import Watch


def is_remote() -> bool:
    """Whether the runner of this worker is on another machine."""
    return JOIN_VARIABLE in os.environ


def read_order() -> tuple[Order, int]:
    """The assignment, and the number of this worker: from the runner, or from the master on another machine."""
    if is_remote():
        return ask_for_order(msgspec.json.decode(os.environ[JOIN_VARIABLE], type=Joining))
    order = msgspec.json.decode(Path(os.environ[ORDER_VARIABLE]).read_bytes(), type=Order)
    return order, int(os.environ.get(WORKER_VARIABLE, "0"))


class Worker:
    """Made once per process, before its first user."""

    def __init__(self, environment: Environment, order: Order, number: int, records: Records) -> None:
        self.environment = environment
        self.order = order
        self.number = number
        self.write = records.write
        self._records = records
        self._serials: defaultdict[str, itertools.count[int]] = defaultdict(itertools.count)
        self._services: set[str] = set()
        access = load_access(order.kubeconfig, order.context)
        self.api = Api(environment, access, order.namespace, self.write)
        self.watch = Watch(environment, access, order, self.number)
        self.watch.start()

    def maker(self, load: str) -> Maker:
        stage = self.order.stages[self._records.stage()]
        hosts = hosts_in(stage, self.order.hosts)
        return Maker(order=msgspec.structs.replace(self.order, hosts=hosts), load=load, worker=self.number)

    def serial(self, load: str) -> int:
        """A number that no other object of the load has on this worker."""
        return next(self._serials[load])

    def keep_journals(self, name: str, load: AnyLoad, pod: str) -> None:
        """Write the logs of a pod's containers for the recorder; what cannot be read is missing in the pod's history."""
        keeping = [each for each in scenario_of(load, pod, profile="").pod.containers if each.program.known]
        for container in keeping:
            log = self.api.log_of(pod, container.name, load=name)
            if log is not None:
                self._records.keep_journal(pod, container.name, log)

    def takes(self, service: str) -> bool:
        """Whether no other user of this worker has made that Service; it has from now on."""
        taken = service in self._services
        self._services.add(service)
        return not taken

    def leaves(self, service: str) -> None:
        """The Service is gone."""
        self._services.discard(service)

    def dropped(self, load: str, intended_ns: int) -> None:
        """Count a dropped arrival."""
        self.write(Operation(load=load, what="dropped", intended_ns=intended_ns, sent_ns=time.time_ns()))

    def fail(self, load: str, step: str, name: str, waited_s: float, failed: Operation | None = None) -> None:
        """Count a step in the life of an object (created, started, completed, deleted) that missed its time.

        `failed` is the last request for it, if that failed.
        """
        why = f"not {step} within {waited_s:g} s"
        sent_ns = time.time_ns()
        self.write(
            Operation(
                load=load,
                what=f"not {step}",
                pod=name,
                sent_ns=sent_ns,
                took_ns=round(waited_s * 1e9),
                error=f"{name} was {why}{_said(failed)}.",
            )
        )
        self.environment.events.request.fire(
            request_type="POD",
            name=f"{load}: {step}",
            response_time=waited_s * 1000,
            response_length=0,
            exception=TimeoutError(why),
            context={},
        )


def _said(failed: Operation | None) -> str:
    """What came of a request, as the end of a sentence."""
    if failed is None:
        return ""
    answer = f"the API server answered {failed.code}" if failed.code else "no answer from the API server"
    return f": {answer} ({failed.error.rstrip('.')})"
