"""The workers of a master that come from other machines: gives them their order, and writes what they record."""

import time
from pathlib import Path
from typing import Any, Literal

import gevent
import msgspec
from locust import runners
from locust.rpc import Message
from locust.runners import STATE_MISSING, MasterRunner

from crashloop import __version__
from crashloop.stress.assignment import WORKERS, Order, WorkerLine
from load.messages import (
    HERE,
    ORDER,
    RECORD,
    STAGE,
    Answer,
    Here,
    Question,
    Received,
    Record,
    StageBegan,
    packed,
    unpacked,
)
from load.records import FileRecords

LOOK_S = 1.0


class _Worker:
    """A worker that came."""

    def __init__(self, number: int, client: str, folder: Path) -> None:
        self.number = number
        self.host = client.rpartition("_")[0]
        self.records = FileRecords(folder, number)
        self.received = Received()
        self.has_left = False
        self.is_sent_away = False


class RemoteWorkers:
    """Made in the master, before the first worker comes."""

    def __init__(self, runner: MasterRunner, order: Order) -> None:
        runners.HEARTBEAT_LIVENESS = round(order.silent_s / runners.HEARTBEAT_INTERVAL)
        self._runner = runner
        self._order = order
        self._folder = Path(order.folder)
        self._asked: dict[str, int] = {}
        """Numbers by who asked for the order."""
        self._workers: dict[str, _Worker] = {}
        """By Locust's name for the client."""
        self._begun = self._over = False
        for kind, listener in ((ORDER, self._answer), (HERE, self._welcome), (RECORD, self._take)):
            runner.register_message(kind, listener)
        # The last worker takes Locust along, which looks once more before it ends.
        runner.environment.events.quitting.add_listener(self._look)
        gevent.spawn(self._watch)

    def may_begin(self) -> bool:
        """Whether users can start on all workers, or have."""
        return self._begun or self._are_there()

    def begin(self, stage: int) -> None:
        """A stage begins; no further worker is taken."""
        self._begun = True
        self._runner.send_message(STAGE, packed(StageBegan(index=stage)))

    def end(self) -> None:
        """The load is over: all records have come."""
        self._over = True
        for worker in self._workers.values():
            if worker.received.lost:
                self._note(worker, "lost", worker.received.lost)

    def _are_there(self) -> bool:
        return sum(not worker.has_left for worker in self._workers.values()) >= self._order.remote_workers

    def _answer(self, msg: Message, **_: Any) -> None:
        question = unpacked(msg.data, Question)
        refusal = self._refusal(question)
        answer = Answer(asked_ns=question.sent_ns, now_ns=time.time_ns(), refusal=refusal)
        if not refusal:
            number = self._asked.setdefault(msg.node_id, len(self._asked) + 1)
            # Credentials are the worker's own.
            order = msgspec.structs.replace(self._order, kubeconfig="", context=None)
            answer = msgspec.structs.replace(answer, number=number, order=order)
        self._runner.send_message(ORDER, packed(answer), client_id=msg.node_id)

    def _refusal(self, question: Question) -> str:
        if question.version != __version__:
            return f"this run is of crashloop {__version__}, the worker of {question.version}."
        if self._begun:
            return "the load has begun."
        return f"all workers ({self._order.remote_workers}) have come." if self._are_there() else ""

    def _welcome(self, msg: Message, **_: Any) -> None:
        number = unpacked(msg.data, Here).number
        is_surplus = self._are_there()
        worker = self._workers[msg.node_id] = _Worker(number, msg.node_id, self._folder)
        if is_surplus:
            worker.has_left = True
            self._send_away(msg.node_id, worker)
        self._note(worker, "surplus" if is_surplus else "came")

    def _take(self, msg: Message, **_: Any) -> None:
        record = unpacked(msg.data, Record)
        worker = self._workers[msg.node_id]
        worker.received.take(record.serial)
        if record.what is not None:
            worker.records.write(record.what)
        if record.journal is not None:
            journal = record.journal
            worker.records.keep_journal(Path(journal.pod).name, Path(journal.container).name, journal.text)
        if worker.has_left:
            self._send_away(msg.node_id, worker)

    def _watch(self) -> None:
        while True:
            self._look()
            gevent.sleep(LOOK_S)

    def _look(self, **_: Any) -> None:
        """Note workers that have left, and send those away that return."""
        for client, worker in list(self._workers.items()):
            node = self._runner.clients.get(client)
            is_there = node is not None and node.state != STATE_MISSING
            if is_there and worker.has_left:
                self._send_away(client, worker)
            elif not self._over and not is_there and not worker.has_left:
                worker.has_left = True
                self._note(worker, "left")

    def _send_away(self, client: str, worker: _Worker) -> None:
        """Let a worker that is not counted on remove its objects and end; Locust may have given it users already."""
        if not worker.is_sent_away:
            worker.is_sent_away = True
            self._runner.send_message("quit", client_id=client)

    def _note(self, worker: _Worker, what: Literal["came", "left", "surplus", "lost"], count: int = 0) -> None:
        line = WorkerLine(t_ns=time.time_ns(), worker=worker.number, host=worker.host, what=what, count=count)
        with (self._folder / WORKERS).open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
