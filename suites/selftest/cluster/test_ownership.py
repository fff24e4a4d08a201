"""Who owns a cluster, and what the next start removes. State folders in a temporary place; no cluster is up."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crashloop.cluster.host_settings import KUBELET_WRITES, HostSettings, to_restore
from crashloop.cluster.ownership import (
    ClusterStore,
    StateFolder,
    list_clusters,
    mark_kept,
    new_facts,
)
from crashloop.cluster.providers import provider
from crashloop.cluster.removal import reap, remove, remove_all
from crashloop.errors import UsageError

HOLDS_THE_LOCK = """
import sys
from pathlib import Path
from crashloop.cluster.ownership import StateFolder
state = StateFolder(Path(sys.argv[1]))
assert state.take()
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def store(tmp_path: Path) -> ClusterStore:
    """A store that leaves this host's settings alone."""
    return ClusterStore(
        tmp_path,
        host=HostSettings(tmp_path / "host-settings.json", sysctls=tmp_path / "sys", cgroups=tmp_path, folders=()),
    )


def create(store: ClusterStore, name: str) -> StateFolder:
    facts = new_facts(name=name, provider="local", owner_pid=4711, kubernetes_version="1.37.1", nodes=("stock",))
    with store.locked():
        return store.create(facts)


def test_a_cluster_is_listed_with_what_is_known_of_it(store: ClusterStore) -> None:
    state = create(store, "one")
    (record,) = list_clusters(store)
    assert (record.name, record.provider, record.owner_pid, record.nodes) == ("one", "local", 4711, ("stock",))
    assert record.kubeconfig == str(state.kubeconfig)
    assert not record.kept


def test_a_name_is_taken_once(store: ClusterStore) -> None:
    create(store, "one")
    with pytest.raises(UsageError, match="cluster 'one': a cluster of this name exists"):
        create(store, "one")


def test_the_last_removal_leaves_neither_folder_nor_lock(store: ClusterStore) -> None:
    create(store, "one")
    create(store, "two")
    remove("one", store)
    assert {path.name for path in store.root.iterdir()} == {"two"}
    remove("two", store)
    assert list(store.root.parent.iterdir()) == []


def test_a_start_that_waits_while_the_last_cluster_is_removed_goes_on(store: ClusterStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            with store.locked():
                waiting = [
                    pool.submit(create, ClusterStore(store.root.parent, host=store.host), name) for name in "abc"
                ]
            names = [each.result().path.name for each in waiting]
            assert {path.name for path in store.root.iterdir()} == set(names)
            assert set(remove_all(store, force=True)) == set(names)
            assert not store.root.exists()


def test_a_cluster_whose_owner_lives_is_left_alone(store: ClusterStore) -> None:
    state = create(store, "one")
    state.release()
    argv = [sys.executable, "-c", HOLDS_THE_LOCK, str(state.path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "taken\n"
        assert list_clusters(store)[0].owner_alive
        assert reap(store) == ()
        with pytest.raises(UsageError, match="cluster 'one': it is in use by process 4711"):
            remove("one", store)
        with pytest.raises(UsageError, match="clusters in use: one"):
            remove_all(store)
        owner.kill()
    assert not list_clusters(store)[0].owner_alive
    assert reap(store) == ("one",)
    assert not state.path.exists()


def test_force_removes_a_cluster_in_use(store: ClusterStore) -> None:
    mine = create(store, "one")
    other = ClusterStore(store.root.parent, host=store.host)
    assert remove_all(other, force=True) == ("one",)
    assert not mine.path.exists()


def test_the_next_start_removes_orphans_and_spares_what_is_kept(store: ClusterStore) -> None:
    for name in ("kept", "orphan"):
        create(store, name).release()
    mark_kept("kept", store)
    assert reap(store) == ("orphan",)
    assert [record.name for record in list_clusters(store)] == ["kept"]
    remove("kept", store)
    assert list_clusters(store) == ()


def test_a_folder_whose_owner_ended_before_it_had_a_name_is_removed(store: ClusterStore) -> None:
    (store.root / "half").mkdir(parents=True)
    assert list_clusters(store) == ()
    assert reap(store) == ("half",)
    assert store.folders() == ()


def test_an_unknown_provider_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="provider 'nomad': unknown; known are local"):
        provider("nomad")


def test_an_unknown_cluster_is_answered_with_those_that_there_are(store: ClusterStore) -> None:
    create(store, "one")
    with pytest.raises(UsageError, match="cluster 'two': unknown on this host; known are: one"):
        remove("two", store)


def test_the_last_cluster_to_go_gives_the_host_its_settings_back(store: ClusterStore, tmp_path: Path) -> None:
    panic = tmp_path / "sys" / "kernel" / "panic"
    panic.parent.mkdir(parents=True)
    panic.write_text("0\n")
    first, second = create(store, "one"), create(store, "two")
    panic.write_text(KUBELET_WRITES["kernel/panic"])
    store.delete(first)
    assert panic.read_text() == "10"
    store.delete(second)
    assert panic.read_text() == "0"


def test_a_limit_is_raised_for_as_long_as_there_are_clusters(store: ClusterStore, tmp_path: Path) -> None:
    limit = tmp_path / "sys" / "fs" / "inotify" / "max_user_instances"
    limit.parent.mkdir(parents=True)
    limit.write_text("128\n")
    state = create(store, "one")
    assert limit.read_text() == "1024"
    store.delete(state)
    assert limit.read_text() == "128"


def test_what_somebody_else_has_set_meanwhile_stays() -> None:
    recorded = {"kernel/panic": "0", "kernel/panic_on_oops": "0", "vm/overcommit_memory": "1"}
    now = {"kernel/panic": "30", "kernel/panic_on_oops": "1", "vm/overcommit_memory": "1"}
    assert to_restore(recorded, now) == {"kernel/panic_on_oops": "0"}


@pytest.fixture
def readable_place() -> Iterator[Path]:
    """A folder that every user can read, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_what_this_user_may_not_write_is_reported_and_stays_written_down(
    readable_place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    setting = readable_place / "sys" / "kernel" / "panic"
    setting.parent.mkdir(parents=True)
    setting.write_text("0\n")
    (readable_place / "mine").mkdir(mode=0o777)
    settings = HostSettings(
        readable_place / "mine" / "settings.json", sysctls=readable_place / "sys", cgroups=readable_place, folders=()
    )
    settings.record()
    setting.write_text("10\n")
    setting.chmod(0o444)
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    try:
        settings.restore()
    finally:
        if was_root:
            os.seteuid(0)
    assert caplog.messages == [
        "host settings: kubelets changed some that this user may not write.\nRun as root: sysctl -w kernel.panic=0"
    ]
    setting.chmod(0o644)
    settings.restore()
    assert setting.read_text() == "0"
    assert list((readable_place / "mine").iterdir()) == []


def test_a_folder_that_the_host_did_not_have_goes_again_if_it_is_empty(tmp_path: Path) -> None:
    folders = (str(tmp_path / "mine"), str(tmp_path / "filled"), str(tmp_path / "theirs"))
    (tmp_path / "theirs").mkdir()
    settings = HostSettings(tmp_path / "settings.json", sysctls=tmp_path / "sys", cgroups=tmp_path, folders=folders)
    settings.record()
    (tmp_path / "mine").mkdir()
    (tmp_path / "filled" / "by-somebody").mkdir(parents=True)
    settings.restore()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["filled", "theirs"]


def test_a_controller_that_the_root_did_not_hand_down_is_taken_back(tmp_path: Path) -> None:
    handed_down = tmp_path / "cgroup.subtree_control"
    handed_down.write_text("memory pids\n")
    settings = HostSettings(tmp_path / "settings.json", sysctls=tmp_path / "sys", cgroups=tmp_path, folders=())
    settings.record()
    handed_down.write_text("cpuset memory pids\n")
    settings.restore()
    assert handed_down.read_text() == "-cpuset"


@pytest.mark.parametrize(
    ("setting", "by_default", "set_by_now"), [("cpuset.cpus", "", "0"), ("io.max", "", "8:0 rbps=1000")]
)
def test_a_controller_that_limits_another_cgroup_by_now_stays(
    tmp_path: Path, setting: str, by_default: str, set_by_now: str
) -> None:
    handed_down, controller = tmp_path / "cgroup.subtree_control", setting.partition(".")[0]
    handed_down.write_text("memory pids\n")
    settings = HostSettings(tmp_path / "settings.json", sysctls=tmp_path / "sys", cgroups=tmp_path, folders=())
    for value, left in ((by_default, f"-{controller}"), (set_by_now, f"{controller} memory pids\n")):
        handed_down.write_text("memory pids\n")
        settings.record()
        handed_down.write_text(f"{controller} memory pids\n")
        (tmp_path / "system.slice").mkdir(exist_ok=True)
        (tmp_path / "system.slice" / setting).write_text(f"{value}\n")
        settings.restore()
        assert handed_down.read_text() == left


def test_controllers_that_the_root_handed_down_before_stay(tmp_path: Path) -> None:
    handed_down = tmp_path / "cgroup.subtree_control"
    handed_down.write_text("cpuset memory pids\n")
    settings = HostSettings(tmp_path / "settings.json", sysctls=tmp_path / "sys", cgroups=tmp_path, folders=())
    settings.record()
    settings.restore()
    assert handed_down.read_text() == "cpuset memory pids\n"
