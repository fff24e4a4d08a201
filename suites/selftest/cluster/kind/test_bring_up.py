"""A cluster that does not come up: it says why, leaves nothing of its own, and leaves alone what others have made."""

from pathlib import Path

import pytest

from crashloop.cluster.kind.cluster import KindCluster
from crashloop.cluster.kind.plan import IMAGES_OWN
from crashloop.cluster.kubelets import KubeletProgram, Kubelets
from crashloop.errors import ClusterError, CrashloopError, PrerequisiteError, UsageError
from crashloop.progress import SilentProgress
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import Daemon, begun, blueprint, calls, store_in, write_script

SEEN = "'run '*'source={state}/kind.yaml,'*) cat {state}/kind.yaml ;;"


class Attempt:
    """Bringing up the cluster `demo` with a `kind` that fails, as the provider does it."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.store = store_in(folder)
        self.folder = folder
        self.state = self.store.root / "demo"
        self._kind = write_script(folder / "bin" / "kind", kind)

    def error(self, kind: type[CrashloopError], *, logs: Path | None = None) -> str:
        """The message of the error in which it ends."""
        state = begun(self.store)
        made_from = blueprint("stock", state_folder=str(state.path), kind=str(self._kind))
        kubelets = Kubelets(
            KubeletProgram(path=IMAGES_OWN, version="1.37.1"), api_server="1.37.1", settings=settings_for(self.folder)
        )
        cluster = KindCluster(made_from, state=state, store=self.store, kubelets=kubelets)
        with pytest.raises(kind) as caught:
            try:
                cluster.start(SilentProgress())
            except CrashloopError as error:
                cluster.abandon(error, logs=logs)
                raise
        return str(caught.value)


def test_a_name_that_a_cluster_of_somebody_else_bears_is_refused_and_that_cluster_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = Daemon(tmp_path, monkeypatch)
    docker.add("crashloop-demo-control-plane", "/lib/modules")
    attempt = Attempt(tmp_path, f"touch {tmp_path}/kind-was-called")
    assert attempt.error(UsageError) == (
        "cluster 'demo': Docker has container crashloop-demo-control-plane, network crashloop-demo, not made by crashloop.\n"
        "Choose another name, or remove those: `kind delete cluster --name crashloop-demo`, "
        "`docker network rm crashloop-demo`."
    )
    assert docker.names == ["crashloop-demo-control-plane"]
    assert docker.network.exists()
    assert not any(" rm " in call for call in calls(docker.log))
    assert not (tmp_path / "kind-was-called").exists()
    assert not attempt.state.exists()


def test_a_network_of_that_name_is_somebody_elses_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = Daemon(tmp_path, monkeypatch)
    docker.network.touch()
    message = Attempt(tmp_path, "exit 1").error(UsageError)
    assert message.startswith("cluster 'demo': Docker has network crashloop-demo, not made by crashloop.")
    assert docker.network.exists()


def test_a_docker_with_other_files_than_ours_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Daemon(tmp_path, monkeypatch, "'run '*) echo 'bind source path does not exist' >&2; exit 125 ;;")
    attempt = Attempt(tmp_path, f"touch {tmp_path}/kind-was-called")
    message = attempt.error(PrerequisiteError)
    assert message.startswith(f"cluster demo: its Docker does not see {attempt.state}/kind.yaml")
    assert message.endswith("or set CRASHLOOP_STATE_DIR to a folder that has one path for both.")
    assert not (tmp_path / "kind-was-called").exists()
    assert not attempt.state.exists()


def test_what_the_nodes_of_a_cluster_that_did_not_come_up_have_told_is_kept_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = store_in(tmp_path).root / "demo"
    attempt = Attempt(
        tmp_path,
        f"echo {state} >{tmp_path}/containers/crashloop-demo-worker; touch {tmp_path}/network\n"
        "echo 'ERROR: failed to join node' >&2; exit 1",
    )
    cases = f"""{SEEN.format(state=state)}
'exec crashloop-demo-worker '*'cat /var/log/kubelet.log') echo 'no route to the API server' ;;"""
    docker = Daemon(tmp_path, monkeypatch, cases)
    logs = tmp_path / "run" / "logs"
    message = attempt.error(ClusterError, logs=logs)
    assert message.startswith("kind cluster crashloop-demo: ")
    assert message.splitlines()[-2:] == ["  ERROR: failed to join node", f"Logs of its nodes: {logs}"]
    assert (logs / "stock" / "kubelet.log").read_text() == "no route to the API server\n"
    assert docker.names == []
    assert not docker.network.exists()
    assert not attempt.state.exists()


EXITS = "'exec crashloop-demo-worker '*'exits kubelet') echo 1 ;;"
"""The kubelet's service has recorded an exit."""


def joining(folder: Path) -> Attempt:
    """An attempt whose `kind` makes one node, which does not join."""
    state = store_in(folder).root / "demo"
    return Attempt(folder, f"echo {state} >{folder}/containers/crashloop-demo-worker; exit 1")


@pytest.mark.parametrize(
    "line", ["INFO: detected cgroup v1", "[  OK  ] Reached target \033[1mmulti-user\033[0m - Multi-User System."]
)
def test_a_kubelet_that_ended_in_a_node_that_is_up_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    cases = f"""{SEEN.format(state=store_in(tmp_path).root / "demo")}
'logs crashloop-demo-worker') echo '{line}' ;;
{EXITS}"""
    Daemon(tmp_path, monkeypatch, cases)
    message = joining(tmp_path).error(ClusterError)
    assert message.startswith("node stock (profile stock): kubelet ended with exit code 1 while it was starting.")


def test_no_command_runs_in_a_node_that_is_still_booting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = f"""{SEEN.format(state=store_in(tmp_path).root / "demo")}
'logs crashloop-demo-worker') echo 'INFO: detected cgroup v2' ;;
{EXITS}"""
    docker = Daemon(tmp_path, monkeypatch, cases)
    assert joining(tmp_path).error(ClusterError).startswith("kind cluster crashloop-demo: ")
    assert not any(" exec " in call for call in calls(docker.log))


def test_logs_that_nobody_could_read_are_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Daemon(tmp_path, monkeypatch, SEEN.format(state=store_in(tmp_path).root / "demo"))
    message = Attempt(tmp_path, "echo 'ERROR: no' >&2; exit 1").error(ClusterError, logs=tmp_path / "logs")
    assert message.splitlines()[-1] == "  ERROR: no"
