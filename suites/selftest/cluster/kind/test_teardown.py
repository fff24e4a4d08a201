"""Removing what a kind cluster has left, when its Docker answers and when it does not, and nothing that others have made."""

import logging
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.kind.provider import KindProvider
from crashloop.cluster.ownership import ClusterStore, OutOfReach, StateFolder, list_clusters
from crashloop.cluster.removal import reap, remove
from crashloop.errors import UsageError
from suites.selftest.kit.kind_kit import Daemon, begun, blueprint, calls, fake_docker, store_in

ITS_DOCKER = "unix:///its/docker.sock"


@pytest.fixture
def store(tmp_path: Path) -> ClusterStore:
    return store_in(tmp_path)


def orphan(store: ClusterStore, *, made: bool = True, up: bool = True) -> StateFolder:
    """A kind cluster whose owner is gone; not `made`: the owner ended before it began; not `up`: while it was made."""
    state = begun(store)
    if made:
        content = blueprint("stock", state_folder=str(state.path), docker={"DOCKER_HOST": ITS_DOCKER})
        (state.path / "blueprint.json").write_bytes(msgspec.json.encode(content))
    if made and up:
        state.kubeconfig.touch()
    state.release()
    return state


def test_containers_and_network_go_on_the_docker_that_made_them(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = Daemon(tmp_path, monkeypatch)
    state = orphan(store)
    docker.add("crashloop-demo-control-plane", "/lib/modules", state.path / "nodes" / "crashloop-demo-control-plane")
    docker.add("crashloop-demo-worker", f"/host_mnt{state.path}/nodes/stock")
    assert reap(store) == ("demo",)
    assert docker.names == []
    assert not docker.network.exists()
    assert {call.split()[0] for call in calls(docker.log)} == {ITS_DOCKER}
    assert f"{ITS_DOCKER} rm --force --volumes crashloop-demo-control-plane crashloop-demo-worker" in calls(docker.log)
    assert list_clusters(store) == ()


def test_containers_of_the_same_name_that_mount_nothing_of_the_state_folder_stay(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    docker = Daemon(tmp_path, monkeypatch)
    state = orphan(store)
    docker.add("crashloop-demo-control-plane", "/lib/modules", f"{state.path}-2/nodes/stock")
    docker.add("crashloop-demo-worker", state.path / "nodes" / "stock")
    with caplog.at_level(logging.WARNING):
        assert reap(store) == ("demo",)
    assert docker.names == ["crashloop-demo-control-plane"]
    assert docker.network.exists()
    assert caplog.messages == [
        "network crashloop-demo: left in place, since other containers use it (crashloop-demo-control-plane)"
    ]


def test_containers_that_are_still_being_made_for_a_killed_client_are_removed_too(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = orphan(store, up=False)
    looks, containers = tmp_path / "looks", tmp_path / "containers"
    cases = f"""'ps '*label=*)
echo >>{looks}
[ "$(wc -l <{looks})" != 2 ] || echo {state.path} >{containers}/first
ls {containers} ;;
'rm '*' first') mv {containers}/first {containers}/second ;;"""
    docker = Daemon(tmp_path, monkeypatch, cases)
    docker.network.touch()
    assert reap(store) == ("demo",)
    assert docker.names == []
    assert not docker.network.exists()


def test_a_network_that_is_in_use_for_a_moment_is_tried_again(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = tmp_path / "tried"
    busy = "network crashloop-demo has active endpoints"
    docker = Daemon(
        tmp_path,
        monkeypatch,
        f"'network rm '*) [ -e {tried} ] || {{ touch {tried}; echo '{busy}' >&2; exit 1; }}; rm {tmp_path}/network ;;",
    )
    docker.network.touch()
    orphan(store)
    assert reap(store) == ("demo",)
    assert not docker.network.exists()


def test_a_docker_that_does_not_answer_stops_nobody_and_is_tried_again(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_docker(tmp_path, monkeypatch, "*) echo 'Cannot connect to the Docker daemon' >&2; exit 1 ;;")
    orphan(store)
    assert reap(store) == ()
    with pytest.raises(OutOfReach) as caught:
        remove("demo", store)
    assert str(caught.value) == (
        "cluster 'demo': its Docker (unix:///its/docker.sock) does not answer, so its containers cannot be removed.\n"
        "Start that Docker; the next start of crashloop, or `crashloop down`, removes them."
    )
    assert [each.name for each in list_clusters(store)] == ["demo"]


def test_nothing_is_asked_of_docker_for_a_cluster_that_was_never_begun(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    orphan(store, made=False)
    assert reap(store) == ("demo",)


def test_a_cluster_that_never_came_up_cannot_be_used(store: ClusterStore) -> None:
    orphan(store, made=False)
    with pytest.raises(UsageError, match="cluster 'demo': it never came up"):
        KindProvider(store=store).attach("demo")
