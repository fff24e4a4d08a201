"""How one life of a container ends: by its program, or by its probe.

Theory of operation. A program gives the duration of every life; after its lives the container holds. A probe that fails
for `failure_threshold` periods kills the container, if it still runs; it then exits with `exit_code_on_term`.
Source: documentation, Configure Liveness, Readiness and Startup Probes; a successful startup probe does not run again.
"""

import math

import msgspec

from crashloop.model.restart import Decision
from crashloop.spec.scenario import Container, Probe, ProbeKind


class PlannedEnd(msgspec.Struct, frozen=True):
    """The end of one life. `run_s` is math.inf for a life that holds."""

    run_s: float
    exit_code: int
    killed: bool = False


class PlannedExit(msgspec.Struct, frozen=True, kw_only=True):
    """An exit that the model expects, and what follows it."""

    instance: int
    """Ordinal of the instance that exits: 0 for the first start."""
    exit_code: int
    decision: Decision
    step: str
    """The sentence that led to the decision."""
    killed: bool = False
    """The kubelet had it killed: a probe failed, or another container triggered RestartAllContainers."""


def planned_ends(container: Container) -> tuple[PlannedEnd, ...]:
    """How each life ends if nothing from outside ends it; the last entry is that of every later life."""
    killed_s = math.inf if container.probe is None else _killed_after_s(container.probe)
    killed = PlannedEnd(killed_s, container.exit_code_on_term, killed=True)
    own = (PlannedEnd(life.run_s, life.exit_code) for life in container.program.each_life())
    return (
        *(end if end.run_s <= killed_s else killed for end in own),
        PlannedEnd(math.inf, 0) if killed_s == math.inf else killed,
    )


def _killed_after_s(probe: Probe) -> float:
    if probe.kind is ProbeKind.STARTUP and probe.fails_after_s > 0:
        return math.inf
    return probe.fails_after_s + probe.period_s * probe.failure_threshold
