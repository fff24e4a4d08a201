"""A status states as the message of an end what that very life has left in its termination log."""

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.program import HOLDS
from crashloop.verdict import Outcome
from sim.faults import StatementFault
from sim.host import BUSY, CALM, HostModel
from suites.selftest.kit.cases import CRASHING, GOOD, app, checked, scenario, told
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import Trial, recordings_of, verdict_of

RULES_22 = {each.scenario.name: each for each in trials() if each.requirement.id == "RULES-22"}


def said_of_instance_1(message: str, *, left: bool = True) -> History:
    """Instance 1 exits at 3 s; a status of 3.3 s states this message of it."""
    history = History(CRASHING).lives("app", *GOOD, status=False, told=True)
    if not left:
        history = History(CRASHING).lives("app", *GOOD[:1], status=False, told=True)
        history.lives("app", *GOOD[1:2], status=False, first=1).lives(
            "app", *GOOD[2:], status=False, first=2, told=True
        )
    return history.status(3.3, {"app": history.exited("app", 1, 2.0, 3.0, 1, message=message)})


def found(history: History) -> list[str]:
    """What is said about messages: the other findings are about what else this history lacks."""
    return [each for each in told(checked("last-exit", history.ends(30))) if "message" in each]


def test_accepts_the_message_of_each_life() -> None:
    answer = checked("last-exit", History(CRASHING).lives("app", *GOOD, told=True).ends(30))
    assert told(answer) == []
    assert answer.facts == {"last_exits_shown": 3, "messages_compared": 8}


def test_the_message_of_the_instance_before_is_a_fail() -> None:
    history = said_of_instance_1("app life 0")
    (finding,) = found(history)
    left = history.line_of(Kind.EXITED, 1, channel=Channel.JOURNAL)
    assert finding == (
        "FAIL: a status says message 'app life 0' of instance 1 of \"app\" "
        f"(history lines {left} and {history.line_of(Kind.STATUS)}); it left 'app life 1'."
    )


def test_a_message_that_is_lost_is_a_fail() -> None:
    history = said_of_instance_1("")
    (finding,) = found(history)
    assert finding.startswith('FAIL: a status says no message of instance 1 of "app"')
    assert finding.endswith("it left 'app life 1'.")


def test_a_message_of_a_life_that_left_none_is_a_fail_if_it_names_another() -> None:
    (finding,) = found(said_of_instance_1("app life 0", left=False))
    assert finding.endswith("it left nothing.")


@pytest.mark.parametrize("message", ["", "app life 1", "OOM: app life 1", "Error on reading termination log"])
def test_a_life_that_stamped_no_text_may_have_been_killed_after_its_words(message: str) -> None:
    assert found(said_of_instance_1(message, left=False)) == []


def test_what_the_runtime_says_stands_before_the_text() -> None:
    assert found(said_of_instance_1("something else: app life 1")) == []


@pytest.mark.parametrize("what", ["startedAt", "finishedAt"])
def test_a_time_that_is_left_out_is_a_fail(what: str) -> None:
    history = History(CRASHING).lives("app", *GOOD[:2], status=False, told=True)
    stated = history.exited("app", 1, *GOOD[1], message="app life 1")
    del stated["state"]["terminated"][what]
    findings = told(checked("last-exit", history.status(GOOD[1][1] + 0.3, {"app": stated}).ends(30)))
    kind = Kind.STARTED if what == "startedAt" else Kind.EXITED
    lines = f"{history.line_of(kind, 1, channel=Channel.RUNTIME)} and {history.line_of(Kind.STATUS)}"
    said = f'a status says no {what} of instance 1 of "app" (history lines {lines})'
    assert f"FAIL: {said}; the runtime stamped it." in findings


def test_histories_without_texts_are_judged_as_before() -> None:
    history = History(CRASHING).lives("app", *GOOD, status=False)
    history.status(3.3, {"app": history.exited("app", 1, 2.0, 3.0, 1, message="app life 0")})
    assert found(history) == []


def test_the_text_of_another_container_is_a_fail() -> None:
    pair = scenario(*CRASHING.pod.containers, app(HOLDS, name="other"), name="pair")
    history = History(pair).lives("app", *GOOD, told=True).lives("other", (0.6, 9.0, 137), (9.5, None, 0), status=False)
    history.status(9.3, {"other": history.exited("other", 0, 0.6, 9.0, 137, message="app life 2")})
    assert found(history)[0].startswith("FAIL: a status says message 'app life 2' of instance 0 of \"other\"")


FAULTS = [each for each in StatementFault if each.name.startswith("LAST_WORDS")]


def verdict_on(trial: Trial, host: HostModel, *faults: StatementFault, seed: int = 1) -> Outcome:
    recordings = recordings_of(trial.scenario, frozenset(faults), host=host, seed=seed)
    return verdict_of(trial.requirement, trial.scenario, *recordings).outcome


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_kubelet_that_states_another_text_fails(fault: StatementFault) -> None:
    assert verdict_on(RULES_22["crashing-max-2s"], CALM, fault) is Outcome.FAIL


@pytest.mark.parametrize("host", [CALM, BUSY], ids=lambda host: host.name)
def test_a_right_kubelet_passes(host: HostModel) -> None:
    assert {verdict_on(RULES_22["crashing-max-2s"], host, seed=seed) for seed in range(1, 5)} == {Outcome.PASS}
