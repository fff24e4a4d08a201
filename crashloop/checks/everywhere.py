"""Requirements that hold for every pod of a run, independent of the purpose of its recording.

Theory of operation. A requirement may name checkers that judge it `everywhere`. They judge each recording of a pod for which
the requirement applies. A contradiction in one of them is the requirement's FAIL, with the name of the scenario; one that a
known deviation explains is its known deviation. The others decide what one recording leaves open. A requirement that less
than `LEAST_SHARE` of the recordings decide is INCONCLUSIVE and only reported, since no test selected it. Delays are judged once
more together, by the curve of their node (`pooled.py`).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from crashloop.checks.checker import Holds
from crashloop.checks.judge import judge
from crashloop.checks.judgement import JudgementInput
from crashloop.checks.kinds import CHECKERS
from crashloop.checks.pooled import SAMPLES, Sample, pools
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.spec.requirement import Deviation, Requirement, applies
from crashloop.verdict import Ground, Outcome, Verdict, VerdictMode
from crashloop.words import count

EVERY_POD = "every pod"
"""Replaces the scenario's name."""
_PREFIX = "{}: "
MOST_QUOTED = 5
"""Scenarios whose findings a verdict quotes."""
LEAST_SHARE = 0.25
"""Of the pods that are judged, those that have to decide a requirement which is kept: many recordings are short, or of pods that
do not restart, but one PASS among hundreds of open ones is none."""
LOGS = "pod-logs"
"""The capability to list logs: crashloop.cluster.provider.Capability."""


def holding(catalogue: Mapping[str, Requirement], holds: Holds) -> dict[str, Requirement]:
    """The requirements whose checkers judge every pod of that kind."""
    return {
        name: each
        for name, each in catalogue.items()
        if each.everywhere and all(CHECKERS[checker].holds >= holds for checker in each.everywhere)
    }


def judge_everywhere(
    catalogue: Mapping[str, Requirement], judgement: JudgementInput, deviations: Sequence[Deviation]
) -> Iterator[Verdict]:
    """The verdict of each such requirement on one recorded pod; the requirement of `judgement` itself does not count.

    Of logs nothing is said where none were listed: most providers cannot; nor of a pod that a checker is not about, nor of one
    that comes again under the uid of the one before.
    """
    if judgement.scenario.renews_pod:
        return
    version = kubelet_version(judgement.profile, judgement.version)
    gates = effective_gates(judgement.profile, judgement.version)
    listed = any(pod.log_files for pod in judgement.recording.pods)
    for requirement in catalogue.values():
        if not requirement.everywhere or (LOGS in requirement.needs and not listed):
            continue
        checkers = [CHECKERS[name] for name in requirement.everywhere]
        if judgement.scenario.pod_spec is None or not all(each.about(judgement.scenario) for each in checkers):
            continue
        if applies(requirement, version, gates) is None:
            alone = msgspec.structs.replace(requirement, checkers=requirement.everywhere, parameters={})
            yield judge(msgspec.structs.replace(judgement, requirement=alone), deviations)


def of_all_pods(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """One verdict per requirement, from its verdicts on each pod."""
    by_requirement: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_requirement.setdefault(verdict.requirement, []).append(verdict)
    return map(of_every_pod, by_requirement.values())


def of_every_pod(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of one requirement on all pods, from its verdicts on each of them; there is at least one."""
    failed = [each for each in verdicts if each.outcome is Outcome.FAIL]
    accused = [each for each in failed if each.fails_the_run]
    faulty = [each for each in verdicts if each.outcome is Outcome.ERROR]
    undecided = [each for each in verdicts if each.outcome is Outcome.INCONCLUSIVE]
    decided, needed = len(verdicts) - len(undecided), math.ceil(LEAST_SHARE * len(verdicts))
    mode, deviation, findings = verdicts[0].mode, None, []
    pooled = pools(_samples(verdicts))
    together = [
        f"{_PREFIX.format(verdicts[0].requirement)}on {curve}, {said}."
        for curve, pool in pooled.items()
        for said in pool.accusations()
    ]
    if accused or together:
        outcome, quoted, findings = Outcome.FAIL, accused, together
    elif faulty:
        outcome, quoted = Outcome.ERROR, faulty
    elif failed:
        outcome, quoted = Outcome.FAIL, failed
        deviation, _ = Counter(each.deviation for each in failed).most_common(1)[0]
        findings = [
            f"{_PREFIX.format(verdicts[0].requirement)}{len(failed)} of {count(len(verdicts), 'pod')} did not keep it."
        ]
    elif decided >= needed:
        outcome, quoted = Outcome.PASS, []
    else:
        outcome, quoted, mode = Outcome.INCONCLUSIVE, undecided, VerdictMode.REPORT
        if decided:
            few = f"{decided} of {count(len(verdicts), 'pod')} decided it, {needed} needed."
            findings = [_PREFIX.format(verdicts[0].requirement) + few]
    return Verdict(
        requirement=verdicts[0].requirement,
        scenario=EVERY_POD,
        profile=_profiles(quoted or verdicts),
        outcome=outcome,
        mode=mode,
        findings=(*findings, *map(_in_scenario, quoted[:MOST_QUOTED])),
        grounds=(*(Ground() for _ in findings), *map(_ground, quoted[:MOST_QUOTED])),
        evidence=tuple(each for verdict in quoted[:MOST_QUOTED] for each in verdict.evidence),
        deviation=deviation,
        facts={"pods": dict(Counter(each.outcome.value for each in verdicts))}
        | ({"pools": {curve: pool.in_words() for curve, pool in pooled.items()}} if pooled else {}),
    )


def _samples(verdicts: Iterable[Verdict]) -> dict[str, list[Sample]]:
    """The delays that the pods of each kubelet profile add to what is judged together."""
    found: dict[str, list[Sample]] = {}
    for each in verdicts:
        found.setdefault(each.profile, []).extend(Sample(*sample) for sample in each.facts.get(SAMPLES, ()))
    return {curve: samples for curve, samples in found.items() if samples}


def _profiles(verdicts: Sequence[Verdict]) -> str:
    names = {each.profile for each in verdicts}
    return names.pop() if len(names) == 1 else f"{len(names)} profiles"


def _in_scenario(verdict: Verdict) -> str:
    prefix = _PREFIX.format(verdict.requirement)
    finding = verdict.findings[0].removeprefix(prefix) if verdict.findings else "no finding"
    return f"{prefix}in {verdict.scenario} ({verdict.profile}): {finding}"


def _ground(verdict: Verdict) -> Ground:
    return verdict.grounds[0] if verdict.grounds else Ground(scenario=verdict.scenario, profile=verdict.profile)
