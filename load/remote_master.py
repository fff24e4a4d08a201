"""The master of a worker on another machine: where its order comes from, and where its records go."""

import itertools
import logging
import socket
import sys
import time
from typing import Any, NoReturn
from uuid import uuid4

import gevent
import msgspec
from locust.env import Environment
from locust.exception import RPCError
from locust.rpc import Message, zmqrpc
from locust.runners import WorkerRunner

from crashloop import __version__
from crashloop.stress.assignment import Joining, Operation, Order
from load.messages import (
    HERE,
    ORDER,
    RECORD,
    STAGE,
    Answer,
    Here,
    Journal,
    Question,
    Record,
    StageBegan,
    clocks_differ_s,
    packed,
    unpacked,
)

AGAIN_S = 1.0
CLOCKS_WITHIN_S = 0.05
"""Times of the worker are compared with those of nodes; statements of the kubelet are good to a second."""

log = logging.getLogger(__name__)


def ask_for_order(joining: Joining) -> tuple[Order, int]:
    """The order with the worker's own credentials, and the worker's number. Ends the process with a sentence without one."""
    where = f"{joining.host}:{joining.port}"
    try:
        with gevent.Timeout(joining.within_s):
            answer, received_ns = _answer(joining)
    except gevent.Timeout:
        _leave(f"no master of a stress run answered at {where} within {joining.within_s:g} s.")
    if answer.order is None:
        _leave(f"the master at {where} refuses: {answer.refusal}")
    differ_s = clocks_differ_s(asked_ns=answer.asked_ns, answered_ns=answer.now_ns, received_ns=received_ns)
    if abs(differ_s) > CLOCKS_WITHIN_S:
        _leave(
            f"the clock of this machine is {abs(differ_s):.3f} s {'ahead of' if differ_s > 0 else 'behind'} that of "
            f"{where}; {CLOCKS_WITHIN_S:g} s are allowed. Synchronize both with the same source."
        )
    own = msgspec.structs.replace(answer.order, kubeconfig=joining.kubeconfig, context=joining.context)
    return own, answer.number


def _answer(joining: Joining) -> tuple[Answer, int]:
    """The answer to the last question, and when it came. Questions before the master was there are answered later."""
    identity = f"{socket.gethostname()}_order_{uuid4().hex}"
    client = zmqrpc.Client(joining.host, joining.port, identity)
    asked_ns = 0

    def keep_asking() -> None:
        nonlocal asked_ns
        while True:
            now_ns = time.time_ns()
            client.send(Message(ORDER, packed(Question(version=__version__, sent_ns=now_ns)), identity))
            asked_ns = now_ns
            gevent.sleep(AGAIN_S)

    asking = gevent.spawn(keep_asking)
    try:
        while True:
            answer = unpacked(client.recv().data, Answer)
            received_ns = time.time_ns()
            asking.kill()
            if answer.asked_ns == asked_ns:
                return answer, received_ns
    finally:
        asking.kill()
        client.close(linger=0)


def _leave(sentence: str) -> NoReturn:
    sys.exit(f"load-worker: {sentence}")


class SentRecords:
    """Sends every record to the master."""

    def __init__(self, environment: Environment) -> None:
        assert isinstance(environment.runner, WorkerRunner)
        self._runner = environment.runner
        self._serials = itertools.count()
        self._stage = 0
        self._runner.register_message(STAGE, self._began)

    def arrived(self, number: int) -> None:
        """Let the master know that users can start."""
        self._runner.send_message(HERE, packed(Here(number=number)))

    def write(self, operation: Operation) -> None:
        self._send(Record(serial=next(self._serials), what=operation))

    def keep_journal(self, pod: str, container: str, text: str) -> None:
        self._send(Record(serial=next(self._serials), journal=Journal(pod=pod, container=container, text=text)))

    def stage(self) -> int:
        return self._stage

    def _send(self, record: Record) -> None:
        try:
            self._runner.send_message(RECORD, packed(record))
        except RPCError as error:
            # Users go on, to remove their objects; the master notices the gap.
            log.error("record %d is lost: %s", record.serial, error)

    def _began(self, msg: Message, **_: Any) -> None:
        self._stage = unpacked(msg.data, StageBegan).index
