"""What processes hold is counted with those below them: descriptors, sockets, process ids; and the files of a cluster."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from crashloop.cluster.provider import ClusterInfo, Node
from crashloop.measure.processes import Held, files_below, folder_of, held_by
from suites.selftest.kit.recording_site import cluster_info

OPENS = (
    "import socket,sys,threading; kept=[open('/dev/null') for _ in range(5)]+[socket.socket() for _ in range(3)];"
    "threading.Thread(target=sys.stdin.read, daemon=True).start(); print('open', flush=True); threading.Event().wait()"
)


def child(code: str) -> "subprocess.Popen[bytes]":
    there = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert there.stdout is not None
    assert there.stdout.readline()
    return there


def test_descriptors_sockets_and_threads_of_a_process_are_counted() -> None:
    with child("import sys; print('open', flush=True); sys.stdin.read()") as idle, child(OPENS) as busy:
        found = held_by({idle.pid: "idle", busy.pid: "busy"})
        idle.kill()
        busy.kill()
    assert found["busy"].open_files == found["idle"].open_files + 8
    assert (found["busy"].sockets, found["idle"].sockets) == (3, 0)
    assert (found["busy"].process_ids, found["idle"].process_ids) == (2, 1)


def test_a_process_counts_with_the_one_that_owns_it() -> None:
    with child(OPENS) as busy:
        below = held_by({os.getpid(): "test"})["test"]
        apart = held_by({os.getpid(): "test", busy.pid: "busy"})
        busy.kill()
    assert below.sockets == apart["test"].sockets + 3
    assert below.process_ids == apart["test"].process_ids + 2


def test_a_process_that_nobody_reaped_holds_its_id() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
    assert held_by({gone.pid: "gone"})["gone"] == Held(process_ids=1)
    gone.wait()


def test_a_socket_of_this_process_is_one_of_its_files() -> None:
    before = held_by({os.getpid(): "test"})["test"]
    with socket.socket():
        after = held_by({os.getpid(): "test"})["test"]
    assert (after.open_files - before.open_files, after.sockets - before.sockets) == (1, 1)


def info(state: Path, logs: Path | None) -> ClusterInfo:
    nodes = (Node(name="node-1", profile="stock", pod_logs=None if logs is None else str(logs)),)
    return cluster_info(*nodes, kubeconfig=str(state / "kubeconfig"))


def test_files_are_those_below_the_folder_of_a_cluster_whose_nodes_keep_theirs_there(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "node-1").mkdir(parents=True)
    (tmp_path / "kubeconfig").touch()
    (tmp_path / "nodes" / "link").symlink_to("/")
    assert files_below(tmp_path) == 4
    assert folder_of(info(tmp_path, tmp_path / "nodes" / "node-1" / "logs")) == tmp_path
    assert folder_of(info(tmp_path, Path("/var/log/pods"))) is None
    assert folder_of(info(tmp_path, None)) is None
