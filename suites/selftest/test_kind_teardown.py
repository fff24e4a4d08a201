"""Removing what a kind cluster has left, when its Docker answers and when it does not."""

from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.host_settings import HostSettings
from crashloop.cluster.kind.provider import KindProvider
from crashloop.cluster.ownership import ClusterStore, OutOfReach, StateFolder, list_clusters, new_facts, reap, remove
from crashloop.errors import UsageError

from .kind_kit import blueprint, write_script

RECORDS = """
echo "$DOCKER_HOST $*" >>{log}
case "$1 $2" in
'ps --all') [ -e {log}.gone ] || echo 1234 5678 ;;
'rm --force') touch {log}.gone ;;
'network ls') echo 9abc ;;
esac
"""


@pytest.fixture
def store(tmp_path: Path) -> ClusterStore:
    """A store that leaves this host's settings alone."""
    host = HostSettings(tmp_path / "host-settings.json", sysctls=tmp_path / "sys", folders=())
    return ClusterStore(tmp_path / "state", host=host)


def orphan(store: ClusterStore, *, made: bool = True) -> StateFolder:
    """A kind cluster whose owner is gone; not `made`: the owner ended before it began."""
    facts = new_facts(name="demo", provider="kind", owner_pid=4711, kubernetes_version="1.37.1", nodes=("stock",))
    with store.locked():
        state = store.create(facts)
    if made:
        state.kubeconfig.touch()
        content = blueprint("stock", state_folder=str(state.path), docker={"DOCKER_HOST": "unix:///its/docker.sock"})
        (state.path / "blueprint.json").write_bytes(msgspec.json.encode(content))
    state.release()
    return state


def test_containers_and_network_go_on_the_docker_that_made_them(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    write_script(tmp_path / "bin" / "docker", RECORDS.format(log=log))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    orphan(store)
    assert reap(store) == ("demo",)
    assert log.read_text().splitlines() == [
        f"unix:///its/docker.sock {words}"
        for words in (
            "ps --all --quiet --filter label=io.x-k8s.kind.cluster=crashloop-demo",
            "rm --force --volumes 1234 5678",
            "network ls --quiet --filter name=^crashloop-demo$",
            "network rm crashloop-demo",
        )
    ]
    assert list_clusters(store) == ()


def test_a_docker_that_does_not_answer_stops_nobody_and_is_tried_again(
    store: ClusterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_script(tmp_path / "bin" / "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
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
