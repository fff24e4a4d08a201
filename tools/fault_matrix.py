"""Planted faults against checkers: which requirement notices which fault of a kubelet.

Theory of operation. Each trial (a requirement on a scenario) is run on the correct simulated kubelet and on one with a
fault. A trial catches the fault if its verdict is a FAIL that no deviation explains, where the correct kubelet has none.
A fault that nothing catches is a hole in the suite. `python -m tools.fault_matrix --write` writes
docs/fault-matrix.md; without the option it prints the page.
"""

import argparse
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from crashloop.checks.judge import judge
from crashloop.checks.judgement import JudgementInput
from crashloop.deviations import load_deviations
from crashloop.history.event import Event
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.profiles import load_profile
from crashloop.sim import CALM, Fault, HostModel
from crashloop.sim.kinds import SIMULATIONS
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement
from crashloop.spec.scenario import API_SERVER, Scenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict

PAGE = Path("docs/fault-matrix.md")
TRIALS = "suites.selftest.kit.fault_scenarios"
"""Module with the trials; a part of the self-tests, because they include every scenario of the conformance suite."""

VERSION = KubernetesVersion(1, 37, 1)
SEED = 1
NO_FAULT: frozenset[Fault] = frozenset()
NOBODY = "nobody"
FURTHER = "further"
"""The scope of trials that no conformance test makes."""

_encode = msgspec.json.Encoder().encode


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement judged on a scenario."""

    requirement: Requirement
    scenario: Scenario
    scope: str


class Catch(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that objects to a fault, and which of its checkers do."""

    trial: Trial
    checkers: tuple[str, ...]
    finding: str


def profile_of(scenario: Scenario) -> KubeletProfile:
    """The profile that decides what happens in a scenario; of the API server only the gates count."""
    return KubeletProfile(name=API_SERVER) if scenario.judged_profile is None else _profile(scenario.judged_profile)


@cache
def _profile(name: str) -> KubeletProfile:
    return load_profile(name)


def history_of(
    scenario: Scenario,
    faults: frozenset[Fault] = NO_FAULT,
    *,
    version: KubernetesVersion = VERSION,
    seed: int = SEED,
    host: HostModel = CALM,
) -> tuple[Event, ...]:
    """The simulated history of a scenario. Raises ValueError if the kubelet does not start with the profile."""
    simulated = SIMULATIONS[type(scenario)]
    return simulated(scenario, profile_of(scenario), version, rng=Random(seed), faults=faults, host=host)


def recorded(events: Iterable[Event]) -> Recording:
    """What a checker reads of a history."""
    return read_recording(_encode(event) + b"\n" for event in events)


def verdict_of(
    requirement: Requirement, scenario: Scenario, recording: Recording, version: KubernetesVersion = VERSION
) -> Verdict:
    """The verdict of a requirement on a simulated history."""
    question = JudgementInput(
        requirement=requirement,
        scenario=scenario,
        profile=profile_of(scenario),
        version=version,
        recording=recording,
    )
    return judge(question, load_deviations())


def catches(fault: Fault, trials: Sequence[Trial]) -> tuple[Catch, ...]:
    """The trials that object to a fault."""
    found: list[Catch] = []
    by_name: dict[str, list[Trial]] = {}
    for trial in trials:
        by_name.setdefault(trial.scenario.name, []).append(trial)
    for own in by_name.values():
        recording = _acting(fault, own[0].scenario)
        if recording is not None:
            found += [catch for trial in own if (catch := _catch(trial, recording)) is not None]
    return tuple(found)


def _acting(fault: Fault, scenario: Scenario) -> Recording | None:
    """What a scenario shows of a fault; None if it shows the same as without."""
    try:
        events = history_of(scenario, frozenset({fault}))
    except ValueError:  # the faulty kubelet does not start: startup scenarios show that
        return None
    return None if events == _correct_history(_encode(scenario)) else recorded(events)


@cache
def _correct_history(scenario: bytes) -> tuple[Event, ...]:
    return history_of(msgspec.json.decode(scenario, type=Scenario))


def _catch(trial: Trial, recording: Recording) -> Catch | None:
    verdict = verdict_of(trial.requirement, trial.scenario, recording)
    if not verdict.fails_the_run or verdict_without_fault(trial).fails_the_run:
        return None
    checkers = tuple(name for name in trial.requirement.checkers if _objects(name, trial, recording))
    return Catch(trial=trial, checkers=checkers, finding=verdict.findings[0])


def _objects(checker: str, trial: Trial, recording: Recording) -> bool:
    alone = msgspec.structs.replace(trial.requirement, checkers=(checker,))
    return verdict_of(alone, trial.scenario, recording).outcome is Outcome.FAIL


def verdict_without_fault(trial: Trial) -> Verdict:
    """What the trial says about a correct kubelet. One that accuses it proves nothing about a faulty one."""
    return _verdict_without_fault(_encode(trial))


@cache
def _verdict_without_fault(trial: bytes) -> Verdict:
    asked = msgspec.json.decode(trial, type=Trial)
    recording = recorded(_correct_history(_encode(asked.scenario)))
    return verdict_of(asked.requirement, asked.scenario, recording)


def row(fault: Fault, caught: Sequence[Catch]) -> str:
    """The line of a fault in the table of the page."""
    by_scope = [
        ", ".join(dict.fromkeys(catch.trial.requirement.id for catch in caught if catch.trial.scope == scope)) or "-"
        for scope in ("quick", "full")
    ]
    checkers = ", ".join(sorted({name for catch in caught for name in catch.checkers})) or NOBODY
    return f"| {fault.name} | {fault.sentence} | {' | '.join(by_scope)} | {checkers} |"


def page(trials: Sequence[Trial], rows: Iterable[str]) -> str:
    """docs/fault-matrix.md."""
    lines = "\n".join(rows)
    scenarios = len({trial.scenario.name for trial in trials})
    return f"""# Planted faults and who notices them

Generated by `python -m tools.fault_matrix --write`; a self-test keeps it current.

Each row is a way for a kubelet to be wrong. The simulated kubelet (crashloop/sim, Kubernetes {VERSION}) is told to be
wrong in that way, and {len(trials)} judgements on {scenarios} scenarios are made of what it does: those of the
conformance suite, and a few further ones (suites/selftest/kit/fault_scenarios.py) for what no conformance test provokes yet.
*quick* and *full* name the requirements whose conformance tests fail at that scope; `-` means that only a further
scenario shows the fault. *checkers* are those that object. A correct kubelet is accused by none of them:
suites/selftest/tools/test_fault_matrix.py tries 10,000 random scenarios, with lost watches, coarse clocks and starved hosts.

| fault | the kubelet ... | quick | full | checkers |
|---|---|---|---|---|
{lines}
"""


def load_trials() -> tuple[Trial, ...]:
    """All trials. Needs the project's root as the working directory, or on the path."""
    sys.path.insert(0, str(Path.cwd()))
    trials: tuple[Trial, ...] = importlib.import_module(TRIALS).trials()
    return trials


def rows(trials: Sequence[Trial]) -> Iterator[str]:
    """The table, fault by fault."""
    return (row(fault, catches(fault, trials)) for fault in Fault)


def main() -> int:
    """Print or write the page; 1 if a fault goes unnoticed."""
    parser = argparse.ArgumentParser(prog="python -m tools.fault_matrix", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE} instead of printing it")
    options = parser.parse_args()
    trials = load_trials()
    text = page(trials, rows(trials))
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return int(f"| {NOBODY} |" in text)


if __name__ == "__main__":
    sys.exit(main())
