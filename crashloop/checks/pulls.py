"""Checkers of the pulls of a container that restarts: how many, and which image comes of them."""

from collections.abc import Iterator
from itertools import pairwise

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.images import OK, held_between, pulled, requests_for
from crashloop.history.instances import Instance
from crashloop.model.pulls import pulls_at_restart
from crashloop.restarts.absences import VERSION, offered_over_time
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container
from crashloop.spec.registry_image import VERSION_VARIABLE, PullPolicy
from crashloop.words import at_lines, count

MIN_RESTARTS = 5


def check_pulls(case: Case) -> Checked:
    """A restart MUST pull the image once under the pull policy Always, and not at all under IfNotPresent.

    Needs a pull before the first start, and min_restarts (5) restarts.
    """
    findings: list[Finding] = []
    pulls: dict[str, list[int]] = {}
    for spec in pulled(case):
        instances = ran(case.pod, spec.name)
        pulls[spec.name] = []
        for judged in _restarts(case, spec, instances):
            pulls[spec.name].append(judged[0])
            findings += [judged[1]] if judged[1] else []
        if not _pulled_first(case, spec, instances):
            seen = f'no pull was seen before the first start of "{spec.name}"'
            findings.append(inconclusive(f"{seen}: {why_it_ended(case)}."))
    if not findings:
        findings += too_few(case, sum(map(len, pulls.values())), "min_restarts", MIN_RESTARTS, "restart")
    return Checked(findings=tuple(findings), facts={"pulls": pulls})


def check_image_of_tag(case: Case) -> Checked:
    """Under the pull policy Always, each life MUST run in the image that the tag named when it was started.

    Needs a restart wholly before the tag was moved, and one wholly after it.
    """
    findings: list[Finding] = []
    decided: dict[str, list[str]] = {}
    for spec in pulled(case):
        if spec.image is None or spec.image.policy is not PullPolicy.ALWAYS:
            continue
        instances, states = ran(case.pod, spec.name), offered_over_time(case, spec)
        decided[spec.name] = []
        for before, after in pairwise(instances):
            if before.exit_ns is None or after.begun_ns is None:
                continue
            held = held_between(states, before.exit_ns, _created_ns(after))
            due = tuple(dict.fromkeys(each.data[VERSION] for each in held if each.data is not None))
            found = next((note for note in after.notes if note.name == VERSION_VARIABLE), None)
            if found is None:
                continue
            if found.value not in due:
                lines = (found.line, *(each.line for each in held if each.line is not None))
                findings.append(
                    fail(
                        f'instance {after.ordinal} of "{spec.name}" ran in image {found.value} {at_lines(lines)}; '
                        f"the tag named {' or '.join(due)}.",
                        *lines,
                    )
                )
            elif len(due) == 1:
                decided[spec.name].append(found.value)
    if not findings and not any(len(set(each)) > 1 for each in decided.values()):
        findings.append(inconclusive(f"no restart before and after the tag was moved was seen: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"images": decided})


def _restarts(case: Case, spec: Container, instances: tuple[Instance, ...]) -> Iterator[tuple[int, Finding | None]]:
    """The number of pulls of each restart, and what is wrong with it."""
    assert spec.image is not None
    due = pulls_at_restart(spec.image.policy)
    for before, after in pairwise(instances):
        if before.begun_ns is None or after.begun_ns is None:
            continue
        requests = [
            each
            for each in requests_for(case, spec)
            if each.data.status == OK and _created_ns(before) < each.t_ns <= _created_ns(after)
        ]
        wrong = None
        if len(requests) != due:
            lines = (*(each.line for each in requests), *after.lines[:1])
            blind = blind_spot(case, case.pod, instances, before.begun_ns, after.begun_ns)
            wrong = fail_unless(
                f"A start could have gone unseen: {blind}" if blind else None,
                f'the image of instance {after.ordinal} of "{spec.name}" was pulled {count(len(requests), "time")} '
                f"{at_lines(lines)}; under {spec.image.policy} a restart pulls it {count(due, 'time')}.",
                *lines,
            )
        yield len(requests), wrong


def _pulled_first(case: Case, spec: Container, instances: tuple[Instance, ...]) -> bool:
    return any(
        each.data.status == OK and each.t_ns <= _created_ns(first)
        for first in instances[:1]
        for each in requests_for(case, spec)
    )


def _created_ns(instance: Instance) -> int:
    """The latest that an instance was created, UTC: its stamp is rounded down. Its pull came before that."""
    begun = instance.begun
    return 0 if begun is None or begun.utc_ns is None else begun.utc_ns + begun.resolution_ns
