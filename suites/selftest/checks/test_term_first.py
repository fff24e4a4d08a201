"""What exits on SIGTERM is not ended by SIGKILL, whoever ends it."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import Probe
from crashloop.spec.program import KILLED, exits_with
from crashloop.verdict import Outcome
from sim.host import HOSTS, SLOW_HOSTS, HostModel
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import recordings_of, verdict_of

TERM = 143
TRIALS = [each for each in trials() if each.requirement.id == "OVH-24"]


def ended(exit_s: float, code: int = KILLED, *, spoke_s: float = 1.0) -> History:
    """A container that starts at 1 s, and when its program speaks and somebody ends it."""
    history = History(scenario(app(probes=(Probe(),)))).lives("app", (1.0, exit_s, code), journal=False)
    return history.journal(spoke_s, Kind.STARTED, "app", 0).ends(60)


@pytest.mark.parametrize("exit_s", [1.9, 30.0], ids=["in-its-first-second", "later"])
def test_an_end_by_sigkill_is_a_fail(exit_s: float) -> None:
    history = ended(exit_s)
    lines = history.line_of(Kind.STARTED, channel=Channel.JOURNAL), history.line_of(Kind.EXITED)
    assert told(checked("term-first", history)) == [
        f'FAIL: instance 0 of "app" was ended by SIGKILL (history lines {lines[0]} and {lines[1]}); '
        "it exits on SIGTERM, and had 2 s at least for that."
    ]


def test_an_end_by_sigterm_is_right() -> None:
    assert told(checked("term-first", ended(30.0, TERM))) == []


def test_a_program_that_had_no_handler_yet_hears_no_sigterm() -> None:
    assert told(checked("term-first", ended(6.0, spoke_s=4.5))) == []


@pytest.mark.parametrize(
    ("exit_s", "says"), [(4.1, []), (4.4, []), (4.6, ["FAIL"])], ids=["at-once", "on-a-busy-host", "long-after"]
)
def test_sigterm_came_earlier_than_the_grace_period_before_the_exit(exit_s: float, says: list[str]) -> None:
    """SIGKILL comes when the grace period is over, and then the exit: what is counted back from that is no moment of SIGTERM."""
    findings = told(checked("term-first", ended(exit_s, spoke_s=2.0)))
    assert [each.split(":")[0] for each in findings] == says


def test_a_program_that_got_no_cpu_for_its_grace_period_is_open() -> None:
    history = History(scenario(app(probes=(Probe(),)))).lives("app", (1.0, 30.0, KILLED)).stall(28.0, 2.0).ends(60)
    (finding,) = told(checked("term-first", history))
    assert finding.startswith('INCONCLUSIVE: instance 0 of "app" was ended by SIGKILL ')


def test_what_ends_itself_by_sigkill_or_ignores_sigterm_is_not_judged() -> None:
    own = (
        History(scenario(app(exits_with(KILLED), probes=(Probe(),))))
        .lives("app", (1.0, 2.0, KILLED), (2.1, None, 0))
        .ends(60)
    )
    stubborn = History(scenario(app(probes=(Probe(pattern="FFF"),), exit_code_on_term=KILLED)))
    for history in (own, stubborn.lives("app", (1.0, 30.0, KILLED)).ends(60)):
        assert told(checked("term-first", history)) == [
            "INCONCLUSIVE: 0 ends of a container that exits on SIGTERM seen, 1 needed: the scenario was complete."
        ]


@pytest.mark.parametrize("host", [*HOSTS, *SLOW_HOSTS], ids=lambda host: host.name)
def test_no_host_makes_a_right_kubelet_end_something_by_sigkill(host: HostModel) -> None:
    for each in TRIALS:
        found = verdict_of(each.requirement, each.scenario, *recordings_of(each.scenario, host=host))
        assert found.outcome is not Outcome.FAIL, found.findings
