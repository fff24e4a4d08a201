"""Scenarios and the way from a hand-written history to a checker's answer, for the tests of checkers."""

from typing import Any

import msgspec

from crashloop.checks.finding import Checked
from crashloop.checks.judge import judge
from crashloop.checks.judgement import ComparisonInput, JudgementInput
from crashloop.checks.kinds import CHECKERS
from crashloop.model.prediction import predict
from crashloop.model.variants import DOCUMENTED
from crashloop.restarts.case import Case
from crashloop.spec.owner import Owner
from crashloop.spec.pod import Action, Container, Pod, RestartPolicy, restart_in
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import HOLDS, Program, exits_with, runs
from crashloop.spec.requirement import Basis, Requirement, Scope
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Verdict
from suites.selftest.kit.histories import VERSION, History

OF_PODS = {name: each for name, each in CHECKERS.items() if each.reads is PodScenario and not each.compares}
"""The checkers of one recorded pod scenario."""

MAX_2S = KubeletProfile(name="max-2s", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}})
STOCK = KubeletProfile(name="stock")


def scenario(
    *containers: Container,
    policy: RestartPolicy = RestartPolicy.ALWAYS,
    profile: KubeletProfile = MAX_2S,
    until: Until | None = None,
    mode: Mode = Mode.NATURAL,
    name: str = "made-up",
    owner: Owner | None = None,
) -> PodScenario:
    return PodScenario(
        name=name,
        profile=profile.name,
        pod=Pod(containers=containers, restart_policy=policy),
        until=until or Until(),
        mode=mode,
        owner=owner,
    )


def app(program: Program = HOLDS, **options: Any) -> Container:
    return Container(program=program, **options)


def resetting(program: Program, **options: Any) -> Container:
    """A container whose exits with 42 restart all containers of its pod."""
    rules = (restart_in(42, action=Action.RESTART_ALL_CONTAINERS),)
    return app(program, restart_policy=RestartPolicy.NEVER, rules=rules, **options)


CRASHING = scenario(app(exits_with(1, times=3)), until=Until(restarts={"app": 3}), name="crashing")
"""Restarts due after 0, 2 and 2 s; created within 2, 4 and 4 s of the exit."""

STAYS_FAILED = scenario(
    app(runs((1, 1))), policy=RestartPolicy.NEVER, until=Until(exits={"app": 1}, phase="Failed"), name="stays-failed"
)

GOOD = ((0.5, 1.5, 1), (2.0, 3.0, 1), (5.3, 6.3, 1), (8.6, None, 0))
"""Lives of CRASHING as they should be."""


def good(of: PodScenario = CRASHING) -> History:
    return History(of).lives("app", *GOOD).ends(30)


def case(
    history: History,
    profile: KubeletProfile = MAX_2S,
    deviations: frozenset[str] = DOCUMENTED,
    later: tuple[KubeletProfile, ...] = (),
    **parameters: Any,
) -> Case:
    assert isinstance(history.scenario, PodScenario)
    return Case(
        scenario=history.scenario,
        profile=profile,
        later=later,
        prediction=predict(history.scenario, profile, KubernetesVersion.parse(VERSION), deviations, later=later),
        recording=history.recording(),
        parameters=parameters,
    )


def checked(checker: str, history: History, profile: KubeletProfile = MAX_2S, **parameters: Any) -> Checked:
    """The answer of one checker."""
    return CHECKERS[checker](case(history, profile, **parameters))


def told(checked: Checked) -> list[str]:
    """Outcomes and sentences of the findings."""
    return [f"{each.outcome}: {each.sentence}" for each in checked.findings]


def requirement(*checkers: str, name: str = "CAP-3", **parameters: Any) -> Requirement:
    return Requirement(
        id=name,
        sentence="A maximum MUST be made up.",
        source="nowhere",
        basis=Basis.PROMISE,
        scope=Scope.QUICK,
        checkers=checkers,
        parameters=parameters,
        evidence="enough",
    )


def question(
    history: History,
    *checkers: str,
    profile: KubeletProfile = MAX_2S,
    of: Scenario | None = None,
    version: str = VERSION,
    name: str = "CAP-3",
    later: tuple[KubeletProfile, ...] = (),
    **parameters: Any,
) -> JudgementInput:
    return JudgementInput(
        requirement=requirement(*checkers, name=name, **parameters),
        scenario=of or history.scenario,
        profile=profile,
        version=KubernetesVersion.parse(version),
        later=later,
        recording=history.recording(),
    )


def compared(
    *histories: History, checkers: tuple[str, ...], profile: KubeletProfile = MAX_2S, **parameters: Any
) -> Verdict:
    """The verdict of a requirement on histories of one profile together."""
    inputs = tuple(question(each, *checkers, profile=profile, **parameters) for each in histories)
    return judge(ComparisonInput(requirement=inputs[0].requirement, name="both", histories=inputs))


def renamed(of: PodScenario, name: str) -> PodScenario:
    return msgspec.structs.replace(of, name=name)
