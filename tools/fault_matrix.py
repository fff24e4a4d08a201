"""Planted faults against checkers: which requirement notices which fault of a kubelet.

Theory of operation. Each trial (a requirement on a scenario) is run on the correct simulated kubelet and on one with a
fault. A trial catches the fault if its verdict is a FAIL that no deviation explains, where the correct kubelet has none.
A fault can only act where the correct kubelet was asked for one of the answers that it changes; elsewhere it is not run.
A fault that no conformance test catches is a hole in the suite; tools/uncaught_faults.yaml lists those that are known,
each with its reason. `python -m tools.fault_matrix --write` writes docs/fault-matrix.md, runs the self-tests that try correct
kubelets in all scenarios, and records the sources for which both hold (tools/proven_sources.py); without it, it prints the page.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Event
from crashloop.history.recording import Recording
from crashloop.requirements import load_requirements
from crashloop.spec.scenario import Scenario
from crashloop.verdict import Outcome, Verdict
from sim import CALM, FAULTS, Fault
from sim.behaviour import Behaviour
from sim.faults import NodeFault
from sim.kinds import Histories
from tools import proven_sources
from tools.fault_matrix_page import PAGE, SCOPES, Row, load_uncaught, objections, page, row_of
from tools.trials import (
    FURTHER,
    SEED,
    VERSION,
    Trial,
    encode,
    histories_of,
    holds,
    recorded,
    simulated,
    verdict_of,
)

TRIALS = "suites.selftest.kit.fault_scenarios"
"""Module with the trials; a part of the self-tests, because they include every scenario of the conformance suite."""
CORRECT_KUBELETS = (
    *("suites/selftest/tools", "suites/selftest/checks", "--whole", "-n", "auto", "-q"),
    *("-k", "not a_planted_fault_is_caught and not every_curve_is_seen"),
)
"""Arguments of pytest: the self-tests that hold for these sources, but for those of pages that their tools write."""


class Catch(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that objects to a fault, and which of its checkers do."""

    trial: Trial
    checkers: tuple[str, ...]
    finding: str


def catches(fault: Fault, trials: Sequence[Trial]) -> tuple[Catch, ...]:
    """The trials that object to a fault; where none does at quick, also the requirements that are judged of every pod."""
    played = [(play, _acting(fault, play.scenarios)) for play in plays(fault, trials)]
    found = [catch for play, shown in played for catch in _caught(play, shown)]
    if all(catch.trial.scope != SCOPES[0] for catch in found):
        found += [catch for play, shown in played for catch in _caught(_of_every_pod(play), shown)]
    return tuple(found)


def first_catch(fault: Fault, named: Row, trials: Sequence[Trial]) -> tuple[Catch, ...]:
    """The first trial that objects to a fault, of those that its row names, the shortest first; empty if none does."""
    shortest_first = sorted(plays(fault, trials), key=lambda play: max(each.longest_s for each in play.scenarios))
    for judged in (_as_declared, _of_every_pod):
        for play in map(judged, shortest_first):
            own = tuple(trial for trial in play.trials if trial.requirement.id in named.of_scope(trial.scope))
            shown = _acting(fault, play.scenarios) if own else {}
            for catch in _caught(play._replace(trials=own), shown):
                return (catch,)
    return ()


class Play(NamedTuple):
    """Scenarios that are simulated together, and the trials that are made of them."""

    scenarios: tuple[Scenario, ...]
    trials: tuple[Trial, ...]


def plays(fault: Fault, trials: Sequence[Trial]) -> Iterator[Play]:
    """Each scenario by itself; for what only shows between pods, all pods of a node that a run of each scope has."""
    if not isinstance(fault, NodeFault):
        by_name: dict[str, list[Trial]] = {}
        for trial in trials:
            by_name.setdefault(trial.scenario.name, []).append(trial)
        yield from (Play(own[0].scenario.scenarios, tuple(own)) for own in by_name.values())
        return
    yield from full_nodes(trials)


def full_nodes(trials: Sequence[Trial]) -> Iterator[Play]:
    """The nodes of a run of each scope, with all the pods that share one."""
    for number, scope in enumerate(SCOPES):
        nodes: dict[str, list[Trial]] = {}
        for trial in trials:
            for scenario in () if trial.scenario.compared else trial.scenario.scenarios:
                if trial.scope in SCOPES[: number + 1] and scenario.pod_spec is not None and not scenario.disturbs_node:
                    nodes.setdefault(scenario.subject, []).append(trial)
        for on_node in nodes.values():
            scenarios = {scenario.name: scenario for trial in on_node for scenario in trial.scenario.scenarios}
            yield Play(tuple(scenarios.values()), tuple(trial for trial in on_node if trial.scope == scope))


def _as_declared(play: Play) -> Play:
    return play


def _of_every_pod(play: Play) -> Play:
    """The same scenarios, judged by the requirements that hold for every pod."""
    scopes = {
        scenario.name: trial.scope
        for trial in sorted(
            play.trials, key=lambda each: -SCOPES.index(each.scope) if each.scope in SCOPES else -len(SCOPES)
        )
        for scenario in trial.scenario.scenarios
    }
    trials = (
        Trial(
            requirement=msgspec.structs.replace(each, checkers=each.everywhere, parameters={}),
            scenario=scenario,
            scope=scopes[scenario.name],
        )
        for scenario in play.scenarios
        for each in load_requirements().values()
        if each.everywhere and scenario.pod_spec is not None and scopes.get(scenario.name) in SCOPES
    )
    return Play(play.scenarios, tuple(trial for trial in trials if holds(trial, VERSION)))


def _caught(play: Play, shown: Mapping[str, "Shown"]) -> Iterator[Catch]:
    for trial in play.trials:
        found = [each for scenario in trial.scenario.scenarios if (each := shown.get(scenario.name)) is not None]
        acts = any(each.acts for each in found)
        catch = _catch(trial, [each.recording for each in found], play.scenarios) if acts else None
        if catch is not None:
            yield catch


class Shown:
    """What a scenario shows of a fault."""

    def __init__(self, events: tuple[Event, ...], without: tuple[Event, ...]) -> None:
        self._events = events
        self.acts = events != without
        """Whether it shows something else than without the fault."""

    @cached_property
    def recording(self) -> Recording:
        return recorded(self._events)


def _acting(fault: Fault, scenarios: Sequence[Scenario]) -> dict[str, Shown]:
    """What scenarios show of a fault, by name; nothing where it cannot act."""
    correct = correct_of(scenarios)
    if not correct.may_show(fault):
        return {}
    try:
        histories = histories_of(scenarios, frozenset({fault}))
    except ValueError:  # the faulty kubelet does not start: startup scenarios show that
        return {}
    return {
        scenario.name: Shown(events, without)
        for scenario, events, without in zip(scenarios, histories, correct.histories, strict=True)
    }


class Correct(NamedTuple):
    """What a correct kubelet does."""

    histories: Histories
    asked: frozenset[str]
    """The answers of its behaviour that decided about them: as long as it has these, a kubelet does the same."""

    def may_show(self, fault: Fault) -> bool:
        """Whether a kubelet with the fault may do something else."""
        return not self.asked.isdisjoint(fault.change)


def correct_of(scenarios: Sequence[Scenario]) -> Correct:
    """What a correct kubelet does in scenarios that share its node."""
    return _correct(encode(scenarios))


@cache
def _correct(scenarios: bytes) -> Correct:
    behaviour, asked = _overheard()
    histories = simulated(msgspec.json.decode(scenarios, type=tuple[Scenario, ...]), behaviour, VERSION, SEED, CALM)
    return Correct(histories, frozenset(asked))


def _overheard() -> tuple[Behaviour, set[str]]:
    """The behaviour of a correct kubelet, and the names of the answers that it was asked for, as they come."""
    asked: set[str] = set()

    class Overheard(Behaviour, frozen=True, kw_only=True):
        def __getattribute__(self, name: str) -> Any:
            asked.add(name)
            return super().__getattribute__(name)

    return Overheard(), asked


def _catch(trial: Trial, recordings: Sequence[Recording], scenarios: Sequence[Scenario]) -> Catch | None:
    verdict = verdict_of(trial.requirement, trial.scenario, *recordings)
    if not verdict.fails_the_run or verdict_without_fault(trial, scenarios).fails_the_run:
        return None
    checkers = tuple(name for name in trial.requirement.checkers if _objects(name, trial, recordings))
    return Catch(trial=trial, checkers=checkers, finding=verdict.findings[0])


def _objects(checker: str, trial: Trial, recordings: Sequence[Recording]) -> bool:
    """Whether a checker objects by itself; in a comparison, one of single scenarios to any of them."""
    alone, judged = msgspec.structs.replace(trial.requirement, checkers=(checker,)), trial.scenario
    verdicts = (
        [verdict_of(alone, judged, *recordings)]
        if CHECKERS[checker].compares or not judged.compared
        else [verdict_of(alone, *each) for each in zip(judged.scenarios, recordings, strict=True)]
    )
    return any(verdict.outcome is Outcome.FAIL for verdict in verdicts)


def verdict_without_fault(trial: Trial, scenarios: Sequence[Scenario] = ()) -> Verdict:
    """What the trial says about a correct kubelet that has these scenarios on its node, or just the trial's own.

    One that accuses a correct kubelet proves nothing about a faulty one.
    """
    return _verdict_without_fault(encode(trial), encode(tuple(scenarios) or trial.scenario.scenarios))


@cache
def _verdict_without_fault(trial: bytes, scenarios: bytes) -> Verdict:
    asked = msgspec.json.decode(trial, type=Trial)
    histories = _correct(scenarios).histories
    names = [each.name for each in msgspec.json.decode(scenarios, type=tuple[Scenario, ...])]
    own = (histories[names.index(each.name)] for each in asked.scenario.scenarios)
    return verdict_of(asked.requirement, asked.scenario, *map(recorded, own))


def row(fault: Fault, caught: Sequence[Catch]) -> Row:
    """The line of a fault in the table of the page."""
    by_scope: dict[str, list[str]] = {}
    for catch in caught:
        by_scope.setdefault(catch.trial.scope, []).append(catch.trial.requirement.id)
    return row_of(fault, by_scope, (name for catch in caught for name in catch.checkers))


def text(trials: Sequence[Trial], rows: Sequence[Row]) -> str:
    """docs/fault-matrix.md."""
    judged: dict[str, str] = {}
    for trial in trials:
        if trial.scope != FURTHER:
            judged.setdefault(trial.requirement.id, trial.scope)
    known = [name for name in load_requirements() if name in judged]
    scenarios = {each.name for trial in trials for each in trial.scenario.scenarios}
    return page(
        rows=rows,
        judged={name: judged[name] for name in known},
        uncaught=load_uncaught(),
        facts={"version": VERSION, "judgements": len(trials), "scenarios": len(scenarios)},
    )


@cache
def load_trials() -> tuple[Trial, ...]:
    """All trials. Needs the project's root as the working directory, or on the path."""
    sys.path.insert(0, str(Path.cwd()))
    trials: tuple[Trial, ...] = importlib.import_module(TRIALS).trials()
    return trials


def _row(fault: Fault) -> Row:
    return row(fault, catches(fault, load_trials()))


def main() -> int:
    """Print or write the page; 1 if the list of uncaught faults is not exact, or a correct kubelet is accused."""
    parser = argparse.ArgumentParser(prog="python -m tools.fault_matrix", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE} instead of printing it")
    options = parser.parse_args()
    tried, trials = proven_sources.digest(), load_trials()
    with ProcessPoolExecutor() as processes:
        rows = list(processes.map(_row, FAULTS))
    wrong = list(objections(rows, load_uncaught()))
    if not options.write:
        sys.stdout.write(text(trials, rows))
    elif proven_sources.digest() != tried:
        wrong.append("Sources were changed meanwhile: nothing is written.")
    else:
        PAGE.write_text(text(trials, rows), encoding="utf-8")
        tried = proven_sources.digest()
        if not wrong and subprocess.run([sys.executable, "-m", "pytest", *CORRECT_KUBELETS], check=False).returncode:
            wrong.append("A correct kubelet is accused, or a self-test of the page fails: nothing is recorded.")
        if proven_sources.digest() != tried:
            wrong.append("Sources were changed meanwhile: nothing is recorded.")
        if not wrong:
            proven_sources.record()
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
