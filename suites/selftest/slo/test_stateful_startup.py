"""Start-ups of stateless and of stateful pods are apart: only the former are in the scope of the official SLI."""

from crashloop.slo.events import SAMPLES
from crashloop.slo.judge import judge
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import measured, phase, row, started

PODS = [
    *(started(at, 1.0) for at in range(30)),
    *(started(at, 9.0, stateless=False) for at in range(30)),
    started(5, 2.0, stateless=False, has_init=True),
]


def startup(of: str) -> tuple[Outcome, float | None, int]:
    rule = row({"kind": "samples", "of": of}, {"at_most": 5, "unit": "s"}, percentile=90, min_samples=20)
    verdict = judge(rule, measured(lifecycles=PODS, phases=(phase(0, 60),)))
    return verdict.outcome, verdict.value, verdict.samples


def test_each_kind_of_pod_is_judged_by_its_own_start_ups() -> None:
    assert startup("pod-startup") == (Outcome.PASS, 1.0, 30)
    assert startup("stateful-pod-startup") == (Outcome.FAIL, 9.0, 30)


def test_a_pod_is_of_one_kind() -> None:
    kinds = ("pod-startup", "stateful-pod-startup")
    assert all(sum(len(list(SAMPLES[kind].events(pod))) for kind in kinds) <= 1 for pod in PODS)
