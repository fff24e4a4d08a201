"""The recorder: a process of its own that carries out the plan of a run directory and writes its histories.

    python -m crashloop.record.recorder RUN_DIR

It waits for plan.json, brings the cluster up, records, and tears the cluster down as soon as the last scenario is
sealed. It ends when the other end of its standard input is closed. recorder.json holds its state.
Exit codes: those of `crashloop.verdict.ExitCode`.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from crashloop.cluster.provider import Cluster, ClusterRequest
from crashloop.cluster.providers import provider
from crashloop.errors import CrashloopError, PrerequisiteError, UsageError
from crashloop.processors import go_first
from crashloop.record.history_file import seal_unrecorded
from crashloop.record.run_cluster import RecorderSettings, kept_cluster, own_cluster, recorder_settings, run_name
from crashloop.record.scenario_loop import Interrupted, Lifeline
from crashloop.record.stage import Stage, first_requests, record_apart
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Plan
from crashloop.verdict import ExitCode
from crashloop.waiting import wait_until

log = logging.getLogger("crashloop.recorder")

ErrorKind = Literal["usage", "prerequisite", "cluster", "internal"]


class LoggedProgress:
    """Implements `crashloop.cluster.provider.Progress` in recorder.log."""

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        began = time.monotonic()
        log.info("%s ...", text)
        yield
        log.info("%s: %.1f s", text, time.monotonic() - began)


class Recorder:
    """Takes one run from its plan to its end."""

    def __init__(self, run: RunDir, lifeline: Lifeline) -> None:
        self._run = run
        self._lifeline = lifeline
        self._plan: Plan | None = None
        self._crash: BaseException | None = None
        threading.excepthook = self._thread_crashed

    def main(self) -> int:
        """Record the run; the exit code of the process."""
        self._write_state("starting")
        try:
            with self._lifeline.raising():
                self._plan = self._wait_for_plan()
            self._record(self._plan)
            if self._crash is not None:
                raise self._crash
            if self._lifeline.broken.is_set():
                raise Interrupted
        except (Interrupted, SystemExit):
            log.info("interrupted")
            self._seal_the_rest("interrupted", "the recorder was stopped")
            self._write_state("interrupted")
            return ExitCode.INTERRUPTED
        except CrashloopError as error:
            log.error("%s", error)
            return self._failed(str(error), _error_kind(error))
        except Exception as error:
            log.exception("the recorder has crashed")
            return self._failed(f"the recorder has crashed: {type(error).__name__}: {error}", "internal")
        self._write_state("done")
        log.info("done")
        return ExitCode.OK

    def _wait_for_plan(self) -> Plan:
        """The plan, once it is there: tests are collected meanwhile, and an end of that breaks the life line."""
        path = self._run.plan_json
        return wait_until("plan.json", lambda: self._run.plan() if path.exists() else None, timeout_s=float("inf"))

    def _record(self, plan: Plan) -> None:
        settings = recorder_settings(self._run.info().settings)
        if not plan.scenarios:
            return
        shared = plan.shared()
        if not shared.scenarios:
            self._write_state("recording")
            self._record_apart(plan, settings, self._lifeline.raising)
            return
        with ThreadPoolExecutor(1, thread_name_prefix="apart") as pool:
            with self._cluster(shared, settings) as (cluster, lent):
                self._write_state("recording")
                # Not before the first cluster is up: by then all binaries are there.
                apart = pool.submit(self._record_apart, plan, settings, nullcontext)
                try:
                    Stage(self._run, shared, cluster, self._lifeline, LoggedProgress(), lent=lent).record()
                except BaseException:
                    self._lifeline.broken.set()
                    raise
            apart.result()

    def _record_apart(
        self, plan: Plan, settings: RecorderSettings, interruptible: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """The scenarios that have a control plane for themselves. Interruptions are raised in the main thread only."""

        def request(part: Plan, name: str) -> ClusterRequest:
            own = part.scenario(name).control_plane
            where = run_name(self._run.root.absolute() / name)
            return self._request(part, settings, name=where, controllers=own.controllers_version if own else None)

        record_apart(self._run, plan, request, interruptible, self._lifeline, LoggedProgress())

    @contextmanager
    def _cluster(self, plan: Plan, settings: RecorderSettings) -> Iterator[tuple[Cluster, frozenset[str]]]:
        """The cluster of the run, and the nodes of it that were there before."""
        logs, lent = self._run.logs_dir, frozenset[str]()
        if settings.cluster is None:
            request = self._request(plan, settings, name=run_name(self._run.root.absolute()))
            raising, keep = self._lifeline.raising(), settings.keep
            where = own_cluster(plan.provider, request, raising, LoggedProgress(), logs=logs, keep=keep)
        else:
            version, gates = plan.kubernetes_version, plan.feature_gates
            where = kept_cluster(settings.cluster, plan.provider, version=version, gates=gates, logs=logs)
        with where as cluster:
            if settings.cluster is not None:
                lent = frozenset(node.name for node in cluster.info.nodes)
            yield cluster, lent

    def _request(
        self, plan: Plan, settings: RecorderSettings, *, name: str, controllers: str | None = None
    ) -> ClusterRequest:
        """A cluster with the first nodes."""
        return ClusterRequest(
            name=name,
            kubernetes_version=plan.kubernetes_version,
            nodes=first_requests(plan, provider(plan.provider).capabilities),
            feature_gates=plan.feature_gates,
            controllers_version=controllers,
            kubelet_binary=settings.kubelet_binary,
            bin_dir=settings.bin_dir,
            node_image=settings.node_image,
            kind_binary=settings.kind_binary,
            kind_config=settings.kind_config,
            existing=settings.existing,
            logs_dir=str(self._run.logs_dir),
        )

    def _thread_crashed(self, crash: threading.ExceptHookArgs) -> None:
        """A channel that has crashed loses evidence unseen, so nothing goes on without it."""
        self._crash = self._crash or crash.exc_value
        self._lifeline.broken.set()

    def _failed(self, error: str, kind: ErrorKind) -> int:
        self._seal_the_rest("failed", error)
        self._write_state("failed", error=error, error_kind=kind)
        return ExitCode.ERROR

    def _seal_the_rest(self, reason: Literal["interrupted", "failed"], detail: str) -> None:
        """Give every scenario that was not begun a history that says why there is none."""
        if self._plan is None:
            return
        for scenario in self._plan.scenarios:
            path = self._run.history(scenario.name)
            if not path.exists():
                seal_unrecorded(path, scenario, self._plan, reason, detail)

    def _write_state(
        self,
        state: Literal["starting", "recording", "done", "failed", "interrupted"],
        *,
        error: str | None = None,
        error_kind: ErrorKind | None = None,
    ) -> None:
        self._run.write(
            self._run.recorder_json, RecorderState(state=state, pid=os.getpid(), error=error, error_kind=error_kind)
        )


def _error_kind(error: CrashloopError) -> ErrorKind:
    if isinstance(error, UsageError):
        return "usage"
    return "prerequisite" if isinstance(error, PrerequisiteError) else "cluster"


def main(run_dir: Path) -> int:
    """Record the run of a run directory. Raises UsageError if it is none."""
    run = RunDir.open(run_dir)
    go_first()
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        filename=run.recorder_log,
        level=logging.INFO,
        format="%(asctime)s.%(msecs)03dZ %(levelname).1s %(message)s",
        datefmt="%H:%M:%S",
    )
    return Recorder(run, Lifeline()).main()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
