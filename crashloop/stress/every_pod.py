"""Requirements that hold for every pod of a run, judged on the pods of its loads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from crashloop.checks.everywhere import judge_everywhere
from crashloop.checks.judgement import JudgementInput
from crashloop.history.recording import Recording
from crashloop.model.prediction import Prediction
from crashloop.model.variants import Consulted
from crashloop.restarts.case import Memo
from crashloop.spec.deviation import Deviation
from crashloop.spec.pod import Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Verdict

OF_ANY_PROGRAM = frozenset({"condition-without-rule", "in-place", "ready-conditions", "starts-once"})
"""Checkers that need to know neither what a program does, nor what pulls, hooks and kills took the kubelet's time."""


NOT_OF_LOADS = frozenset({"punctual", "ready-unprobed"})
"""Checkers that do not judge the pods of a load: rows of SLOs say how late those may be, and histories of servers do not declare
their readiness probe."""


class Played(NamedTuple):
    """What the model says of one kind of pod. A prediction asks its own Consulted for variants, so both belong together."""

    documented: Consulted
    predictions: dict[frozenset[str], Prediction]


class EveryPod:
    """Judges one pod after the other. Pods of a load are alike: the model plays each kind of them through once."""

    def __init__(
        self, catalogue: Mapping[str, Requirement], deviations: Sequence[Deviation], version: KubernetesVersion
    ) -> None:
        """`version` is the cluster's."""
        self._catalogue = {
            name: each for name, each in catalogue.items() if not NOT_OF_LOADS.intersection(each.everywhere)
        }
        self._deviations, self._version = deviations, version
        self._of_any_program = {
            name: each for name, each in self._catalogue.items() if OF_ANY_PROGRAM.issuperset(each.everywhere)
        }
        self._played: dict[tuple[Pod, str], Played] = {}
        """By pod and profile."""

    def __reduce__(self) -> tuple[type["EveryPod"], tuple[object, ...]]:
        """For another process, which plays for itself."""
        return EveryPod, (self._catalogue, self._deviations, self._version)

    def judge(self, recording: Recording, kubelet: KubeletProfile) -> Iterator[Verdict]:
        """One verdict per requirement; none for a history without its first line.

        The pod is the one that the history declares: the plan of a stress run has loads, not pods. Of a user's own pod only those
        requirements are judged that hold whatever its containers do.
        """
        scenario = recording.begin.scenario if recording.begin else None
        if scenario is None or scenario.pod_spec is None:
            return
        is_known = all(each.program.known for each in scenario.pod_spec.containers)
        catalogue = self._catalogue if is_known else self._of_any_program
        if not catalogue:
            return
        memo = Memo()
        played = Played(memo.documented, memo.predictions)
        memo.documented, memo.predictions = self._played.setdefault((scenario.pod_spec, kubelet.name), played)
        question = JudgementInput(
            requirement=next(iter(catalogue.values())),
            scenario=scenario,
            profile=kubelet,
            version=self._version,
            recording=recording,
            memo=memo,
        )
        yield from judge_everywhere(catalogue, question, self._deviations)
