"""The judge: integrity first, then the node, then the checkers; known deviations by name, and those that are gone."""

import msgspec
import pytest

from crashloop.checks import kinds
from crashloop.checks.judge import judge
from crashloop.history.event import Channel, Kind
from crashloop.history.reduction import read_recording
from crashloop.model.variants import COUNTER_COLLECTED, REDUCED_DECAY_KEEPS_300S
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with, runs
from crashloop.spec.requirement import Deviation, Level
from crashloop.spec.scenario import Mode, StartupScenario, Until
from crashloop.verdict import Evidence, Outcome, Verdict, VerdictMode
from suites.selftest.kit.cases import CRASHING, GOOD, STOCK, app, good, question, renamed, scenario
from suites.selftest.kit.histories import History, startup

MAX_20S = KubeletProfile(name="max-20s", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "20s"}})
LONG_RUN = scenario(
    app(runs((1, 1), (1, 1), (1, 1), (590, 1), (1, 1))),
    profile=MAX_20S,
    until=Until(restarts={"app": 5}, at_most_s=800),
    mode=Mode.ANNOTATED,
    name="runs-590s",
)
"""Promised: 20 s after the long life and again. Known: the counter is collected, so some 10 s, and 10 s again."""
BEFORE = ((0.5, 1.5, 1), (2, 3, 1), (14, 15, 1), (36, 626, 1))
COLLECTED = Deviation(
    id="counter-collected",
    requirement="RESET-4",
    variant=COUNTER_COLLECTED,
    since="1.33",
    sentence="The counter is collected.",
    evidence="seen",
)


def early(history: History) -> History:
    return history.lives("app", (0.5, 1.5, 1), (2, 3, 1), (4.2, 5.2, 1), (7.5, None, 0))


def long_run(*after: tuple[float, float | None, int]) -> History:
    return History(LONG_RUN).lives("app", *BEFORE, *after).pokes(0.5, 700).ends(700)


def on_long_run(history: History, *deviations: Deviation, version: str = "1.37.1") -> Verdict:
    asked = question(history, "reset", profile=MAX_20S, name="RESET-4", version=version)
    return judge(asked, deviations)


def test_a_good_history_passes_with_its_numbers() -> None:
    verdict = judge(question(good(), "delays", "cap", "restart-count", "restart-decision", "pod-phase"))
    assert (verdict.outcome, verdict.findings, verdict.deviation) == (Outcome.PASS, (), None)
    assert (verdict.requirement, verdict.scenario, verdict.profile) == ("CAP-3", "crashing", "max-2s")
    assert [row["restart"] for row in verdict.facts["delays"]] == [1, 2, 3]
    assert verdict.facts["restart_counts"] == {"app": 3}


def test_a_finding_begins_with_its_requirement_and_names_its_lines() -> None:
    history = early(History(CRASHING)).ends(30)
    verdict = judge(question(history, "delays"))
    lines = (
        history.line_of(Kind.EXITED, 1, channel=Channel.RUNTIME),
        history.line_of(Kind.STARTED, 2, channel=Channel.RUNTIME),
    )
    assert verdict.findings == (
        f'CAP-3: restart 2 of "app" came 1.2 s after the exit (history lines {lines[0]} and {lines[1]}); '
        "2 s was due: the counter says 2 s.",
    )
    assert verdict.evidence == (Evidence(file="history/crashing.jsonl", lines=lines),)
    assert verdict.fails_the_run


@pytest.mark.parametrize(
    ("level", "mode", "fails"),
    [(Level.MUST, VerdictMode.GATE, True), (Level.SHOULD, VerdictMode.REPORT, False)],
    ids=["must", "should"],
)
def test_a_broken_should_is_shown_and_fails_no_run(level: Level, mode: VerdictMode, fails: bool) -> None:
    asked = question(early(History(CRASHING)).ends(30), "delays")
    asked = msgspec.structs.replace(asked, requirement=msgspec.structs.replace(asked.requirement, level=level))
    verdict = judge(asked)
    assert (verdict.outcome, verdict.mode, verdict.fails_the_run) == (Outcome.FAIL, mode, fails)


def test_the_same_finding_of_two_checkers_is_reported_once() -> None:
    verdict = judge(question(early(History(CRASHING)).ends(30), "delays", "never-early"))
    assert len(verdict.findings) == 1


def test_the_worst_outcome_counts_and_comes_first() -> None:
    verdict = judge(question(early(History(CRASHING)).ends(30), "in-place", "delays", min_restarts=9))
    assert verdict.outcome is Outcome.FAIL
    assert len(verdict.findings) == 2
    assert verdict.findings[1] == "CAP-3: 3 restarts seen, 9 needed: the scenario was complete."


def test_damage_inside_the_file_is_an_error_whatever_else_it_says() -> None:
    history = early(History(CRASHING)).runtime(3.5, Kind.STARTED, "app", "app-0").ends(30)
    verdict = judge(question(history, "delays"))
    line = history.line_of(Kind.STARTED, 2, channel=Channel.RUNTIME)
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings == (
        f"CAP-3: the history is damaged (history line {line}): started a second time for container app-0.",
    )


def test_a_recording_of_another_scenario_is_an_error() -> None:
    other = judge(question(good(renamed(CRASHING, "other")), "delays", of=CRASHING))
    assert other.findings == (
        "CAP-3: the history was recorded for scenario 'other' (history line 1), not for the plan's 'crashing'.",
    )
    changed = msgspec.structs.replace(CRASHING, until=Until(restarts={"app": 9}))
    again = judge(question(good(), "delays", of=changed))
    assert again.outcome is Outcome.ERROR
    assert "another declaration of the scenario" in again.findings[0]


def test_ground_truths_that_contradict_each_other_are_inconclusive() -> None:
    history = History(CRASHING).lives("app", *GOOD).journal(0.9, Kind.STARTED, "app", 0).ends(30)
    verdict = judge(question(history, "delays"))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].startswith('CAP-3: ground truths about "app" contradict each other (history lines ')


def spoken_late(
    by_s: float,
    *,
    control_s: float | None = 0.02,
    lost: Channel | None = None,
    pressure_us: int = 1_000,
    exit_s: float | None = None,
) -> Verdict:
    """Of a last life whose journal begins so much after the runtime's start.

    `control_s`: what control containers take then; `lost`: a channel that loses something meanwhile; `pressure_us`: for how long
    somebody waits for a CPU in each second; `exit_s`: when the runtime saw it exit.
    """
    start_s, _, code = GOOD[-1]
    history = History(CRASHING).lives("app", *GOOD[:-1], (start_s, exit_s, code), journal=False)
    history.pressure_us = pressure_us
    history.lives("app", *GOOD[:-1], (start_s + by_s, None, code), runtime=False, status=False)
    for at_s in range(0, 30, 2) if control_s is not None else ():
        history.control(at_s + (control_s or 0), create_s=control_s or 0)
    if lost is not None:
        history.gap(lost, start_s + 0.1, start_s + 0.2)
    return judge(question(history.ends(30), "delays"))


def test_a_start_that_runtime_and_journal_place_far_apart_on_a_calm_host_is_an_error() -> None:
    """A moved stamp would else be so many FAILs of a right kubelet."""
    verdict = spoken_late(1.5)
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings[0].startswith('CAP-3: ground truths about "app" contradict each other (history lines ')
    assert (
        "runtime and journal place the start of instance 3 1.5 s apart, and the host held it up for"
        in verdict.findings[0]
    )


@pytest.mark.parametrize(
    ("by_s", "control_s"), [(0.5, 0.02), (1.5, 1.4), (1.5, None)], ids=["a-usual-wait", "a-slow-host", "nothing-speaks"]
)
def test_a_program_may_wait_for_its_start(by_s: float, control_s: float | None) -> None:
    assert spoken_late(by_s, control_s=control_s).outcome is not Outcome.ERROR


def test_a_program_may_wait_for_a_cpu_as_long_as_anybody_does() -> None:
    """Control containers are quick: the runtime starts nothing in them."""
    assert spoken_late(1.5, pressure_us=990_000).outcome is not Outcome.ERROR


@pytest.mark.parametrize(
    ("by_s", "exit_s", "why"),
    [(-1.5, None, "before the runtime's create"), (1.9, 10.0, "after the runtime's exit")],
    ids=["before-the-create", "after-the-exit"],
)
def test_a_journal_that_begins_while_there_is_no_such_container_is_an_error_on_any_host(
    by_s: float, exit_s: float | None, why: str
) -> None:
    verdict = spoken_late(by_s, control_s=None, pressure_us=990_000, exit_s=exit_s)
    assert verdict.outcome is Outcome.ERROR
    assert f"the journal begins {why}" in verdict.findings[0]


@pytest.mark.parametrize("lost", [Channel.RUNTIME, Channel.JOURNAL])
def test_two_starts_between_which_a_channel_was_lost_may_be_of_two_instances(lost: Channel) -> None:
    """A static pod that is renewed under its uid, its first journal gone with it and its second start with the channel."""
    assert spoken_late(1.5, lost=lost).outcome is not Outcome.ERROR


def test_a_node_with_another_configuration_is_an_error() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, matches=False).lives("app", *GOOD).ends(30)
    assert judge(question(history, "delays")).outcome is Outcome.ERROR


def test_a_pod_that_the_api_server_refused_is_an_error() -> None:
    history = History(CRASHING).without(Kind.CREATED).without(Kind.SANDBOX).ends(1, "refused", detail="spec: Forbidden")
    verdict = judge(question(history, "delays"))
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings[0].endswith(": spec: Forbidden.")


def test_an_empty_recording_is_inconclusive() -> None:
    verdict = judge(question(History(CRASHING).without(Kind.CREATED).without(Kind.SANDBOX).ends(9), "delays"))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "nothing was recorded about the pod" in verdict.findings[0]


@pytest.mark.parametrize("reason", ["interrupted", None])
def test_an_unfinished_recording_never_passes(reason: str | None) -> None:
    history = History(CRASHING).lives("app", *GOOD).ends(30, reason or "complete")
    lines = history.lines() if reason else history.lines()[:-1]
    asked = question(history, "delays")
    unfinished = msgspec.structs.replace(asked, recording=read_recording(lines))
    assert judge(unfinished).outcome is Outcome.INCONCLUSIVE


def test_an_unfinished_recording_can_still_accuse() -> None:
    history = early(History(CRASHING)).ends(30)
    unfinished = msgspec.structs.replace(question(history, "delays"), recording=read_recording(history.lines()[:-1]))
    assert judge(unfinished).outcome is Outcome.FAIL


def test_a_checker_that_crashes_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(case: object, seen: object) -> None:
        raise KeyError("finished_at")

    monkeypatch.setitem(kinds.CHECKERS, "delays", msgspec.structs.replace(kinds.CHECKERS["delays"], find=crash))
    verdict = judge(question(good(), "delays", "cap"))
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings == (
        "CAP-3: checker delays crashed: KeyError 'finished_at'. "
        "This is a fault of the suite; the history is kept. Replay: crashloop report --again RUN.",
    )


def test_a_profile_that_the_model_refuses_is_an_error_and_no_traceback() -> None:
    nonsense = KubeletProfile(name="max-2s", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "301s"}})
    verdict = judge(question(good(), "delays", profile=nonsense))
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings[0].startswith("CAP-3: the judge crashed: UsageError")


def test_a_requirement_without_a_checker_for_the_scenario_is_an_error() -> None:
    assert judge(question(good(), "startup")).findings == (
        "CAP-3: no checker for scenario 'crashing' among its own (startup).",
    )


def test_checkers_of_the_other_kind_of_scenario_are_left_out() -> None:
    assert judge(question(good(), "startup", "delays")).outcome is Outcome.PASS
    tried = StartupScenario(name="start-max-2s", profile="stock", candidate="max-2s")
    history = startup(tried).process(2, Kind.PROCESS_HEALTHY, configz={}).ends(3, heartbeat=False)
    assert judge(question(history, "startup", "delays")).outcome is Outcome.PASS


def test_a_deviation_explains_what_its_model_predicts() -> None:
    verdict = on_long_run(long_run((638, 639, 1), (650, None, 0)), COLLECTED)
    assert (verdict.outcome, verdict.deviation) == (Outcome.FAIL, "counter-collected")
    assert verdict.findings[0].startswith('RESET-4: restart 4 of "app" came 12 s after the exit')
    assert not verdict.fails_the_run


def test_a_deviation_does_not_explain_what_neither_model_predicts() -> None:
    verdict = on_long_run(long_run((627, 628, 1), (630, None, 0)), COLLECTED)
    assert (verdict.outcome, verdict.deviation) == (Outcome.FAIL, None)
    assert verdict.fails_the_run


def test_what_no_deviation_explains_comes_before_what_one_does() -> None:
    asked = question(long_run((638, 639, 1), (650, 651, 1), (652, None, 0)), "delays", profile=MAX_20S, name="RESET-4")
    verdict = judge(asked, (COLLECTED,))
    assert verdict.fails_the_run
    assert verdict.findings[0].startswith('RESET-4: restart 6 of "app" came 1 s after the exit')
    assert any(each.startswith('RESET-4: restart 4 of "app" came 12 s after the exit') for each in verdict.findings[1:])


def test_a_known_kubelet_that_a_stall_held_up_is_not_accused() -> None:
    """Restart 4 comes too early for the promise, and too late for the variant, which a stall excuses."""
    late = History(LONG_RUN).lives("app", *BEFORE, (644.5, 645, 1), (656, None, 0)).pokes(0.5, 700)
    verdict = on_long_run(late.stall(630, 13).ends(700), COLLECTED)
    assert (verdict.outcome, verdict.deviation) == (Outcome.INCONCLUSIVE, None)
    assert verdict.findings[1].startswith('RESET-4: restart 4 of "app" was created 18.4 s after the exit')


def test_a_known_kubelet_that_was_later_than_any_stall_is_accused() -> None:
    late = History(LONG_RUN).lives("app", *BEFORE, (644.5, 645, 1), (656, None, 0)).pokes(0.5, 700)
    verdict = on_long_run(late.stall(630, 0.2).ends(700), COLLECTED)
    assert verdict.fails_the_run


def test_where_a_deviation_explains_all_that_is_accused_and_leaves_something_else_open_nothing_is_accused() -> None:
    """Restart 4 comes too early for the promise alone, restart 5 too late for the variant alone, which a stall excuses."""
    late = History(LONG_RUN).lives("app", *BEFORE, (638, 639, 1), (661.2, None, 0)).pokes(0.5, 700)
    verdict = on_long_run(late.stall(650, 10.5).ends(700), COLLECTED)
    assert (verdict.outcome, verdict.deviation) == (Outcome.INCONCLUSIVE, None)
    assert verdict.findings[0] == (
        "RESET-4: deviation counter-collected may be why the promise was not kept; that is open."
    )


def test_without_an_entry_nothing_is_explained() -> None:
    verdict = on_long_run(long_run((638, 639, 1), (650, None, 0)))
    assert (verdict.outcome, verdict.deviation) == (Outcome.FAIL, None)


def test_an_entry_for_other_releases_or_requirements_explains_nothing() -> None:
    older = msgspec.structs.replace(COLLECTED, until="1.36")
    other = msgspec.structs.replace(COLLECTED, requirement="RESET-5")
    verdict = on_long_run(long_run((638, 639, 1), (650, None, 0)), older, other)
    assert verdict.deviation is None


def test_a_promise_that_is_kept_where_a_deviation_was_expected_fails() -> None:
    verdict = on_long_run(long_run((647, 648, 1), (669, None, 0)), COLLECTED)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings == (
        "RESET-4: deviation counter-collected is gone: the promise was kept where kubelets since 1.33 are known to "
        "break it. Its entry in deviations.yaml has to end.",
    )
    assert on_long_run(long_run((647, 648, 1), (669, None, 0))).outcome is Outcome.PASS


def test_where_promise_and_deviation_predict_the_same_nothing_is_gone() -> None:
    crashing = scenario(app(exits_with(1, times=3)), until=Until(restarts={"app": 3}), name="short")
    history = History(crashing).lives("app", *GOOD).ends(30)
    assert judge(question(history, "delays", name="RESET-4"), (COLLECTED,)).outcome is Outcome.PASS


def test_a_candidate_is_judged_by_its_own_configuration() -> None:
    tried = StartupScenario(name="start-too-long", profile="stock", candidate="too-long")
    too_long = KubeletProfile(name="too-long", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "301s"}})
    refused = startup(tried).process(2, Kind.PROCESS_EXITED, exit_code=1, stderr="no")
    refused.process(2, Kind.PROCESS_HEALTHY, configz={}, control="valid").ends(3, heartbeat=False)
    verdict = judge(question(refused, "startup", profile=too_long))
    assert (verdict.outcome, verdict.profile) == (Outcome.PASS, "stock")
    assert judge(question(startup(tried).ends(3, heartbeat=False), "startup", profile=too_long)).outcome is (
        Outcome.INCONCLUSIVE
    )


def test_the_profile_of_the_node_decides_what_is_due() -> None:
    on_stock = msgspec.structs.replace(CRASHING, profile="stock")
    assert judge(question(good(on_stock), "delays", profile=STOCK)).outcome is Outcome.FAIL


REDUCED = KubeletProfile(name="reduced", config={"featureGates": {"ReduceDefaultCrashLoopBackOffDecay": True}})
GROWING = scenario(app(exits_with(1, times=9)), profile=REDUCED, until=Until(restarts={"app": 9}), name="growing")
KEEPS_300S = Deviation(
    id="keeps-300s",
    requirement="CONFIG-9",
    variant=REDUCED_DECAY_KEEPS_300S,
    since="1.35",
    sentence="The maximum stays at 300 s.",
    evidence="seen",
)


@pytest.mark.parametrize(
    ("maximum", "deviation"),
    [("5m0s", "keeps-300s"), ("2m10s", None), (None, None)],
    ids=["says-300s", "says-130s", "does-not-say"],
)
def test_a_larger_maximum_is_a_known_deviation_only_where_it_is_shown(
    maximum: str | None, deviation: str | None
) -> None:
    """After restart 9 nobody can tell 300 s from 130 s: the delays were 1, 2, 4 ... 128 s."""
    history, start_s, lives = History(GROWING, profile=REDUCED).without(Kind.NODE), 0.5, []
    for waited_s in (0.5, 1.3, 2.3, 4.3, 8.3, 16.3, 32.3, 64.3, 128.3):
        lives.append((start_s, start_s + 1, 1))
        start_s += 1 + waited_s
    section = {} if maximum is None else {"maxContainerRestartPeriod": maximum}
    history.node(-0.9, configz={"crashLoopBackOff": section}).lives("app", *lives, (start_s, None, 0)).ends(320)
    asked = question(history, "effective-config", "delays", profile=REDUCED, name="CONFIG-9")
    verdict = judge(asked, (KEEPS_300S,))
    assert (verdict.outcome, verdict.deviation) == (Outcome.FAIL, deviation)


def test_only_the_variants_that_an_entry_names_explain_anything() -> None:
    """The wait is that of a collected counter; another variant of the same release is no explanation."""
    other = msgspec.structs.replace(COLLECTED, variant=REDUCED_DECAY_KEEPS_300S)
    in_company = msgspec.structs.replace(other, company=(COUNTER_COLLECTED,))
    history = long_run((638, 639, 1), (650, None, 0))
    assert on_long_run(history, other).deviation is None
    assert on_long_run(history, in_company).deviation == "counter-collected"


FIRST_WAITS = ((0.5, 1.5, 1), (11.7, 12.7, 1), (33.0, None, 0))
"""The first restart comes after 10.2 s, as kubernetes/kubernetes#133472 asks for, and the second after 20.3 s."""


def on_the_default_curve(*lives: tuple[float, float | None, int], version: str = "1.38.0") -> Verdict:
    stock = scenario(app(exits_with(1, times=2)), profile=STOCK, until=Until(restarts={"app": 2}), mode=Mode.ANNOTATED)
    history = History(stock).lives("app", *lives).pokes(0.5, 60).ends(60)
    return judge(question(history, "delays", profile=STOCK, version=version, min_delays=1))


@pytest.mark.parametrize("version", ["1.38.0", "1.38.0-alpha.0"])
def test_what_an_open_change_explains_is_no_fail_on_the_default_curve(version: str) -> None:
    verdict = on_the_default_curve(*FIRST_WAITS, version=version)
    assert (verdict.outcome, verdict.findings) == (Outcome.PASS, ())
    assert verdict.facts["upstream_change"] == "kubernetes/kubernetes#133472"


def test_the_rule_of_today_is_no_fail_on_the_default_curve_either() -> None:
    verdict = judge(question(good(), "first-restart-free", version="1.38.0"))
    assert (verdict.outcome, "upstream_change" in verdict.facts) == (Outcome.PASS, False)


def test_what_no_change_explains_is_a_fail_on_the_default_curve() -> None:
    verdict = on_the_default_curve((0.5, 1.5, 1), (11.7, 12.7, 1), (18.0, None, 0))
    assert (verdict.outcome, "upstream_change" in verdict.facts) == (Outcome.FAIL, False)


def test_an_open_change_explains_nothing_of_a_kubelet_that_the_model_knows() -> None:
    assert on_the_default_curve(*FIRST_WAITS, version="1.37.1").outcome is Outcome.FAIL


def test_a_deviation_that_is_gone_from_a_newer_kubelet_is_no_fail() -> None:
    verdict = on_long_run(long_run((646.5, 647.5, 1), (668, None, 0)), COLLECTED, version="1.38.0")
    assert not any("is gone" in each for each in verdict.findings)
