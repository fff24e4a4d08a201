"""A deviation excuses what its entry says and nothing beside it: each has a neighbour, a kubelet that is almost like it.

A neighbour is judged on a scenario in which the kubelet as it is shows the deviation, and is a FAIL that nothing excuses.
"""

from functools import cache
from typing import Any, NamedTuple

import msgspec
import pytest

from crashloop.deviations import load_deviations
from crashloop.requirements import load_requirements
from crashloop.spec.requirement import Deviation
from crashloop.verdict import Outcome, Verdict
from sim import CALM
from sim.behaviour import CORRECT, S
from suites.selftest.kit.fault_scenarios import trials
from tools.trials import SEED, VERSION, Trial, recorded, simulated, verdict_of


class Neighbour(NamedTuple):
    """A scenario that shows a deviation, and the answers that a kubelet close to it changes; `what` says them in words."""

    scenario: str
    what: str
    change: dict[str, Any]


CRASHES = "crashes where it is known to refuse", {"crashes_on_invalid": True}
NEIGHBOURS = {
    "gate-off-refuses-start": Neighbour("start-max-gate-off-but-set", *CRASHES),
    "gate-off-blocks-rollback": Neighbour("start-max-gate-off-but-set", *CRASHES),
    "gate-off-breaks-skew": Neighbour("start-max-2s-default-gates-v1-34-4", *CRASHES),
    "reduced-decay-keeps-300s": Neighbour("to-the-maximum-reduced-decay", "has no maximum at all", {"capped": False}),
    "maximum-compared-in-milliseconds": Neighbour(
        "start-max-300s0009", "accepts it and states half of it", {"configz_share": 0.5}
    ),
    "restart-rules-off-refuses-start": Neighbour(
        "start-rules-off-alone", "names another reason", {"refuses_valid": True}
    ),
    "counter-collected-while-waiting": Neighbour("runs-590s-max-20s", "forgets after 570 s", {"expiry_ns": 570 * S}),
    "counter-collected-at-the-maximum": Neighbour("runs-400s-stock", "forgets after 650 s", {"expiry_ns": 650 * S}),
    "counter-collected-from-long-lives": Neighbour("runs-596s-stock", "never delays", {"delays": False}),
    "failed-starts-lengthen-the-delay": Neighbour(
        "object-goes-and-returns-stock", "triples the delay at each attempt", {"factor": 3.0}
    ),
    "backoff-holds-up-failed-starts": Neighbour(
        "object-comes-during-a-delay-stock",
        "looks again after three times what remains of the delay",
        {"slow_retry_above_ns": 10 * S},
    ),
    "two-free-restarts-after-kills": Neighbour(
        "startup-loop-at-the-cap", "never delays after a kill", {"delays_killed": False}
    ),
    "clean-exit-after-kill-ends-pod": Neighbour(
        "liveness-kill-with-clean-exit", "ends the pod as Failed", {"always_failed": True}
    ),
    "rules-match-kills": Neighbour(
        "liveness-kill-beside-another", "restarts the pod's other containers too", {"siblings_too": True}
    ),
    "rules-match-kills-and-hang": Neighbour(
        "liveness-kill-of-the-only-one", "ends the pod as Failed", {"phase_while_all_wait": "Failed"}
    ),
    "restart-all-without-backoff": Neighbour(
        "restart-all-again-and-again", "restarts 4 s late", {"reset_late_ns": 4 * S}
    ),
    "restart-all-hides-exit-code": Neighbour("restart-all-every-kind", "shows no exit", {"states_last_end": "never"}),
    "restart-all-stays-running": Neighbour("restart-all-every-kind", "says Failed", {"phase_in_reset": "Failed"}),
    "restart-all-loses-probes": Neighbour("restart-all-probes", "heeds no readiness probe", {"heeds_readiness": False}),
    "never-gets-no-second-sandbox": Neighbour(
        "sandbox-killed-under-never", "ends the pod as Failed", {"phase_while_all_wait": "Failed"}
    ),
    "success-gets-no-second-sandbox": Neighbour(
        "sandbox-killed-after-success", "ends the pod as Failed", {"phase_while_all_wait": "Failed"}
    ),
    "new-sandbox-hides-exits-of-init-containers": Neighbour(
        "sandbox-killed-under-a-sidecar", "shows no exit of any container", {"states_last_end": "never"}
    ),
    "new-sandbox-forgets-delays-of-init-containers": Neighbour(
        "sandbox-killed-during-an-init-delay", "never delays init containers", {"delays_init": False}
    ),
    "new-sandbox-runs-containers-under-never-again": Neighbour(
        "sandbox-killed-beside-never", "restarts it after each exit", {"heeds_container_policy": False}
    ),
    "probe-failures-go-on": Neighbour(
        "liveness-third-failure-after-a-restart", "kills at the second failure", {"extra_failures": -1}
    ),
    "probe-successes-go-on": Neighbour(
        "readiness-after-a-restart", "takes one success for enough", {"ready_after": "one"}
    ),
    "restart-all-off-rejects-pod": Neighbour(
        "restart-all-without-its-gate", "rejects it for another reason", {"rejects_as": "UnexpectedAdmissionError"}
    ),
    "restart-all-exhausts-backoff-limit": Neighbour(
        "job-restarts-all-at-once", "says Failed meanwhile", {"phase_in_reset": "Failed"}
    ),
    "api-server-drops-container-policies": Neighbour(
        "never-under-always-without-the-gate", "keeps rules", {"api_keeps_rules_when_off": True}
    ),
    "ended-pods-are-replaced-at-once": Neighbour(
        "deployment-under-never", "makes two pods for the first", {"replaces": "twice"}
    ),
    "pod-start-measured-twice": Neighbour(
        "crashing-max-10s", "has a sample of every sync", {"pod_start_moments": ("every sync",)}
    ),
    "started-carries-over-a-kill": Neighbour(
        "killed-after-starting", "says so of what runs", {"states_started": "running"}
    ),
    "started-comes-with-the-kubelet": Neighbour(
        "kubelet-restarted-beside-unstarted",
        "says so of what runs, before a restart too",
        {"states_started": "running"},
    ),
    "ready-comes-with-the-kubelet": Neighbour(
        "kubelet-restarted-beside-young-unready", "says so before a restart too", {"heeds_readiness": False}
    ),
    "sidecars-are-probed-while-their-pod-ends": Neighbour(
        "deleted-pod-with-a-probed-sidecar", "asks those of all containers", {"probes_at_end": "all"}
    ),
    "what-has-ended-runs-again-without-its-record": Neighbour(
        "records-of-what-has-ended-lost", "runs a completed init container again", {"forgotten": "init too"}
    ),
}
"""By the id of the deviation."""
EACH = pytest.mark.parametrize("deviation", load_deviations(), ids=lambda each: each.id)


def test_each_deviation_has_a_neighbour() -> None:
    assert [each.id for each in load_deviations()] == list(NEIGHBOURS)


@EACH
def test_a_neighbour_of_a_deviation_fails(deviation: Deviation) -> None:
    near = NEIGHBOURS[deviation.id]
    trial = trial_of(deviation, near.scenario)
    assert verdict(trial, {}).deviation == deviation.id
    found = verdict(trial, near.change)
    assert (found.outcome, found.deviation) == (Outcome.FAIL, None), f"{near.what}: {found.findings}"


def verdict(trial: Trial, change: dict[str, Any]) -> Verdict:
    """Of a kubelet with these answers."""
    behaviour = msgspec.structs.replace(CORRECT, **change)
    histories = simulated(trial.scenario.scenarios, behaviour, VERSION, SEED, CALM)
    return verdict_of(trial.requirement, trial.scenario, *map(recorded, histories))


def trial_of(deviation: Deviation, scenario: str) -> Trial:
    """The promise that the deviation breaks, on a scenario of the suite: as declared, or else as of every pod."""
    found = next((each for each in of_scenario(scenario) if each.requirement.id == deviation.requirement), None)
    if found is not None:
        return found
    requirement = load_requirements()[deviation.requirement]
    asked = msgspec.structs.replace(requirement, checkers=requirement.everywhere, parameters={})
    return msgspec.structs.replace(of_scenario(scenario)[0], requirement=asked)


@cache
def of_scenario(name: str) -> tuple[Trial, ...]:
    return tuple(each for each in trials() if each.scenario.name == name)
