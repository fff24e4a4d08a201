"""What holds for every pod is judged on every recording of a pod, whatever the pod was recorded for."""

import msgspec

from crashloop.checks.everywhere import EVERY_POD, judge_everywhere, of_every_pod
from crashloop.checks.judgement import JudgementInput
from crashloop.history.event import Channel, Kind
from crashloop.requirements import load_requirements
from crashloop.spec.pod import Action, RestartPolicy, restart_in
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Outcome, Verdict, VerdictMode
from suites.selftest.kit.cases import CRASHING, GOOD, good, question, renamed
from suites.selftest.kit.histories import History

CATALOGUE = load_requirements()
OTHER: PodScenario = renamed(CRASHING, "other")
OF_OTHER_PODS = {
    *("OVH-2", "OVH-23", "OVH-24", "PROBE-25", "PROBE-36", "PROBE-38", "PROBE-40", "PROBE-41"),
    *("RAC-6", "RAC-11", "RAC-19"),
}
"""Requirements about pods that are deleted, whose kubelet restarts, with probes or hooks, or with RestartAllContainers."""
EARLY = ((0.5, 1.5, 1), (2.0, 3.0, 1), (3.8, 4.8, 1), (7.1, None, 0))
"""The second restart comes 0.8 s after the exit, where 2 s are due."""


def verdicts(history: History, of: PodScenario = CRASHING) -> dict[str, Verdict]:
    """By requirement, those of one recorded pod."""
    asked: JudgementInput = question(history, "effective-config", of=of)
    return {each.requirement: each for each in judge_everywhere(CATALOGUE, asked, ())}


def early(of: PodScenario = CRASHING) -> History:
    return History(of).lives("app", *EARLY).ends(30)


def test_each_requirement_of_every_pod_is_judged_on_a_pod_that_was_recorded_for_another() -> None:
    found = verdicts(good().add(25.0, Channel.KUBELET, Kind.LOG_FILES, {"logs": {"app": [2, 3]}}, pod=True))
    assert found.keys() == {each.id for each in CATALOGUE.values() if each.everywhere} - OF_OTHER_PODS
    assert {each.outcome for each in found.values()} <= {Outcome.PASS, Outcome.INCONCLUSIVE}


def test_of_logs_nothing_is_said_where_none_were_listed() -> None:
    assert {each.id for each in CATALOGUE.values() if each.everywhere} - verdicts(good()).keys() == {
        "OVH-20"
    } | OF_OTHER_PODS


def test_of_a_pod_that_a_rule_is_not_about_nothing_is_said() -> None:
    (container,) = CRASHING.pod.containers
    ruled = msgspec.structs.replace(
        container, restart_policy=RestartPolicy.NEVER, rules=(restart_in(42, action=Action.RESTART_ALL_CONTAINERS),)
    )
    of = msgspec.structs.replace(CRASHING, pod=msgspec.structs.replace(CRASHING.pod, containers=(ruled,)))
    found = verdicts(History(of).lives("app", *GOOD).ends(30), of).keys()
    assert "RAC-19" in found
    assert "RAC-17" not in found


def test_a_contradiction_in_one_recording_is_a_fail_that_names_its_scenario() -> None:
    verdict = of_every_pod([verdicts(good())["BACKOFF-2"], verdicts(early(OTHER), OTHER)["BACKOFF-2"]])
    assert (verdict.scenario, verdict.profile, verdict.outcome) == (EVERY_POD, "max-2s", Outcome.FAIL)
    assert len(verdict.findings) == 1
    assert verdict.findings[0].startswith(
        'BACKOFF-2: in other (max-2s): restart 2 of "app" came 0.8 s after the exit (history lines'
    )
    assert [each.file for each in verdict.evidence] == ["history/other.jsonl"]
    assert verdict.facts == {"pods": {"PASS": 1, "FAIL": 1}}


def test_what_one_recording_leaves_open_is_left_to_the_others() -> None:
    cut_short = History(OTHER).lives("app", *GOOD[:1]).ends(3)
    verdict = of_every_pod([verdicts(cut_short, OTHER)["RULES-22"], verdicts(good())["BACKOFF-2"]])
    assert verdict.outcome is Outcome.PASS
    assert verdict.facts == {"pods": {"INCONCLUSIVE": 1, "PASS": 1}}


def test_without_a_recording_that_decides_it_a_requirement_is_reported_as_open() -> None:
    open_verdict = msgspec.structs.replace(
        verdicts(good())["BACKOFF-2"], outcome=Outcome.INCONCLUSIVE, findings=("BACKOFF-2: 0 delays seen, 1 needed.",)
    )
    verdict = of_every_pod([open_verdict])
    assert (verdict.outcome, verdict.mode) == (Outcome.INCONCLUSIVE, VerdictMode.REPORT)
    assert verdict.findings == ("BACKOFF-2: in crashing (max-2s): 0 delays seen, 1 needed.",)


def test_a_crash_of_a_checker_is_no_pass() -> None:
    crashed = msgspec.structs.replace(verdicts(good())["BACKOFF-2"], outcome=Outcome.ERROR, findings=("BACKOFF-2: x",))
    assert of_every_pod([verdicts(good())["BACKOFF-2"], crashed]).outcome is Outcome.ERROR


def test_a_known_deviation_in_one_recording_is_shown_with_its_number_and_fails_nothing() -> None:
    excused = msgspec.structs.replace(verdicts(early())["BACKOFF-2"], deviation="known")
    verdict = of_every_pod([verdicts(good())["BACKOFF-2"], excused])
    assert (verdict.outcome, verdict.deviation, verdict.fails_the_run) == (Outcome.FAIL, "known", False)
    first, second = verdict.findings
    assert first == "BACKOFF-2: 1 of 2 pods did not keep it."
    assert second.startswith('BACKOFF-2: in crashing (max-2s): restart 2 of "app" came 0.8 s after the exit')


def test_of_several_deviations_the_most_frequent_is_named() -> None:
    early_one = verdicts(early())["BACKOFF-2"]
    excused = [msgspec.structs.replace(early_one, deviation=name) for name in ("rare", "usual", "usual")]
    assert of_every_pod([verdicts(good())["BACKOFF-2"], *excused]).deviation == "usual"


def test_a_new_accusation_beside_a_known_deviation_fails_the_run() -> None:
    accused = verdicts(early())["BACKOFF-2"]
    verdict = of_every_pod([msgspec.structs.replace(accused, deviation="known"), accused])
    assert (verdict.fails_the_run, verdict.deviation, len(verdict.findings)) == (True, None, 1)


def test_what_is_only_reported_and_was_not_kept_is_no_pass() -> None:
    reported = msgspec.structs.replace(verdicts(early())["BACKOFF-2"], mode=VerdictMode.REPORT)
    verdict = of_every_pod([reported, msgspec.structs.replace(verdicts(good())["BACKOFF-2"], mode=VerdictMode.REPORT)])
    assert (verdict.outcome, verdict.mode, verdict.fails_the_run) == (Outcome.FAIL, VerdictMode.REPORT, False)


def test_one_pass_among_many_open_ones_is_no_pass() -> None:
    kept = verdicts(good())["BACKOFF-2"]
    left_open = msgspec.structs.replace(kept, outcome=Outcome.INCONCLUSIVE, findings=("BACKOFF-2: 0 delays seen.",))
    verdict = of_every_pod([kept, *[left_open] * 299])
    assert (verdict.outcome, verdict.mode) == (Outcome.INCONCLUSIVE, VerdictMode.REPORT)
    assert verdict.findings[0] == "BACKOFF-2: 1 of 300 pods decided it, 75 needed."
    assert of_every_pod([kept, *[left_open] * 3]).outcome is Outcome.PASS
