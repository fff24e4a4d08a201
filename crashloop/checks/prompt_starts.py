"""Checker of how soon containers start behind others, in several pods together.

Theory of operation. A kubelet finds the success of an init container within a second and starts what stands behind it in the
same sync; what stands behind a sidecar it starts in the sync that has started the sidecar, or at the success of its startup
probe. Where such a sync is lost, the next comes 10 s to 16 s later, which no text forbids: one in a hundred may. The containers
that one wait holds back count once, by the last of them. Left open are pods that began again meanwhile, and what waits for an
object.
"""

from collections.abc import Iterator, Sequence

from crashloop.checks.evidence import too_few_in_all
from crashloop.checks.finding import Checked
from crashloop.checks.starts import first_success, startup_probe
from crashloop.checks.waits import Wait, doubt_of, judged_together
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.restarts.absences import missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import seconds

MIN_WAITS = 9
MOST_S = 5.0
"""In quick runs 51 waits took 0.0 s to 1.0 s; the rest is room for a slow host."""


def check_prompt_starts(cases: Sequence[Case]) -> Checked:
    """Containers MUST be created within 5 s of what they waited for, in 99 % of all waits. Needs min_waits (9) waits."""
    waits = [each for case in cases for each in _waits(case)]
    few = tuple(too_few_in_all(cases, len(waits), "min_waits", MIN_WAITS, "wait"))
    if few:
        return Checked(findings=few)
    return judged_together(
        waits,
        f"{len(waits)} waits for other containers",
        lambda late, slowest: (
            f"after {late} of {len(waits)} waits for other containers of its pod a container was created more than "
            f"{seconds(MOST_S)} after what it waited for, up to {slowest} after it"
        ),
    )


def _waits(case: Case) -> Iterator[Wait]:
    """One entry for each init container that holds others back, if nothing else did."""
    inits, regulars = (case.scenario.pod.of_kind(kind) for kind in (ContainerKind.INIT, ContainerKind.REGULAR))
    for pod in case.pods:
        for index, init in enumerate(inits):
            held = inits[index + 1 : index + 2] or regulars
            measured = [each for container in held if (each := _measured(case, pod, init, container)) is not None]
            if measured:
                yield max(measured, key=lambda each: each.took_s)


def _measured(case: Case, pod: PodHistory, init: Container, held: Container) -> Wait | None:
    """None where the wait was not seen, or was for something else as well."""
    began = next((each.begun for each in pod.instances(held.name)), None)
    since = None if began is None or began.utc_ns is None else _let_go(init, pod.instances(init.name), began.utc_ns)
    if began is None or began.utc_ns is None or since is None or since.utc_ns is None:
        return None
    from_ns, to_ns = since.utc_ns, began.utc_ns
    if any(missing_for(case, held)) or any(from_ns <= each.t_ns <= to_ns for each in resets_of(case, pod)):
        return None
    doubt = doubt_of(case, pod, (held.name,), (from_ns, to_ns), MOST_S)
    return Wait(init.name, (to_ns - from_ns) / 1e9, MOST_S, doubt, case.scenario.name, (since.line, began.line))


def _let_go(init: Container, instances: tuple[Instance, ...], before_ns: int) -> Fact | None:
    """When an init container let go of what began at that time; None if a sidecar was down then."""
    if not init.is_sidecar:
        return next((each.exit for each in instances if each.exit_code == 0), None)
    probe = startup_probe(init)
    if probe is not None:
        return first_success(instances, probe)
    return next((each.start for each in instances if _ran_at(each, before_ns)), None)


def _ran_at(sidecar: Instance, t_ns: int) -> bool:
    started_ns, exited_ns = sidecar.start_ns, sidecar.exit_ns
    return started_ns is not None and started_ns <= t_ns and (exited_ns is None or exited_ns > t_ns)
