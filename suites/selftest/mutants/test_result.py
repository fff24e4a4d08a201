"""A mutant is killed by a FAIL that the kubelet without a mutant does not have, and by nothing else."""

from crashloop.verdict import Outcome, Verdict, VerdictMode
from mutants.result import DEATH, Control, Fate, Kill, Result, Seen, control_of, with_seen

NOTHING = Result(id="Next-1-1-drop")
CONTROLS = {"crashing": Control(keeps=("BACKOFF-2", "RULES-22"), fails=("BACKOFF-3",))}


def verdict(
    requirement: str,
    outcome: Outcome,
    finding: str = "",
    *,
    deviation: str | None = None,
    mode: VerdictMode = VerdictMode.GATE,
) -> Verdict:
    return Verdict(
        requirement=requirement,
        scenario="crashing--m1",
        profile="max-2s--m1",
        outcome=outcome,
        findings=(finding,) if finding else (),
        deviation=deviation,
        mode=mode,
    )


def crashing(*verdicts: Verdict, death: str | None = None) -> tuple[Seen, ...]:
    return (Seen(scenario="crashing", verdicts=verdicts, death=death),)


def test_a_fail_kills() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.FAIL, "too early"), verdict("RULES-22", Outcome.PASS))
    result = with_seen(NOTHING, seen, CONTROLS)
    assert result.kills == (Kill(requirement="BACKOFF-2", scenario="crashing", finding="too early"),)
    assert result.fate is Fate.KILLED


def test_a_fail_beside_an_inconclusive_verdict_kills() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.FAIL, "too early"), verdict("RULES-22", Outcome.INCONCLUSIVE, "gap"))
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.KILLED


def test_a_fail_that_the_kubelet_itself_has_too_kills_nobody() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.PASS), verdict("BACKOFF-3", Outcome.FAIL, "late"))
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.SURVIVED


def test_a_fail_where_the_kubelet_itself_showed_too_little_kills() -> None:
    assert with_seen(NOTHING, crashing(verdict("RULES-28", Outcome.FAIL)), CONTROLS).fate is Fate.KILLED


def test_a_fail_on_a_scenario_that_the_kubelet_itself_never_met_kills_nobody() -> None:
    result = with_seen(NOTHING, crashing(verdict("BACKOFF-2", Outcome.FAIL, "too early")), {})
    assert result.fate is Fate.UNDECIDED
    assert result.undecided == {"crashing": "the kubelet without a mutant was not judged"}


def test_only_passes_mean_that_it_survived() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.PASS), verdict("RULES-22", Outcome.PASS))
    result = with_seen(NOTHING, seen, CONTROLS)
    assert (result.fate, result.scenarios) == (Fate.SURVIVED, ("crashing",))


def test_too_little_of_what_the_kubelet_itself_does_not_show_either_means_nothing() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.PASS), verdict("RULES-28", Outcome.INCONCLUSIVE, "0 delays seen"))
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.SURVIVED


def test_missing_evidence_is_undecided_until_the_scenario_is_met_again() -> None:
    seen = crashing(verdict("BACKOFF-2", Outcome.INCONCLUSIVE, "the watch was lost"))
    undecided = with_seen(NOTHING, seen, CONTROLS)
    assert undecided.undecided == {"crashing": "the watch was lost"}
    assert with_seen(undecided, crashing(verdict("BACKOFF-2", Outcome.PASS)), CONTROLS).fate is Fate.SURVIVED


def test_what_every_kubelet_is_known_to_break_says_nothing_about_a_mutant() -> None:
    seen = crashing(
        verdict("RULES-22", Outcome.PASS), verdict("RESET-4", Outcome.FAIL, "known", deviation="forgets-early")
    )
    assert with_seen(NOTHING, seen, CONTROLS).fate is Fate.SURVIVED


def test_a_kubelet_that_dies_is_killed() -> None:
    result = with_seen(NOTHING, crashing(verdict("BACKOFF-2", Outcome.ERROR), death="node m1: exit code 2"), CONTROLS)
    assert result.kills == (Kill(requirement=DEATH, scenario="crashing", finding="node m1: exit code 2"),)


def test_the_control_keeps_what_it_passes_and_fails_what_accuses_it() -> None:
    seen = crashing(
        verdict("BACKOFF-2", Outcome.PASS),
        verdict("RESET-4", Outcome.FAIL, deviation="forgets-early"),
        verdict("RULES-17", Outcome.FAIL),
        verdict("RULES-28", Outcome.INCONCLUSIVE),
    )
    assert control_of(seen) == {"crashing": Control(keeps=("BACKOFF-2", "RESET-4"), fails=("RULES-17",))}


def test_a_control_that_keeps_nothing_is_none() -> None:
    assert control_of(crashing(verdict("BACKOFF-2", Outcome.INCONCLUSIVE))) == {}
