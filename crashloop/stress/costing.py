"""What one restart cost in a stress run: costs.json, for `crashloop predict --costs`. Pure."""

from collections.abc import Sequence

import msgspec

from crashloop.errors import ObservationError
from crashloop.predict.costs import Costs
from crashloop.slo.costs import costs_of
from crashloop.slo.types import Measured, Phase
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan

AT_REST, UNDER_LOAD = "baseline", "storm"
MIN_RESTARTS = 100


def run_costs(plan: StressPlan, stages: Sequence[Measurement], measured: Measured) -> Costs | None:
    """The costs of a restart, from the stage with the most restarts that did not drive the host to its limit.

    Where all did, from the one with the most. What is sustained is the most of those that did. None where no stage
    had enough restarts, or scrapes are missing.
    """
    idle = AT_REST if any(each.phase.name == AT_REST for each in stages) else None
    found = [costs for each in stages if (costs := _of_stage(plan, each, measured, idle)) is not None]
    if not found:
        return None
    below = [each for each in found if each.sustained_per_s is None]
    chosen = max(below or found, key=lambda each: each.restarts)
    sustained = max((each.sustained_per_s for each in found if each.sustained_per_s is not None), default=None)
    return msgspec.structs.replace(chosen, sustained_per_s=sustained)


def _of_stage(plan: StressPlan, stage: Measurement, measured: Measured, idle: str | None) -> Costs | None:
    if stage.phase.name != UNDER_LOAD or not stage.whole:
        return None
    try:
        costs = costs_of(measured, stage.phase, source=_source(plan, stage, stage.phase), idle=idle)
    except ObservationError:
        return None
    return costs if costs.restarts >= MIN_RESTARTS else None


def _source(plan: StressPlan, stage: Measurement, phase: Phase) -> str:
    mix = f" ({stage.stage.mix})" if stage.stage.mix else ""
    profiles = ", ".join(dict.fromkeys(kubelet.name for kubelet in plan.kubelets))
    return (
        f"load {plan.profile.name}{mix}, {phase.seconds:.0f} s, kubelet profile {profiles}, "
        f"Kubernetes {plan.kubernetes_version}, provider {plan.provider}"
    )
