"""The input of a checker: one scenario as declared, as predicted and as recorded."""

from typing import Any

import msgspec

from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory, Recording
from crashloop.model.prediction import Prediction
from crashloop.model.restart import Decided, decide
from crashloop.spec.policy import Action
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario


class Memo:
    """What the judgements on one recorded scenario have in common, worked out once; keys begin with the model's variants."""

    def __init__(self) -> None:
        self.predictions: dict[frozenset[str], Prediction] = {}
        self.delays: dict[tuple[frozenset[str], str, str], tuple[Any, ...]] = {}
        """By pod uid and container: crashloop.checks.measured_delay.Delay."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a checker of a pod scenario may look at."""

    scenario: PodScenario
    profile: KubeletProfile
    prediction: Prediction
    recording: Recording
    gates: dict[str, bool]
    """The feature gates of the node."""
    memo: Memo = msgspec.field(default_factory=Memo)
    parameters: dict[str, Any] = {}
    """From the requirement: such as min_delays."""

    @property
    def pods(self) -> tuple[PodHistory, ...]:
        """The pods in the order of their appearance: one, or more if the scenario recreates it."""
        return self.recording.pods

    @property
    def pod(self) -> PodHistory:
        """The first pod. A case is only made of recordings that hold one."""
        return self.recording.pods[0]

    @property
    def restarts_all(self) -> bool:
        """Whether a rule of the pod can restart all its containers."""
        return any(
            rule.action is Action.RESTART_ALL_CONTAINERS for each in self.scenario.pod.containers for rule in each.rules
        )

    def decided(self, container: str, instance: Instance, *, killed: bool = False) -> Decided:
        """What the model decides after the exit of an instance, with the exit code that was seen."""
        return decide(
            self.scenario.pod,
            self.scenario.pod.container(container),
            instance.exit_code if instance.exit_code is not None else 0,
            gates=self.gates,
            version=self.prediction.version,
            killed=killed,
            deviations=self.prediction.deviations,
        )

    def number(self, parameter: str, default: float) -> float:
        """A numeric parameter of the requirement."""
        return float(self.parameters.get(parameter, default))
