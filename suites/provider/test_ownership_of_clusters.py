"""A cluster leaves nothing behind, however its owner ends; and only what is to stay stays."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crashloop.cluster.ownership import ClusterRecord, ClusterStore, list_clusters
from crashloop.cluster.processes import marked_processes
from crashloop.cluster.provider import Capability, Cluster
from crashloop.cluster.providers import owning_provider
from crashloop.cluster.removal import reap, remove, remove_all
from crashloop.errors import ClusterError, UsageError
from crashloop.kube.answers import ApiUnreachable
from crashloop.kube.client import KubeApi
from crashloop.progress import SilentProgress
from crashloop.waiting import wait_until

from .conftest import Kit, node
from .pods import counting_pod
from .traces import left_since, traces

NAME = "kit-own"

Owner = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def _needs_a_provider_that_makes_clusters(kit: Kit) -> None:
    kit.needs(Capability.KUBELET_PROFILES)


@pytest.fixture
def before(cluster: Cluster) -> set[str]:
    """Traces on the host before the test; the shared cluster is up all the time."""
    return traces(of=NAME)


@pytest.fixture
def owner(kit: Kit) -> Iterator[Owner]:
    """Starts a process that owns a cluster."""
    started: list[subprocess.Popen[str]] = []

    def start(what: str) -> "subprocess.Popen[str]":
        arguments = (kit.provider.name, NAME, kit.settings["kubernetes_version"], json.dumps(kit.own), what)
        script = Path(__file__).parent / "owner.py"
        process = subprocess.Popen(
            [sys.executable, str(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
    reap()


def wait_until_up(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"


def record() -> ClusterRecord | None:
    return next((each for each in list_clusters() if each.name == NAME), None)


def has_begun() -> bool:
    return record() is not None


def has_an_api_server() -> bool:
    """Whether the API server answers, which is when kubelets start."""
    found = record()
    if found is None or not Path(found.kubeconfig).exists():
        return False
    try:
        return KubeApi(found.kubeconfig).nodes() is not None
    except ApiUnreachable:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("moment", [has_begun, has_an_api_server], ids=lambda moment: moment.__name__)
def test_nothing_is_left_of_a_start_that_was_interrupted(
    owner: Owner, before: set[str], moment: Callable[[], bool], number: signal.Signals
) -> None:
    process = owner("hold")
    wait_until(moment.__name__, moment, timeout_s=120, every_s=0.02)
    process.send_signal(number)
    process.wait(120)
    assert left_since(before, of=NAME) == set()


@pytest.mark.parametrize("all_of_it", [False, True], ids=["owner", "everything"])
def test_the_next_start_removes_a_cluster_whose_owner_was_killed(
    owner: Owner, before: set[str], all_of_it: bool
) -> None:
    process = owner("hold")
    wait_until_up(process)
    process.kill()
    process.wait()
    if all_of_it:
        for pid in marked_processes(ClusterStore().find(NAME).path):
            os.kill(pid, signal.SIGKILL)
    assert left_since(before, of=NAME) != set()
    orphan = record()
    assert orphan is not None
    assert (orphan.owner_alive, orphan.kept) == (False, False)
    assert NAME in reap()
    assert left_since(before, of=NAME) == set()


def test_a_kept_cluster_outlives_its_owner_until_it_is_taken_down(kit: Kit, owner: Owner, before: set[str]) -> None:
    process = owner("keep")
    wait_until_up(process)
    process.wait(120)
    assert NAME not in reap()
    kept = record()
    assert kept is not None
    assert (kept.owner_alive, kept.kept, kept.nodes) == (False, True, ("node-stock",))
    again = owning_provider(kit.provider.name).attach(NAME)
    again.restart_kubelet("node-stock")
    api = KubeApi(again.info.kubeconfig)
    with counting_pod(api, again, node="node-stock") as pod:
        pod.count_beyond(1)
    again.release()
    last = owning_provider(kit.provider.name).attach(NAME)
    last.down()
    assert left_since(before, of=NAME) == set()


def test_a_cluster_in_use_is_not_removed_without_force(cluster: Cluster, api: KubeApi) -> None:
    with pytest.raises(UsageError, match=f"clusters in use: .*{cluster.info.name}"):
        remove_all()
    with pytest.raises(UsageError, match=f"cluster '{cluster.info.name}': it is in use"):
        remove(cluster.info.name)
    assert api.nodes()


def test_two_clusters_run_side_by_side(kit: Kit, cluster: Cluster, api: KubeApi, before: set[str]) -> None:
    with kit.up(NAME, node("node-stock", "stock")) as other:
        other_api = KubeApi(other.info.kubeconfig)
        with counting_pod(api, cluster, node="node-stock") as pod:
            with counting_pod(other_api, other, node="node-stock") as neighbour:
                neighbour.count_beyond(pod.count() + 3)
            other.down()
            pod.count_beyond(pod.count() + 3)
    assert left_since(before, of=NAME) == set()


def test_a_node_whose_kubelet_refuses_its_profile_is_named_and_nothing_is_left(kit: Kit, before: set[str]) -> None:
    with pytest.raises(ClusterError) as caught, kit.up(NAME, node("node-bad", "max-301s")):
        pass
    message = str(caught.value)
    assert message.startswith("node node-bad (profile max-301s): kubelet ended with exit code 1")
    assert "must be set between 1s and 300s" in message
    assert left_since(before, of=NAME) == set()


def test_a_node_that_cannot_be_added_leaves_the_cluster_as_it_was(
    kit: Kit, cluster: Cluster, api: KubeApi, before: set[str]
) -> None:
    kit.needs(Capability.NODES_CHANGE)
    nodes = {each["metadata"]["name"] for each in api.nodes()}
    with pytest.raises(ClusterError, match="node node-bad"):
        cluster.add_nodes((node("node-bad", "max-301s"),), SilentProgress())
    assert {each["metadata"]["name"] for each in api.nodes()} == nodes
    assert left_since(before, of=NAME) == set()
