"""A recording whose delays are made longer or shorter is judged as if its kubelet had waited so."""

from collections.abc import Sequence

import msgspec
import pytest

from crashloop.checks.judge import judge
from crashloop.checks.judgement import JudgementInput
from crashloop.history.event import Kind
from crashloop.history.reduction import read_recording
from crashloop.history.stretched import Line, Shift, stretched
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome, Verdict
from sim.host import BUSY, CALM, HostModel
from suites.selftest.kit.cases import requirement
from suites.selftest.kit.fault_scenarios import trials
from tools.trials import VERSION, history_of, profile_of

SCENARIOS = {
    each.name: each for trial in trials() for each in trial.scenario.scenarios if isinstance(each, PodScenario)
}
encode = msgspec.json.Encoder().encode


def recorded_lines(name: str, host: HostModel) -> list[Line]:
    return [msgspec.json.decode(encode(event)) for event in history_of(SCENARIOS[name], host=host)]


def judged(name: str, lines: Sequence[Line]) -> Verdict:
    scenario = SCENARIOS[name]
    return judge(
        JudgementInput(
            requirement=requirement("delays", name="BACKOFF-2"),
            scenario=scenario,
            profile=profile_of(scenario),
            version=VERSION,
            recording=read_recording(encode(line) + b"\n" for line in lines),
        )
    )


def delayed(by: Shift) -> Shift:
    """Of the delays, not of the first restart, which is free."""
    return lambda restart, took_s: by(restart, took_s) if restart > 1 else 0.0


def test_nothing_moves_where_no_delay_changes() -> None:
    lines = recorded_lines("crashing-max-2s", CALM)
    assert stretched(lines, "app", lambda *_: 0.0) == lines


def test_what_happened_after_a_restart_comes_as_much_later_by_every_clock() -> None:
    lines = recorded_lines("crashing-max-2s", CALM)
    moved = stretched(lines, "app", lambda restart, _: 3.0 if restart == 2 else 0.0)
    assert moved[-1]["t_ns"] - lines[-1]["t_ns"] == 3_000_000_000
    of_journal = [[line["t_ns"] for line in each if line["channel"] == "journal"] for each in (lines, moved)]
    by_s = [round((after - before) / 1e9) for before, after in zip(*of_journal, strict=True)]
    assert by_s == sorted(by_s)
    assert set(by_s) == {0, 3}
    host = [sum(line["kind"] == Kind.PRESSURE for line in each) for each in (lines, moved)]
    assert host[1] - host[0] == 3


@pytest.mark.parametrize("host", [CALM, BUSY], ids=lambda host: host.name)
def test_every_delay_late_by_two_seconds_is_a_fail_where_two_are_due(host: HostModel) -> None:
    lines = recorded_lines("crashing-max-2s", host)
    assert judged("crashing-max-2s", lines).outcome is Outcome.PASS
    assert judged("crashing-max-2s", stretched(lines, "app", delayed(lambda *_: 2.0))).outcome is Outcome.FAIL


def test_every_delay_early_by_a_twentieth_is_a_fail_where_something_looks_when_it_is_due() -> None:
    lines = recorded_lines("crashing-reduced-decay", CALM)
    shorter = stretched(lines, "app", delayed(lambda _, took_s: -0.05 * took_s))
    assert judged("crashing-reduced-decay", shorter).outcome is Outcome.FAIL


def test_a_longer_delay_has_looks_that_hold_the_restart_back_after_its_due_moment() -> None:
    name = "looked-at-when-almost-due-max-1s"
    lines = recorded_lines(name, CALM)
    assert judged(name, lines).outcome is Outcome.PASS
    longer = judged(name, stretched(lines, "app", delayed(lambda *_: 0.15)))
    assert longer.outcome is Outcome.FAIL
    assert "and still held restart" in longer.findings[0]
