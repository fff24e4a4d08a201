"""A stress run made up by hand: a directory as a run leaves it behind. Times are seconds since the load began."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from crashloop.history.event import Channel, Kind
from crashloop.rundir import RunInfo
from crashloop.slo.exposition import Differences, SeriesKey, to_line
from crashloop.slo.scrapes import MissedScrape, NodeSample, SourceLine
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.assignment import Operation, Order, StageMark
from crashloop.stress.folder import Cause, Incident, StressDir
from crashloop.stress.loads import Churn, Crash
from crashloop.stress.plan import SUITE, StressPlan, plan_with
from crashloop.stress.pods import scenario_of
from crashloop.stress.profile import Slos, Stage, StressNode, StressProfile
from suites.selftest.kit.histories import NOT_READY, History, ns

MAX_1S = KubeletProfile(name="max-1s", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "1s"}})
STOCK = KubeletProfile(name="stock")
NODE = "node-1"
"""As histories.History calls it."""

CRASHERS = Crash(node="storm", run_s=0.5)
HEALTHY = Churn(node="storm", rate_per_s=1)
BASELINE = Stage(name="baseline", duration_s=20, users={"healthy": 1}, settle_s=0)
STORM = Stage(name="storm", duration_s=60, users={"healthy": 1, "crashers": 2}, settle_s=0)

MARKS = (
    (0, "begin", 0, 0),
    (0, "measure", 2, 1),
    (0, "drain", 22, 1),
    (0, "end", 24, 0),
    (1, "begin", 24, 0),
    (1, "measure", 26, 3),
    (1, "drain", 86, 3),
    (1, "end", 88, 0),
)
"""Index of the stage, what, when, and how many users."""


def profile(**changed: Any) -> StressProfile:
    """One node that is stormed for a minute."""
    settings: dict[str, Any] = {
        "name": "example",
        "description": "Two pods crash.",
        "nodes": (StressNode(name="storm", profile="max-1s"),),
        "loads": {"healthy": HEALTHY, "crashers": CRASHERS},
        "stages": (BASELINE, STORM),
        "slos": Slos(files=("restarts",), without=("restart-all-first-container",), report=("*",)),
    }
    return StressProfile(**(settings | changed))


def plan(*kubelets: KubeletProfile, **changed: Any) -> StressPlan:
    return plan_with(profile(**changed), kubelets or (MAX_1S,), provider="local", kubernetes_version="1.37.1", cores=2)


def marks(*rows: tuple[int, str, float, int], stages: Sequence[Stage] = (BASELINE, STORM)) -> tuple[StageMark, ...]:
    return tuple(
        msgspec.convert(
            {
                "index": index,
                "stage": stages[index].name,
                "arm": stages[index].arm,
                "what": what,
                "t_ns": ns(at_s),
                "users": users,
            },
            StageMark,
        )
        for index, what, at_s, users in rows
    )


class Folder:
    """A run directory under construction."""

    def __init__(self, root: Path, plan: StressPlan) -> None:
        started = datetime.fromtimestamp(ns(-30) / 1e9, UTC)
        self.run = StressDir.create(root, RunInfo(suite=SUITE, started=started, crashloop_version="0.1.0"))
        self.plan = plan
        self.run.write(self.run.plan_json, plan)
        self.run.load_dir.mkdir()
        self.run.metrics_dir.mkdir()
        self.run.write(self.run.order_json, self._order())

    def marks(self, *rows: tuple[int, str, float, int]) -> None:
        self._append(self.run.stages_jsonl, marks(*rows, stages=self.plan.stages))

    def operations(self, *operations: Operation) -> None:
        self._append(self.run.load_dir / "operations-0.jsonl", operations)

    def incident(self, at_s: float, cause: Cause, sentence: str) -> None:
        self._append(self.run.incidents_jsonl, [Incident(t_ns=ns(at_s), cause=cause, sentence=sentence)])

    def pod(
        self,
        name: str,
        *lives: tuple[float, float | None, int],
        ends_s: float = 90.0,
        of: str = "app",
        node: str = NODE,
    ) -> History:
        """The history of a pod with lives of one container, made half a second before it starts; `write` puts it into the run."""
        load = self.plan.load.loads[name.partition("-")[0]]
        scenario = scenario_of(load, name, profile=self.plan.kubelet(load.node).name)
        made_s = lives[0][0] - 0.5 if lives else 0.0
        history = History(scenario, node=node).without(Kind.CREATED)
        history.add(made_s, Channel.API, Kind.CREATED, {"pod": {}}, pod=True)
        history.status(made_s + 0.05, {}, phase="Pending", conditions=NOT_READY)
        return history.lives(of, *lives, journal=False).ends(ends_s)

    def write(self, history: History) -> None:
        self.run.history(history.scenario.name).write_bytes(b"".join(history.lines()))

    def scrape(
        self,
        source: str,
        times_s: Sequence[float],
        values: Mapping[tuple[str, tuple[tuple[str, str], ...]], Sequence[float]],
        *,
        node: str = "",
        gaps: Sequence[tuple[float, float]] = (),
        sample: NodeSample | None = None,
    ) -> None:
        """A file of metrics."""
        families = tuple({name for name, _ in values})
        lines = [to_line(SourceLine(source=source, node=node, interval_s=5, families=families, sample=sample))]
        differences = Differences()
        for index, at_s in enumerate(times_s):
            found = [
                (f"{name}{labels}".encode(), SeriesKey(name, dict(labels)), float(each[index]))
                for (name, labels), each in values.items()
            ]
            lines += [to_line(line) for line in differences.lines(ns(at_s), 1000, found)]
        lines += [to_line(MissedScrape(from_ns=ns(begin), to_ns=ns(end), reason="no answer")) for begin, end in gaps]
        path = self.run.metrics_dir / (f"{source}-{node}.jsonl" if node else f"{source}.jsonl")
        path.write_bytes(b"".join(lines))

    def _order(self) -> Order:
        profile = self.plan.load
        is_alone = len(profile.nodes) == 1 and not self.plan.spread
        return Order(
            kubeconfig="kubeconfig",
            namespace="ns",
            run="run",
            image="image",
            hosts={node.name: NODE if is_alone else node.name for node in profile.nodes},
            spread=self.plan.spread,
            loads=profile.loads,
            stages=self.plan.stages,
            folder=str(self.run.load_dir),
            ends_after_s=300,
        )

    @staticmethod
    def _append(path: Path, lines: Sequence[Any]) -> None:
        with path.open("ab") as file:
            for line in lines:
                file.write(msgspec.json.encode(line) + b"\n")


def crashing(
    first_s: float, *waits_s: float, ran_s: float = 0.5, last_runs: bool = True
) -> list[tuple[float, float | None, int]]:
    """Lives of a container that crashes: it starts at `first_s`, and again after each wait."""
    lives: list[tuple[float, float | None, int]] = []
    at_s = first_s
    for wait_s in waits_s:
        lives.append((at_s, at_s + ran_s, 1))
        at_s += ran_s + wait_s
    return [*lives, (at_s, None if last_runs else at_s + ran_s, 1)]


def arrivals(seconds: Iterable[int], *, load: str = "healthy", first: int = 0) -> list[Operation]:
    """Pods of an open model that were made as intended, one at each of these seconds."""
    return [
        Operation(
            load=load, what="create", pod=f"{load}-0-{number}", intended_ns=ns(at_s), sent_ns=ns(at_s + 0.01), code=201
        )
        for number, at_s in enumerate(seconds, start=first)
    ]


def example_run(root: Path) -> Folder:
    """A run in which all went as planned: two pods crash for a minute at a maximum of 1 s."""
    folder = Folder(root, plan())
    folder.marks(*MARKS)
    for number in range(2):
        waits = [0.3, *([1.4 + 0.1 * number] * 20)]
        history = folder.pod(f"crashers-0-{number}", *crashing(25.0 + number, *waits))
        folder.write(history)
    folder.operations(*arrivals(range(2, 23)), *arrivals(range(25, 87), first=21))
    times = [0, 24, *range(26, 87, 10), 90]
    folder.scrape(
        "kubelet",
        times,
        {
            ("kubelet_started_containers_total", (("container_type", "container"),)): [
                0,
                0,
                2,
                12,
                21,
                30,
                35,
                40,
                44,
                44,
            ],
            ("rest_client_requests_total", (("method", "PATCH"),)): [0, 24, 30, 70, 110, 150, 185, 220, 250, 260],
        },
        node=NODE,
    )
    folder.scrape(
        "processes",
        times,
        {
            ("component_cpu_seconds_total", (("component", "kubelet"), ("node", NODE))): [
                0,
                1,
                2,
                4,
                6,
                8,
                10,
                12,
                14,
                15,
            ],
            ("component_cpu_seconds_total", (("component", "runtime"), ("node", NODE))): [
                0,
                1,
                2,
                6,
                10,
                14,
                18,
                22,
                26,
                27,
            ],
            ("component_cpu_seconds_total", (("component", "harness"), ("node", ""))): [
                0,
                0.5,
                0.6,
                0.85,
                1.1,
                1.4,
                1.65,
                1.9,
                2.2,
                2.4,
            ],
            ("host_cpu_seconds_total", (("mode", "busy"),)): [0, 5, 10, 20, 30, 40, 50, 60, 70, 75],
            ("host_cpu_seconds_total", (("mode", "idle"),)): [0, 43, 42, 52, 62, 72, 82, 92, 102, 105],
        },
    )
    return folder
