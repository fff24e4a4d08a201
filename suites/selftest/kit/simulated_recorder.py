"""A recorder that needs no cluster: it leaves the histories of a simulated kubelet.

As a plugin of pytest, it takes the place of the recorder. The environment variable SIMULATED_FAULT names what the kubelet
does wrong (sim.FAULTS).
"""

import os
import sys
from pathlib import Path

import msgspec

import fixtures.owner
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.version import KubernetesVersion
from sim import FAULTS
from tools.trials import history_of

FAULT = "SIMULATED_FAULT"


def pytest_configure() -> None:
    fixtures.owner.RECORDER = __name__
    setattr(fixtures.owner, "check_start", lambda *_: None)  # the host need not be able to run a node  # noqa: B010


def main(path: str) -> None:
    """Record the plan of a run."""
    run = RunDir.open(Path(path))
    plan = run.plan()
    version = KubernetesVersion.parse(plan.kubernetes_version)
    by_name = {each.name: each for each in FAULTS}
    faults = frozenset({by_name[os.environ[FAULT]]} if FAULT in os.environ else ())
    for scenario in plan.scenarios:
        events = history_of(scenario, faults, version=version)
        run.history(scenario.name).write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    run.write(run.recorder_json, RecorderState(state="done", pid=os.getpid()))


if __name__ == "__main__":
    main(sys.argv[1])
