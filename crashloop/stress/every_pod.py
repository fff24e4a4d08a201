"""Requirements that hold for every pod of a run, judged on the pods of its loads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import msgspec

from crashloop.checks.checker import Holds
from crashloop.checks.everywhere import holding, judge_everywhere
from crashloop.checks.judgement import JudgementInput
from crashloop.history.recording import Recording
from crashloop.restarts.case import Case, Memo, case_of
from crashloop.spec.pod import Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Deviation, Requirement
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Verdict


class EveryPod:
    """Judges one pod after the other. Pods of a load are alike: the model plays each kind of them through once."""

    def __init__(
        self, catalogue: Mapping[str, Requirement], deviations: Sequence[Deviation], version: KubernetesVersion
    ) -> None:
        """`version` is the cluster's. An empty catalogue judges nothing: pods are only read."""
        self._catalogue, self._of_any_program = (holding(catalogue, each) for each in (Holds.LOADS, Holds.ANY_PROGRAM))
        self._deviations, self._version = deviations, version
        self._played: dict[tuple[Pod, str], Memo] = {}
        """By pod and profile."""

    def __reduce__(self) -> tuple[type["EveryPod"], tuple[object, ...]]:
        """For another process, which plays for itself."""
        return EveryPod, (self._catalogue, self._deviations, self._version)

    def case(self, recording: Recording, kubelet: KubeletProfile, pod: Pod | None = None) -> Case | None:
        """One pod of a load beside what is promised of it; None for a history without its first line.

        It is the pod that the history declares, since the plan of a stress run has loads, not pods; or `pod`, a user's own.
        """
        scenario = recording.begin.scenario if recording.begin else None
        if scenario is None or scenario.pod_spec is None:
            return None
        declared = cast(PodScenario, scenario if pod is None else msgspec.structs.replace(scenario, pod=pod))
        memo = Memo(self._played.get((declared.pod, kubelet.name)))
        self._played.setdefault((declared.pod, kubelet.name), memo)
        return case_of(declared, recording, kubelet, self._version, memo=memo)

    def judge(self, case: Case) -> Iterator[Verdict]:
        """One verdict per requirement; of a user's own pod only on those that hold whatever its containers do."""
        is_known = all(each.program.known for each in case.scenario.pod.containers)
        catalogue = self._catalogue if is_known else self._of_any_program
        if not catalogue:
            return
        question = JudgementInput(
            requirement=next(iter(catalogue.values())),
            scenario=case.scenario,
            profile=case.profile,
            version=self._version,
            recording=case.recording,
            memo=case.memo,
        )
        yield from judge_everywhere(catalogue, question, self._deviations)
