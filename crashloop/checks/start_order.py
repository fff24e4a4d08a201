"""Checker of the order in which the containers of a pod are started for the first time."""

from itertools import pairwise

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.stamps import Fact
from crashloop.restarts.absences import missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines


def check_start_order(case: Case) -> Checked:
    """Init containers MUST be started one after the other in their order, and then the regular ones in theirs.

    An init container is done when it has exited with 0, a sidecar and a regular container when it has started. Needs the first
    start of each. A container whose ConfigMap or Secret was missing starts when it can, so its place is left open.
    """
    findings: list[Finding] = []
    pod = case.scenario.pod
    in_turn = (*pod.of_kind(ContainerKind.INIT), *pod.of_kind(ContainerKind.REGULAR))
    order = [each for each in in_turn if not any(missing_for(case, each))]
    first = {each.name: ran(case.pod, each.name) for each in order}
    for each in order:
        if not first[each.name]:
            findings.append(inconclusive(f'"{each.name}" was never seen to start: {why_it_ended(case)}.'))
    for before, after in pairwise(order):
        done, began = _done(before, first[before.name]), _began(first[after.name])
        if began is None or began.utc_ns is None:
            continue
        if done is None or done.utc_ns is None or began.utc_ns < done.utc_ns:
            lines = (began.line, *((done.line,) if done else ()))
            what = "had started" if _needs_start(before) else "was done"
            findings.append(
                fail(f'"{after.name}" was created {at_lines(lines)} before "{before.name}" {what}.', *lines)
            )
    starts = sorted((fact.utc_ns or 0, name) for name, each in first.items() if (fact := _began(each)) is not None)
    return Checked(findings=tuple(findings), facts={"order": [name for _, name in starts]})


def _needs_start(container: Container) -> bool:
    return container.kind is ContainerKind.REGULAR or container.is_sidecar


def _began(instances: tuple[Instance, ...]) -> Fact | None:
    return instances[0].begun if instances else None


def _done(container: Container, instances: tuple[Instance, ...]) -> Fact | None:
    """When what follows may be started. A start is reported a moment after the process began, so its creation counts."""
    if _needs_start(container):
        return _began(instances)
    return next((each.exit for each in instances if each.exit_code == 0), None)
