"""What runs over a restart of its kubelet runs on, and stays ready and started."""

import msgspec
import pytest

from crashloop.history.event import Kind
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, Probe, ProbeKind
from crashloop.spec.program import exits_with
from crashloop.verdict import Outcome, Verdict
from sim.faults import CompanyFault, RestartFault
from sim.faults.fault import Fault
from suites.conformance.scenarios import at
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import NO_FAULT, VERSION, recordings_of, verdict_of

OWN = {"PROBE-36": "kubelet-restarted-beside-probes", "RULES-37": "kubelet-restarted-beside-all-kinds"}
TRIALS = {each.requirement.id: each for each in trials() if OWN.get(each.requirement.id) == each.scenario.name}


def verdict(name: str, faults: frozenset[Fault] = NO_FAULT) -> Verdict:
    trial = TRIALS[name]
    return verdict_of(trial.requirement, trial.scenario, *recordings_of(trial.scenario, faults), version=VERSION)


@pytest.mark.parametrize("name", OWN)
def test_a_right_kubelet_leaves_alone_what_runs(name: str) -> None:
    assert verdict(name).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("fault", "what"),
    [(CompanyFault.UNREADY_AFTER_RESTART, "ready"), (CompanyFault.UNSTARTED_AFTER_RESTART, "started")],
)
def test_a_status_that_takes_back_what_no_probe_has_failed_is_a_fail(fault: Fault, what: str) -> None:
    found = verdict("PROBE-36", frozenset({fault}))
    assert found.outcome is Outcome.FAIL
    (finding,) = found.findings
    assert f"is not {what} after a restart of the kubelet (history lines" in finding
    assert finding.endswith("it ran on, was ready before, and no probe of it had failed.")


def test_a_kubelet_that_ends_what_runs_when_it_restarts_is_a_fail() -> None:
    found = verdict("RULES-37", frozenset({RestartFault.KILLS_AT_RESTART}))
    assert found.outcome is Outcome.FAIL
    assert "nobody had asked for that" in found.findings[0]


READINESS = Probe(kind=ProbeKind.READINESS, pattern="FFF", period_s=5)
UNREADY = msgspec.structs.replace(
    scenario(Container(probes=(READINESS,))), interventions=(at(20, InterventionKind.RESTART_KUBELET),)
)


def called_ready(*, after: str = "F") -> list[str]:
    """Its probe fails from the first second on, and answers once more after the restart; a status calls it ready then."""
    history = History(UNREADY).lives("app", (0.5, None, 0), status=False).note(1.0, "app", 0, "readiness.0", "F")
    for at_s, ready in ((2.0, False), (26.0, True)):
        conditions = [{"type": "Ready", "status": str(ready)}, {"type": "ContainersReady", "status": str(ready)}]
        said = history.running("app", 0, 0.5) | {"ready": ready, "started": True}
        history.status(at_s, {"app": said}, conditions=conditions)
        if not ready:
            history.intervention(20.0, "restart-kubelet").node(22.0, started_s=21.0)
            history.note(24.0, "app", 0, "readiness.1", after)
    return told(checked("kept-over-restart", history.ends(40)))


def test_what_was_not_ready_and_is_called_ready_is_a_fail() -> None:
    """kubernetes/kubernetes#131303."""
    assert called_ready() == [
        'FAIL: a status says that "app" is ready after a restart of the kubelet (history lines 13, 32 and 41); it ran on, '
        "was not, and no probe had succeeded."
    ]


def test_what_is_ready_again_by_its_probe_may_be_called_so() -> None:
    (finding,) = called_ready(after="S")
    assert finding.startswith("INCONCLUSIVE: 0 statuses of a probed container")


@pytest.mark.parametrize("ended_s", [10.0, 40.0], ids=["between-create-and-start", "long-after"])
def test_a_start_that_its_kubelet_did_not_live_to_make_leaves_open_what_is_stated(ended_s: float) -> None:
    """The container that was only created waits, without the exit before it, which is removed for it."""
    history = History(scenario(app(exits_with(1, after_s=2.0)))).lives("app", (1.0, 3.0, 1), status=False)
    history.runtime(10.0, Kind.CREATED, "app", "app-1").runtime(10.2, Kind.REMOVED, "app", "app-0")
    history.intervention(ended_s, "restart-kubelet", ended_s=ended_s + 0.5)
    waits = {"name": "app", "restartCount": 1, "ready": False, "state": {"waiting": {"reason": "ContainerCreating"}}}
    history.status(50.0, {"app": waits}, phase="Pending")
    history.lives("app", (50.5, None, 0), first=2, status=False)
    history.status(51.0, {"app": history.running("app", 2, 50.5)}).ends(60)
    found = [*told(checked("pod-phase", history)), *told(checked("last-exit", history))]
    kinds = {each.split(":")[0] for each in found if "Pending (" in each or "shows no last exit" in each}
    assert len(found) == 2
    assert kinds == ({"INCONCLUSIVE"} if ended_s < 20 else {"FAIL"})
