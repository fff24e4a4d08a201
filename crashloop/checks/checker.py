"""What a checker is: a generator of findings, with the least evidence that it needs, declared beside it.

Theory of operation. A checker walks over lives, restarts or statements, yields what it objects to, and counts in `Seen` what it
has looked at. No objection is no PASS: what is missing of its needs is INCONCLUSIVE, and so is a lost watch that may have hidden
what would be objected to. The frame does all of this, so that a checker is a rule and nothing else.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from crashloop.checks.finding import Checked, Finding, Observed, fewest_of, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import ContainerReport, StatusReport
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import lost_watch, why_it_ended, why_they_ended
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container
from crashloop.spec.scenario import AnyScenario, PodScenario
from crashloop.words import count, seconds

C = TypeVar("C")
"""What a checker reads: a case of one kind of scenario, or the cases of pod scenarios that are compared."""


class Holds(IntEnum):
    """The pods that a promise holds for; each includes those before it."""

    DECLARED = 0
    """Those of the scenarios that name its requirement."""
    EVERY_POD = 1
    """Every pod of a conformance run."""
    LOADS = 2
    """The pods of loads as well."""
    ANY_PROGRAM = 3
    """Also users' own pods, of whose programs, pulls, hooks and kills nothing is known."""


def any_pod(_: AnyScenario) -> bool:
    """The pods that most rules are about."""
    return True


class Need(msgspec.Struct, frozen=True):
    """The least number of one kind of evidence for a PASS; its requirement may ask for another by the parameter `min_<what>`."""

    what: str
    """The name of the count, and of the fact that shows it."""
    least: int
    noun: str
    """Of a sentence: `1 exit of a sidecar seen, 2 needed`; `rest` is `of a sidecar`."""
    rest: str = ""
    is_shown: bool = True
    """Whether the count is a fact of the verdict."""

    @property
    def parameter(self) -> str:
        return f"min_{self.what}"

    def asked(self, case: Case) -> int:
        """The least number that the requirement of a case asks for."""
        return int(case.number(self.parameter, self.least))

    def observed(self, cases: Sequence[Case], seen: int) -> Observed | None:
        """How many there were and are needed; None if a PASS needs none."""
        needed = self.asked(cases[0]) if cases else self.least
        return Observed(noun=self.noun, rest=self.rest, seen=seen, needed=needed) if needed else None


class Seen(Counter[str]):
    """How much of each declared kind a checker has looked at; `facts` are shown besides."""

    def __init__(self, declared: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(declared, 0))
        self.facts: dict[str, Any] = {}

    def __missing__(self, key: str) -> int:
        raise KeyError(f"{key} is counted, and no need of that name is declared")


class Checker(msgspec.Struct, Generic[C], frozen=True, kw_only=True):
    """One rule, by its name in the catalogue; the docstring of `find` has the promise with its MUST."""

    name: str
    find: Callable[[C, Seen], Iterable[Finding]]
    needs: tuple[Need | str, ...]
    """What a PASS needs; in words where the rule itself says that it is missing."""
    watch: str = ""
    """What a lost watch could hide, such as `a status`; empty if that could not be objected to."""
    once: bool = False
    """Whether one finding says all: the others follow from it."""
    holds: Holds = Holds.LOADS
    reads: type[AnyScenario] = PodScenario
    compares: bool = False
    """Whether it reads several pod scenarios together."""
    about: Callable[[Any], bool] = any_pod
    """The scenarios whose pods can show something of it: of others it has seen nothing, and where it holds for
    every pod they are not judged."""

    def __call__(self, case: C) -> Checked:
        """The findings on what was recorded, or on what is missing for them; and the facts that a report shows."""
        needs = [each for each in self.needs if isinstance(each, Need)]
        seen = Seen(each.what for each in needs)
        cases = _pod_cases(case)
        findings = list(self.find(case, seen)) if all(self.about(each.scenario) for each in cases) else []
        if self.watch and not findings:
            findings += [each for one in cases for each in unwatched(one, self.watch)]
        if not findings:
            findings += [each for need in needs for each in _too_few(cases, need, seen[need.what])]
        counts = {each.what: seen[each.what] for each in needs if each.is_shown}
        return Checked(
            findings=tuple(findings[:1] if self.once else findings),
            facts={**counts, **seen.facts},
            fewest=fewest_of(each.observed(cases, seen[each.what]) for each in needs),
        )


def checker(
    name: str,
    *needs: Need | str,
    watch: str = "",
    once: bool = False,
    holds: Holds = Holds.LOADS,
    reads: type[AnyScenario] = PodScenario,
    compares: bool = False,
    about: Callable[[Any], bool] = any_pod,
) -> Callable[[Callable[[C, Seen], Iterable[Finding]]], Checker[C]]:
    """Make a checker of a generator of findings.

    Raises ValueError for one without needs, and for one that is to hold for, or to watch, what it cannot read.
    """

    def made(find: Callable[[C, Seen], Iterable[Finding]]) -> Checker[C]:
        is_of_one_pod = reads is PodScenario and not compares
        if not needs:
            raise ValueError(f"checker {name}: it says of no evidence that it needs it")
        if len({each.what for each in needs if isinstance(each, Need)}) < sum(isinstance(each, Need) for each in needs):
            raise ValueError(f"checker {name}: two needs have one name")
        if not is_of_one_pod and (watch or holds is not Holds.DECLARED):
            raise ValueError(f"checker {name}: only one that reads a pod may watch its statuses or hold for others")
        if "MUST" not in (find.__doc__ or "") and "SHOULD" not in (find.__doc__ or ""):
            raise ValueError(f"checker {name}: its docstring has no MUST or SHOULD")
        return Checker(
            name=name,
            find=find,
            needs=needs,
            watch=watch,
            once=once,
            holds=holds,
            reads=reads,
            compares=compares,
            about=about,
        )

    return made


def gathered(*modules: object) -> dict[str, Checker[Any]]:
    """The checkers of these modules by name. Raises ValueError if two have one name."""
    found: dict[str, Checker[Any]] = {}
    for each in (value for module in modules for value in vars(module).values() if isinstance(value, Checker)):
        if found.setdefault(each.name, each) is not each:
            raise ValueError(f"checker {each.name}: two have that name")
    return found


def _pod_cases(case: object) -> tuple[Case, ...]:
    """The recorded pod scenarios that a checker reads."""
    return tuple(each for each in (case if isinstance(case, Sequence) else (case,)) if isinstance(each, Case))


def _too_few(cases: Sequence[Case], need: Need, seen: int) -> Iterator[Finding]:
    """That fewer were seen than the requirement asks for."""
    needed = need.asked(cases[0])
    if seen < needed:
        why = why_it_ended(cases[0]) if len(cases) == 1 else why_they_ended(cases)
        yield inconclusive(f"{count(seen, need.noun, need.rest)} seen, {needed} needed: {why}.")


def unwatched(case: Case, what: str) -> Iterator[Finding]:
    """The first time in which the API's watch was lost, and with it perhaps a statement that would be objected to."""
    lost = lost_watch(case, case.recording.begin_ns, case.recording.end_ns)
    if lost is not None:
        took = seconds((lost.to_ns - lost.from_ns) / 1e9)
        yield inconclusive(
            f"the watch was lost for {took} (history line {lost.line}), and with it perhaps {what}.", lost.line
        )


class Life(msgspec.Struct, frozen=True):
    """One instance of a container that ran, and its number among those that did, from 0."""

    pod: PodHistory
    spec: Container
    number: int
    instance: Instance
    following: Instance | None

    @property
    def name(self) -> str:
        """Its name in findings."""
        return f'instance {self.instance.ordinal} of "{self.spec.name}"'


def lives(case: Case) -> Iterator[Life]:
    """Every life of every container of every pod, in the order of the pods, then of the containers."""
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            for number, instance in enumerate(instances):
                yield Life(pod, spec, number, instance, next(iter(instances[number + 1 : number + 2]), None))


class Statement(NamedTuple):
    """What one status of a pod states about one of its containers."""

    pod: PodHistory
    spec: Container
    status: StatusReport
    report: ContainerReport


def statements(case: Case) -> Iterator[Statement]:
    """Every statement about every container, in the order of the pods, then of the containers."""
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            yield from statements_about(pod, spec)


def statements_about(pod: PodHistory, spec: Container) -> Iterator[Statement]:
    """Every statement about one container of a pod, in order."""
    for status in pod.statuses:
        report = status.containers.get(spec.name)
        if report is not None:
            yield Statement(pod, spec, status, report)
