"""Records one stress run, from plan to evidence. crashloop.stress.judging judges it, from the run directory alone.

Theory of operation. The load generator runs the load, stage by stage, and writes its progress. This module follows the
stages, records and scrapes everything (also at the edges of every measurement), makes disturbances at their times, and
turns every failure into an incident. An interrupted run, or one whose load generator dies, shuts down cleanly and keeps
its evidence.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from crashloop.cluster.processes import slowness
from crashloop.errors import CrashloopError
from crashloop.kube.answers import KubeError
from crashloop.record.scenario_loop import Lifeline
from crashloop.stress.assignment import DRAIN_WITHIN_S, GONE_WITHIN_S, Marks, Order, Situation, StageMark, prepare_stage
from crashloop.stress.evidence import StressEvidence
from crashloop.stress.folder import Cause, Incidents, StressDir, misses
from crashloop.stress.generator import Generator, address_of
from crashloop.stress.loads import WORKER_LABEL
from crashloop.stress.plan import AFTER_S, StressPlan
from crashloop.stress.profile import Disturbance, changes_places, hosts_in
from crashloop.stress.testbed import Site, clear, kinds_of, removal, remove_objects

LOOK_S = 0.5
REPORT_EVERY_S = 10.0
STOPS_WITHIN_S = 90.0
"""Longest time for an interrupted load to remove its objects."""
CLEAR_WITHIN_S = 120.0
"""Longest time for the remains of a load to disappear after the run requested their removal, on a host of usual speed."""


class StressRecorder:
    """Records one run on a site."""

    def __init__(
        self,
        run: StressDir,
        plan: StressPlan,
        site: Site,
        evidence: StressEvidence,
        lifeline: Lifeline,
        say: Callable[[str], None],
        *,
        web_port: int | None = None,
        clear_within_s: float | None = None,
    ) -> None:
        self._run = run
        self._plan = plan
        self._site = site
        self._evidence = evidence
        self._lifeline = lifeline
        self._say = say
        self._clear_within_s = clear_within_s or CLEAR_WITHIN_S * slowness()
        self._note = Incidents(run.incidents_jsonl, say).note
        self._listen = None if plan.listen is None else address_of(plan.listen, option="--listen")
        self._generator = Generator(run.order_json, workers=plan.load.workers, web_port=web_port, listen=self._listen)
        self._tasks = ThreadPoolExecutor(4, thread_name_prefix="stress")
        self._pending: list[Future[None]] = []
        self._marks = Marks(run.stages_jsonl)
        self._situation = Situation(stages=plan.stages)
        self._due = list(plan.load.disturbances)
        self._began_s: float | None = None
        """When the first stage began; monotonic."""
        self._kinds = kinds_of(plan.load.loads.values())

    def record(self) -> None:
        """Record the whole run; returns at its end, planned or not."""
        self._run.load_dir.mkdir()
        order = order_of(self._plan, self._site, self._run)
        self._run.write(self._run.order_json, order)
        most_s = self._plan.longest_s + order.drain_within_s * len(order.stages) + AFTER_S
        try:
            with self._evidence.recording(self._lifeline):
                try:
                    self._load(most_s)
                finally:
                    self._tasks.shutdown()
        finally:
            if self._plan.spread and (sentence := self._evidence.session.unplaced.sentence()):
                self._note(Cause.UNPLACED, sentence)
        for each in self._pending:
            each.result()

    def _load(self, most_s: float) -> None:
        """Run the load to its end."""
        self._generator.start()
        if self._listen is not None:
            self._say(f"waiting for {self._plan.load.workers} workers: crashloop load-worker --master {self._listen}")
        for pid in self._generator.pids:
            self._evidence.add_harness(pid)
        try:
            self._follow(most_s)
        except CrashloopError as error:
            self._note(Cause.CLUSTER, str(error))
        finally:
            self._generator.stop(within_s=STOPS_WITHIN_S * slowness())
            self._take_marks()
            for each in self._due:
                self._note(
                    Cause.LOAD, f"{each.action} of node {each.node} after {each.after_s:g} s: the load was over before."
                )
            for cause, sentence in misses(self._run.operations()):
                self._note(cause, sentence)
            self._clean_up()

    def _follow(self, most_s: float) -> None:
        waits_since_s = reported_s = time.monotonic()
        starts = 0
        while not self._generator.has_ended():
            if self._lifeline.broken.wait(LOOK_S):
                self._note(Cause.INTERRUPTED, "The run was interrupted.")
                return
            self._heed_crashes()
            now_s = time.monotonic()
            if now_s - (self._began_s or waits_since_s) > most_s:
                self._note(Cause.LOAD, f"The load was not over after {most_s:.0f} s, and was stopped.")
                return
            for mark in self._take_marks():
                if mark.what == "end" and changes_places(self._plan.stages, mark.index + 1):
                    self._exchange(mark.index + 1)
            if not self._is_whole() and not self._generator.has_begun():
                self._note(Cause.LOAD, "The load had not begun then, and was abandoned.")
                return
            if missing := self._evidence.session.images.overdue(now_s):
                self._note(Cause.LOAD, f"{missing} The load was abandoned.")
                return
            self._disturb(now_s)
            self._evidence.session.sweep()
            if now_s - reported_s >= REPORT_EVERY_S:
                rate = (self._evidence.session.starts - starts) / (now_s - reported_s)
                reported_s, starts = now_s, self._evidence.session.starts
                self._situation.pods = self._evidence.session.present
                counted = rate if self._site.has_runtime_events else None
                self._say(self._situation.line(starts_per_s=counted, now_ns=time.time_ns()))
        self._is_whole()
        self._heed_crashes()

    def _heed_crashes(self) -> None:
        """Raises what ended a channel: without it the load would go on unseen. A later judgement has to know, too."""
        crash = self._evidence.crash
        if crash is None:
            return
        if not isinstance(crash, CrashloopError):
            self._note(Cause.CLUSTER, f"A part of the recording crashed ({type(crash).__name__}: {crash}).")
        raise crash

    def _take_marks(self) -> list[StageMark]:
        """Scrape at the edges of measurements; the new marks."""
        new = self._marks.new()
        for mark in new:
            self._began_s = self._began_s or time.monotonic()
            self._situation.mark = mark
            if mark.what in ("measure", "drain"):
                self._do(self._evidence.scrape)
            if mark.what == "measure":
                self._say(self._situation.introduction(mark))
            if mark.what == "end" and mark.users:
                self._note(Cause.LINGERED, self._situation.lingering(mark))
        return new

    def _exchange(self, index: int) -> None:
        """The arms change places: both kubelets are restarted with the profile of their node in that stage."""
        hosts = hosts_in(self._plan.stages[index], {name: node.name for name, node in self._site.nodes.items()})
        self._say("the arms change places")
        # The nodes are empty: counts of their kubelets are complete.
        self._evidence.scrape()
        self._evidence.place(hosts)
        for node in self._plan.load.nodes:
            if node.arm:
                self._site.cluster.restart_kubelet(hosts[node.name], profile=self._plan.kubelet(node.name))
        prepare_stage(self._run.load_dir, index)

    def _is_whole(self) -> bool:
        """Whether every part of the generator is alive, or done. Removes the remains of a dead worker."""
        deaths = list(self._generator.deaths())
        for death in deaths:
            self._note(Cause.LOAD, death.sentence)
            if death.worker is not None:
                self._do(partial(self._remove_of_worker, death.worker))
        return not deaths

    def _remove_of_worker(self, worker: int) -> None:
        selector = f"{self._site.selector},{WORKER_LABEL}={worker}"
        try:
            remove_objects(self._site.api, self._site.namespace, selector, self._kinds)
        except KubeError as error:
            self._note(Cause.LEFT_BEHIND, f"The remains of worker {worker} will be removed at the end: {error}")

    def _disturb(self, now_s: float) -> None:
        age_s = 0.0 if self._began_s is None else now_s - self._began_s
        for each in [each for each in self._due if each.after_s <= age_s]:
            self._due.remove(each)
            self._do(partial(self._carry_out, each))

    def _carry_out(self, disturbance: Disturbance) -> None:
        node = self._site.nodes[disturbance.node].name
        self._note(Cause.DISTURBANCE, f"{disturbance.action} of node {node}, {disturbance.down_s:g} s down.")
        try:
            if disturbance.action == "restart-runtime":
                self._site.cluster.restart_runtime(node, down_s=disturbance.down_s)
            else:
                kill = disturbance.action == "kill-kubelet"
                self._site.cluster.restart_kubelet(node, kill=kill, down_s=disturbance.down_s)
        except CrashloopError as error:
            self._note(Cause.CLUSTER, str(error))

    def _clean_up(self) -> None:
        """Remove the remains of the load, such as those of a killed generator, and wait until they are gone."""
        within_s = self._clear_within_s
        try:
            site = self._site
            cleared = clear(site.api, site.namespace, site.selector, self._kinds, within_s=within_s)
        except KubeError as error:
            self._note(Cause.NOT_REMOVED, f"The remains of the load could not be removed{self._by_hand()}: {error}")
            return
        if cleared.found:
            self._note(Cause.LEFT_BEHIND, f"The load left {cleared.found}; the run requested the removal.")
        if cleared.still:
            when = f"within {within_s:.0f} s of the request{self._by_hand()}"
            self._note(Cause.NOT_REMOVED, f"{cleared.still}: not removed {when}.")

    def _by_hand(self) -> str:
        """The command for what remains on a cluster of somebody else."""
        if self._site.info.namespace is None:
            return ""
        return f" (remove them by: {removal(self._site.namespace, self._site.selector, self._kinds)})"

    def _do(self, task: Callable[[], None]) -> None:
        """Run a long task beside the loop; a crashed task ends the run."""
        for each in [each for each in self._pending if each.done()]:
            self._pending.remove(each)
            each.result()
        self._pending.append(self._tasks.submit(task))


def order_of(plan: StressPlan, site: Site, run: StressDir) -> Order:
    """The assignment of the load generator."""
    if plan.spread:
        hosts = {node.name: node.name for node in plan.load.nodes}
    else:
        hosts = {name: node.name for name, node in site.nodes.items()}
    return Order(
        kubeconfig=site.info.kubeconfig,
        context=site.info.context,
        namespace=site.namespace,
        run=site.run,
        image=site.info.image,
        hosts=hosts,
        spread=plan.spread,
        loads=plan.load.loads,
        stages=plan.stages,
        folder=str(run.load_dir.absolute()),
        ends_after_s=plan.longest_s + AFTER_S,
        drain_within_s=DRAIN_WITHIN_S * slowness(),
        gone_within_s=GONE_WITHIN_S * slowness(),
        keeps_journals=not site.has_runtime_events,
        remote_workers=0 if plan.listen is None else plan.load.workers,
    )
