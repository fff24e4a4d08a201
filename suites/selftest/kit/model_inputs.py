"""What the self-tests of the model ask it: containers, nodes, scenarios, lives and pod specs in a line each."""

from collections.abc import Sequence
from typing import Any

from crashloop.model.api_server import Answer, FieldError, answer_to_create
from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve
from crashloop.model.lives import Lived, Observed
from crashloop.model.prediction import Prediction, predict
from crashloop.model.restart import Decided, Decision, decide
from crashloop.model.variants import DOCUMENTED
from crashloop.spec.pod import Container, ContainerKind, Pod, RestartPolicy, RestartRule
from crashloop.spec.profile import UNSET, KubeletProfile
from crashloop.spec.scenario import Mode, PodScenario, Until
from crashloop.spec.version import KubernetesVersion

V1_33, V1_34, V1_35, V1_36, V1_37 = VERSIONS = tuple(KubernetesVersion(1, minor) for minor in (33, 34, 35, 36, 37))
ALWAYS, ON_FAILURE, NEVER = RestartPolicy.ALWAYS, RestartPolicy.ON_FAILURE, RestartPolicy.NEVER
DEFAULT = Curve(10, 300)


def profile(period: Any = UNSET, **gates: bool) -> KubeletProfile:
    """A profile named `node`."""
    config: dict[str, Any] = {"featureGates": gates}
    if period is not UNSET:
        config["crashLoopBackOff"] = {"maxContainerRestartPeriod": period}
    return KubeletProfile(name="node", config=config)


def scenario(
    *containers: Container, policy: RestartPolicy = ALWAYS, until: Until | None = None, mode: Mode = Mode.NATURAL
) -> PodScenario:
    pod = Pod(containers=containers, restart_policy=policy)
    return PodScenario(name="tried", profile="node", pod=pod, until=until or Until(), mode=mode)


def predicted(
    *containers: Container,
    policy: RestartPolicy = ALWAYS,
    node: KubeletProfile | None = None,
    deviations: frozenset[str] = DOCUMENTED,
) -> Prediction:
    """The prediction on 1.37, at a maximum of 2 s unless said otherwise."""
    return predict(scenario(*containers, policy=policy), node or profile("2s"), V1_37, deviations)


def decisions(prediction: Prediction, name: str = "app") -> list[Decision]:
    return [each.decision for each in prediction.containers[name].exits]


def restarts(prediction: Prediction) -> dict[str, int | None]:
    return {name: each.restarts for name, each in prediction.containers.items()}


def container(
    policy: RestartPolicy | None = None, *rules: RestartRule, kind: ContainerKind = ContainerKind.REGULAR
) -> Container:
    return Container(kind=kind, restart_policy=policy, rules=rules)


def decided(
    container: Container,
    exit_code: int,
    pod_policy: RestartPolicy = ALWAYS,
    *,
    gates: dict[str, bool] | None = None,
    version: KubernetesVersion = V1_37,
    killed: bool = False,
    deviations: frozenset[str] = DOCUMENTED,
) -> Decided:
    others = () if container.kind is ContainerKind.REGULAR else (Container(name="main"),)
    pod = Pod(containers=(container, *others), restart_policy=pod_policy)
    return decide(pod, container, exit_code, gates=gates or {}, version=version, killed=killed, deviations=deviations)


def judged(lives: Sequence[Observed], curve: Curve = DEFAULT, deviations: frozenset[str] = DOCUMENTED) -> list[Due]:
    return list(dues(curve, lives, version=V1_37, mode=Mode.ANNOTATED, deviations=deviations))


def delays(lives: Sequence[Observed], curve: Curve = DEFAULT, deviations: frozenset[str] = DOCUMENTED) -> list[float]:
    return [due.delay_s for due in judged(lives, curve, deviations)]


def crashing(curve: Curve, runs_s: Sequence[float], late_s: float = 0.0) -> list[Lived]:
    """Lives of those lengths, each restarted `late_s` after its delay."""
    lives: list[Lived] = []
    start_s = 0.0
    for run_s in runs_s:
        lives.append(Lived(start_s, start_s + run_s))
        start_s += run_s + judged(lives, curve)[-1].delay_s + late_s
    return lives


def rule(*values: Any, action: str | None = "Restart", operator: str = "In") -> dict[str, Any]:
    """A restart rule as a manifest has it."""
    codes = {"operator": operator, "values": list(values)}
    return {"exitCodes": codes} if action is None else {"action": action, "exitCodes": codes}


def answered(
    container: dict[str, Any],
    *,
    field: str = "containers",
    version: KubernetesVersion = V1_37,
    gates: dict[str, bool] | None = None,
) -> Answer:
    """What the API server says to a pod with this one container."""
    return answer_to_create({field: [{"name": "c", **container}]}, gates=gates or {}, version=version)


def errors_of(container: dict[str, Any], **options: Any) -> list[FieldError]:
    """Its findings, for a container that is not stored."""
    found = answered(container, **options)
    assert (found.code, found.stored) == (422, None)
    return list(found.errors)
