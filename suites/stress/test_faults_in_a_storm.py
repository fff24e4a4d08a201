"""What breaks in the middle of a stress run ends it in order: with what it has, saying what is missing, leaving nothing."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from crashloop.cluster.ownership import ClusterStore
from crashloop.cluster.processes import STATE_MARK
from crashloop.record.run_cluster import run_name
from crashloop.verdict import ExitCode, Outcome
from crashloop.waiting import wait_until
from suites.stress.started import Running, left_on_host, started, verdict


def test_a_killed_worker_of_the_load_is_reported_and_its_pods_are_removed(tmp_path: Path) -> None:
    """Also: every kind of load works, distributed over two workers."""
    with started("mixed", tmp_path) as running:
        running.wait_for(
            "both workers to work while it is measured",
            lambda: (
                all((running.run.load_dir / f"operations-{number}.jsonl").exists() for number in (1, 2))
                and any(mark.what == "measure" for mark in running.run.marks())
            ),
        )
        kinds = {path.name.partition("-")[0] for path in running.run.history_dir.iterdir()}
        assert {"many", "rules", "restart", "rollout", "demand"} <= kinds
        running.worker(1).kill()
        results = running.ended()
    planned = verdict(results, "load-as-planned")
    assert planned.outcome is Outcome.INCONCLUSIVE
    assert "The worker 1 of the load ended with signal 9 (Killed)" in planned.sentence
    assert results.exit_code == ExitCode.INCONCLUSIVE
    assert verdict(results, "no-early-restart").outcome is Outcome.PASS
    assert verdict(results, "no-lost-restart").outcome is Outcome.PASS
    assert left_on_host(running) == []


def test_ctrl_c_ends_with_what_was_seen(tmp_path: Path) -> None:
    with started("short", tmp_path) as running:
        running.wait_for_restarts(6)
        running.interrupt()
        results = running.ended()
    assert running.process.returncode == results.exit_code == ExitCode.INTERRUPTED
    assert "The run was interrupted." in verdict(results, "load-as-planned").sentence
    assert verdict(results, "no-early-restart").outcome is not Outcome.FAIL
    assert verdict(results, "no-lost-restart").outcome is not Outcome.FAIL
    assert results.totals["pods"] >= 6
    assert left_on_host(running) == []


def test_a_killed_kubelet_is_reported_and_counters_that_it_lost_prove_nothing(tmp_path: Path) -> None:
    with started("killed-kubelet", tmp_path) as running:
        results = running.ended()
    assert any("kill-kubelet of node storm" in each for each in results.incidents)
    assert verdict(results, "load-as-planned").outcome is Outcome.PASS
    assert verdict(results, "no-early-restart").outcome is Outcome.PASS
    assert verdict(results, "no-lost-restart").outcome is Outcome.PASS
    assert verdict(results, "evidence-complete").outcome is Outcome.PASS
    conserved = verdict(results, "restarts-conserved")
    assert conserved.outcome is (Outcome.INCONCLUSIVE if conserved.value else Outcome.PASS), conserved
    assert any("was restarted" in note or "missed" in note for note in conserved.notes), conserved
    assert left_on_host(running) == []


def test_a_restarted_api_server_interrupts_nothing_that_the_runtime_tells(tmp_path: Path) -> None:
    with started("short", tmp_path) as running:
        running.wait_for_restarts(6)
        again = restart_api_server(running)
        results = running.ended()
    again.wait(timeout=30)
    assert verdict(results, "evidence-complete").outcome is Outcome.PASS
    assert verdict(results, "no-early-restart").outcome is Outcome.PASS
    assert verdict(results, "no-lost-restart").outcome is Outcome.PASS
    assert results.exit_code in (ExitCode.OK, ExitCode.INCONCLUSIVE)
    assert left_on_host(running) == []


def restart_api_server(running: Running) -> "subprocess.Popen[bytes]":
    """Kill the API server of a run's own cluster and start it again as it was, beside its etcd."""
    server, etcd = (next(components(running, name)) for name in ("kube-apiserver", "etcd"))
    argv, environment, folder = server.cmdline(), server.environ(), server.cwd()
    os.kill(server.pid, signal.SIGKILL)
    wait_until(
        "the API server to be gone", lambda: next(components(running, "kube-apiserver"), None) is None, timeout_s=20
    )
    return subprocess.Popen(
        ["nsenter", f"--target={etcd.pid}", "--net", "--mount", "--", *argv],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def components(running: Running, name: str) -> Iterator[psutil.Process]:
    """Processes of that name of the run's cluster."""
    state = str(ClusterStore().root / run_name(running.run.root))
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if process.name() == name and alive and process.environ().get(STATE_MARK) == state:
                yield process
