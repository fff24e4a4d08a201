"""The course of a stress run: what becomes of it when its load breaks, and what it does about what the load leaves.

Locust and the connection to the API server are real. Nothing is recorded: there is no cluster.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import psutil
import pytest

from crashloop.cluster.provider import Capability, Cluster, ClusterInfo, Node
from crashloop.kube.client import KubeApi
from crashloop.record.scenario_loop import Lifeline
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.assignment import MARKS, Operation, StageMark
from crashloop.stress.evidence import StressEvidence
from crashloop.stress.folder import Cause, misses
from crashloop.stress.generator import LOOPBACK, Address, free_port
from crashloop.stress.judging import judge_run
from crashloop.stress.lent_nodes import spread_out
from crashloop.stress.loads import Crash, Jobs, Rollout
from crashloop.stress.pending_pods import AwaitedImages, UnplacedPods
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import ComparisonDesign, Stage, StressNode
from crashloop.stress.recorder import StressRecorder
from crashloop.stress.testbed import Site
from crashloop.verdict import Outcome
from suites.selftest.kit.load_peer import PODS, Accepting, accepting
from suites.selftest.kit.recording_site import cluster_info
from suites.selftest.kit.remote_worker import remote_workers
from suites.selftest.kit.stress_kit import CRASHERS, MAX_1S, Folder, plan

SHORT = Stage(name="storm", duration_s=1, users={"crashers": 3}, spawn_per_s=10, settle_s=0)
NODE = Node(name="node-1", profile="max-1s")


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Accepting]:
    with accepting(tmp_path) as peer:
        yield peer


class Unrecorded:
    """In the place of the evidence; `started` is called with each process of the load, `meanwhile` while the load is on."""

    def __init__(
        self, meanwhile: Callable[[], None] = lambda: None, *, started: Callable[[int], None] = lambda _: None
    ) -> None:
        self.session = self
        self.starts = self.present = 0
        self.images = AwaitedImages(())
        self.unplaced = UnplacedPods()
        self.crash: BaseException | None = None
        self.add_harness = started
        self._meanwhile = meanwhile

    @contextmanager
    def recording(self, _lifeline: Lifeline) -> Iterator[None]:
        yield

    def scrape(self) -> None:
        """Nothing."""

    def place(self, hosts: dict[str, str]) -> None:
        self.places = hosts

    def sweep(self) -> None:
        """Called again and again while the load is on."""
        self._meanwhile()


class _Broken:
    """A life line that nobody breaks."""

    broken = threading.Event()


class _OnPaper(msgspec.Struct):
    """A cluster of which only the description is looked at, and the restarts of kubelets."""

    info: ClusterInfo
    restarted: list[tuple[str, str]] = []

    def restart_kubelet(self, node: str, *, profile: KubeletProfile) -> None:
        self.restarted.append((node, profile.name))


def recorded(
    folder: Path,
    plan: StressPlan,
    evidence: Unrecorded,
    *,
    clear_within_s: float = 60.0,
    nodes: dict[str, Node] | None = None,
    restarted: list[tuple[str, str]] | None = None,
    lent: str | None = None,
) -> Folder:
    """The directory of a run that has ended. `lent`: the namespace, if it stays after the run."""
    made = Folder(folder / "run", plan)
    made.run.order_json.unlink()
    made.run.load_dir.rmdir()
    kubeconfig = str(folder / "kubeconfig")
    info = cluster_info(
        NODE, kubeconfig=kubeconfig, capabilities=frozenset({Capability.RUNTIME_EVENTS}), namespace=lent
    )
    site = Site(
        cluster=cast(Cluster, _OnPaper(info, [] if restarted is None else restarted)),
        api=KubeApi(kubeconfig),
        nodes=nodes or {"storm": NODE},
        namespace="ns",
        run="r",
    )
    said: list[str] = []
    StressRecorder(
        made.run,
        plan,
        site,
        cast(StressEvidence, evidence),
        cast(Lifeline, _Broken()),
        said.append,
        clear_within_s=clear_within_s,
    ).record()
    return made


def test_arms_change_places_between_their_stages(peer: Accepting, tmp_path: Path) -> None:
    stage = Stage(name="storm", arm="both", duration_s=1, users={"a": 1, "b": 1}, spawn_per_s=10, settle_s=0)
    the_plan = plan(
        MAX_1S,
        msgspec.structs.replace(MAX_1S, name="mine"),
        nodes=(
            StressNode(name="base", profile="max-1s", arm="baseline"),
            StressNode(name="treat", profile="max-1s", arm="treatment"),
        ),
        loads={"a": Crash(node="base"), "b": Crash(node="treat")},
        stages=(stage,),
        rounds=2,
        comparison=ComparisonDesign(alternates=True),
    )
    nodes = {"base": Node(name="one", profile="max-1s"), "treat": Node(name="two", profile="mine")}
    evidence, restarted = Unrecorded(), list[tuple[str, str]]()
    folder = recorded(tmp_path, the_plan, evidence, nodes=nodes, restarted=restarted)
    assert evidence.places == {"base": "two", "treat": "one"}
    assert restarted == [("two", "max-1s"), ("one", "mine")]
    placed = [(pod["metadata"]["name"], pod["spec"]["nodeName"]) for pod in peer.created]
    assert sorted(placed) == [("a-0-0", "one"), ("a-0-1", "two"), ("b-0-0", "two"), ("b-0-1", "one")]
    assert [each.what for each in folder.run.marks()].count("end") == 2


def test_a_load_that_is_spread_is_made_for_the_scheduler_and_pods_without_a_node_are_an_incident(
    peer: Accepting, tmp_path: Path
) -> None:
    hosts = {"one": "one.example", "two": "two.example"}
    nodes = {name: Node(name=name, profile="max-1s") for name in hosts}
    evidence = Unrecorded()
    evidence.unplaced.stray("crashers-0-2", "three")
    folder = recorded(tmp_path, spread_out(short(), hosts), evidence, nodes=nodes)
    assert sorted(pod["metadata"]["name"] for pod in peer.created) == [f"crashers-0-{number}" for number in range(6)]
    assert not any("nodeName" in pod["spec"] for pod in peer.created)
    assert {pod["spec"]["topologySpreadConstraints"][0]["topologyKey"] for pod in peer.created} == {
        "kubernetes.io/hostname"
    }
    assert incidents(folder) == [
        (
            Cause.UNPLACED,
            "1 pod of the load was on no node of the run, such as crashers-0-2: it is on node three, which the run does not "
            "take.",
        )
    ]


def incidents(folder: Folder) -> list[tuple[Cause, str]]:
    return [(each.cause, each.sentence) for each in folder.run.incidents()]


def short(**changed: Any) -> StressPlan:
    return plan(stages=(SHORT,), **changed)


def of_each_kind() -> StressPlan:
    """A load of pods in a profile that also has Jobs and Deployments."""
    jobs, rollout = Jobs(node="storm", rate_per_s=1), Rollout(node="storm")
    return short(loads={"crashers": CRASHERS, "jobs": jobs, "rollout": rollout})


def test_a_run_in_which_all_goes_as_planned_has_no_incidents(peer: Accepting, tmp_path: Path) -> None:
    folder = recorded(tmp_path, short(), Unrecorded())
    assert incidents(folder) == []
    assert [mark.what for mark in folder.run.marks()] == ["begin", "measure", "drain", "end"]
    assert sorted(peer.paths("DELETE")) == PODS


def test_what_the_load_has_left_is_removed_and_waited_for(peer: Accepting, tmp_path: Path) -> None:
    """A controller makes another pod meanwhile, so that removal has to be asked for twice."""
    peer.left, peer.removals = {"pods": 2, "jobs": 1, "deployments": 1}, 2
    folder = recorded(tmp_path, of_each_kind(), Unrecorded(), clear_within_s=60)
    assert incidents(folder) == [
        (Cause.LEFT_BEHIND, "The load left 1 Deployment, 1 Job and 2 Pods; the run requested the removal.")
    ]
    assert peer.left == {}


def test_what_is_not_gone_in_time_is_reported(peer: Accepting, tmp_path: Path) -> None:
    peer.left, peer.removals = {"jobs": 1}, 10**6
    folder = recorded(tmp_path, of_each_kind(), Unrecorded(), clear_within_s=1)
    assert incidents(folder) == [
        (Cause.LEFT_BEHIND, "The load left 1 Job; the run requested the removal."),
        (Cause.NOT_REMOVED, "1 Job: not removed within 1 s of the request."),
    ]


def test_what_is_not_gone_from_a_namespace_that_stays_is_reported_with_the_command_for_it(
    peer: Accepting, tmp_path: Path
) -> None:
    peer.left, peer.removals = {"jobs": 1}, 10**6
    folder = recorded(tmp_path, of_each_kind(), Unrecorded(), clear_within_s=1, lent="ns")
    assert incidents(folder)[-1] == (
        Cause.NOT_REMOVED,
        "1 Job: not removed within 1 s of the request (remove them by: kubectl delete deployments,jobs,pods --namespace ns "
        "--selector crashloop.dev/run=r,crashloop.dev/load).",
    )


def test_what_could_not_be_asked_about_is_reported(peer: Accepting, tmp_path: Path) -> None:
    peer.list_code = 500
    folder = recorded(tmp_path, short(), Unrecorded(), clear_within_s=1)
    ((cause, sentence),) = incidents(folder)
    assert cause is Cause.NOT_REMOVED
    said = "The remains of the load could not be removed: list Pods (crashloop.dev/run=r,crashloop.dev/load): "
    assert sentence.startswith(said)


def test_pods_that_linger_at_the_end_of_a_stage_are_reported(peer: Accepting, tmp_path: Path) -> None:
    pod = "crashers-9-0"
    missed = Operation(load="crashers", what="not deleted", pod=pod, sent_ns=1, error=f"{pod} was not deleted in time.")
    ended = StageMark(index=0, stage="storm", what="end", t_ns=1, users=4)

    def linger() -> None:
        folder = tmp_path / "run/load"
        if (folder / "operations-9.jsonl").exists():
            return
        (folder / "operations-9.jsonl").write_bytes(msgspec.json.encode(missed) + b"\n")
        with (folder / MARKS).open("ab") as file:
            file.write(msgspec.json.encode(ended) + b"\n")

    folder = recorded(tmp_path, short(), Unrecorded(linger))
    assert incidents(folder) == [
        (Cause.LINGERED, "stage 1 of 1 (storm) ended with 4 users that had not stopped."),
        (
            Cause.LINGERED,
            "load crashers: objects not deleted in time: 1. The first of them: crashers-9-0 was not deleted in time.",
        ),
    ]


def test_a_worker_that_dies_before_the_load_has_begun_ends_the_run(peer: Accepting, tmp_path: Path) -> None:
    pids: list[int] = []

    def kill_first(pid: int) -> None:
        pids.append(pid)
        if pid == pids[0]:
            psutil.Process(pid).kill()

    folder = recorded(tmp_path, short(workers=2), Unrecorded(started=kill_first))
    assert incidents(folder) == [
        (Cause.LOAD, "The worker 1 of the load ended with signal 9 (Killed); see load/worker-1.log."),
        (Cause.LOAD, "The load had not begun then, and was abandoned."),
    ]
    assert folder.run.marks() == ()
    assert peer.paths("POST") == []


def test_a_worker_on_another_machine_that_goes_away_ends_its_part_of_the_load(peer: Accepting, tmp_path: Path) -> None:
    master = Address(LOOPBACK, free_port())
    with remote_workers(master, tmp_path / "kubeconfig") as (worker,):

        def kill() -> None:
            if peer.paths("POST"):
                worker.kill()

        longer = msgspec.structs.replace(SHORT, duration_s=600)
        the_plan = msgspec.structs.replace(plan(stages=(longer,), workers=1), listen=str(master))
        folder = recorded(tmp_path, the_plan, Unrecorded(kill))
    host = socket.gethostname()
    assert incidents(folder) == [(Cause.LOAD, f"The worker 1 of the load ({host}) went away before the load was over.")]
    assert "drain" not in [mark.what for mark in folder.run.marks()]
    assert peer.paths("DELETE") == ["pods"]


LOSES_ONE = """
from locust.exception import RPCError
from locust.rpc import zmqrpc
from load.messages import RECORD
send = zmqrpc.BaseSocket.send
def send_all_but_one(self, message):
    if message.type == RECORD and message.data["serial"] == 1:
        raise RPCError("broken")
    send(self, message)
zmqrpc.BaseSocket.send = send_all_but_one
"""


def test_a_record_that_a_worker_on_another_machine_lost_leaves_the_load_open(peer: Accepting, tmp_path: Path) -> None:
    master = Address(LOOPBACK, free_port())
    the_plan = msgspec.structs.replace(short(workers=1), listen=str(master))
    with remote_workers(master, tmp_path / "kubeconfig", twist=LOSES_ONE) as (worker,):
        folder = recorded(tmp_path, the_plan, Unrecorded())
        assert worker.ended()[0] == 0
    sentence = f"The worker 1 of the load ({socket.gethostname()}) sent 1 record that did not arrive."
    assert incidents(folder) == [(Cause.LOAD, sentence)]
    results = judge_run(folder.run)
    assert [each.partition(", ")[2] for each in results.incidents] == [f"load: {sentence}"]
    (verdict,) = (each for each in results.verdicts if each.slo == "load-as-planned")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert sentence in verdict.sentence


def test_what_a_load_missed_is_reported_by_load_and_step() -> None:
    def missed(load: str, what: str, pod: str) -> Operation:
        return Operation(load=load, what=what, pod=pod, sent_ns=1, error=f"{pod}.")

    operations = [
        missed("crashers", "not created", "crashers-0-3"),
        missed("crashers", "not created", "crashers-0-4"),
        missed("healthy", "not started", "healthy-0-1"),
        missed("healthy", "not deleted", "healthy-0-1"),
    ]
    assert list(misses(operations)) == [
        (Cause.LOAD, "load crashers: objects not created in time: 2. The first of them: crashers-0-3."),
        (Cause.LINGERED, "load healthy: objects not deleted in time: 1. The first of them: healthy-0-1."),
    ]
