"""The headline of a stress run: what holds, what was missed, and what to do about it."""

import msgspec
import pytest

from crashloop.report.standing import Standing
from crashloop.report.stress.load import stress_headline
from crashloop.report.stress.results import RowText, StressResults, outcome_of
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.rows import Better
from crashloop.stress.judging import judge_run
from crashloop.verdict import Outcome
from suites.selftest.kit.stress_kit import example_run
from suites.selftest.kit.stress_verdicts import with_verdict

CHECKS = ("load-as-planned", "nothing-left")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StressResults:
    return judge_run(example_run(tmp_path_factory.mktemp("runs") / "run").run)


def judged(results: StressResults, *slos: tuple[str, Outcome, str], official: bool = False) -> StressResults:
    """A run with two checks that hold and these SLOs: id, outcome and mode."""
    source = "kubernetes/community sig-scalability/slos" if official else "this suite"
    about = {"definition": "d", "source": source, "promise": "p99 at most 5 s"}
    rows = tuple(RowText(id=name, better=Better.LOWER, **about) for name, _, _ in slos)
    expected = [*((name, Outcome.PASS, "gate") for name in CHECKS), *slos]
    verdicts = tuple(
        SloVerdict(slo=name, outcome=outcome, mode=mode, sentence=f"{name}: said.", target=5, unit="s")
        for name, outcome, mode in expected
    )
    return msgspec.structs.replace(results, rows=rows, verdicts=verdicts, outcome=outcome_of(verdicts))


LOAD = "42 restarts in the load example on Kubernetes 1.37.1: all 2 checks of the run hold"


@pytest.mark.parametrize(
    ("slos", "standing", "words"),
    [
        ([("a", Outcome.PASS, "gate"), ("b", Outcome.PASS, "report")], Standing.PASS, "all 2 SLOs are kept."),
        (
            [
                ("a", Outcome.PASS, "gate"),
                ("slow", Outcome.FAIL, "report"),
                ("late", Outcome.FAIL, "report"),
                ("c", Outcome.INCONCLUSIVE, "report"),
            ],
            Standing.PASS,
            "of 4 SLOs 1 is kept, 2 are missed (reported only): slow, late; 1 is not judged.",
        ),
        (
            [("a", Outcome.FAIL, "gate"), ("b", Outcome.FAIL, "report")],
            Standing.FAIL,
            "of 2 SLOs none is kept, 1 is broken: a; 1 is missed (reported only): b.",
        ),
        ([("a", Outcome.INCONCLUSIVE, "gate")], Standing.INCONCLUSIVE, "of 1 SLO none is kept, 1 is not judged."),
        ([("a", Outcome.ERROR, "gate")], Standing.ERROR, "of 1 SLO none is kept, 1 is in error: a."),
    ],
    ids=["all kept", "missed and undecided", "broken", "inconclusive", "error"],
)
def test_the_headline_counts_checks_and_slos_apart_and_names_what_was_missed(
    results: StressResults, slos: list[tuple[str, Outcome, str]], standing: Standing, words: str
) -> None:
    said = stress_headline(judged(results, *slos))
    assert (said.standing, said.sentence) == (standing, f"{LOAD}; {words}")


@pytest.mark.parametrize(
    ("names", "words"),
    [(("a",), "1 is a known deviation: a."), (("a", "b"), "2 are known deviations: a, b.")],
    ids=["one", "two"],
)
def test_the_headline_counts_known_deviations(results: StressResults, names: tuple[str, ...], words: str) -> None:
    run = judged(results, ("kept", Outcome.PASS, "gate"), *((name, Outcome.FAIL, "report") for name in names))
    verdicts = tuple(
        msgspec.structs.replace(each, deviation=each.slo) if each.slo in names else each for each in run.verdicts
    )
    assert stress_headline(msgspec.structs.replace(run, verdicts=verdicts)).sentence.endswith(f"1 is kept, {words}")


def test_a_check_of_the_run_that_does_not_hold_is_named(results: StressResults) -> None:
    broken = with_verdict(judged(results, ("a", Outcome.PASS, "gate")), Outcome.INCONCLUSIVE)
    assert "1 of 3 checks of the run does not hold: extra; the only SLO is kept." in stress_headline(broken).sentence


def test_nothing_is_to_be_done_only_where_every_slo_was_judged_and_kept(results: StressResults) -> None:
    kept = ("a", Outcome.PASS, "gate")
    assert stress_headline(judged(results, kept)).to_do.startswith("Nothing.")
    for outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
        said = stress_headline(judged(results, kept, ("b", outcome, "report")))
        assert said.standing is Standing.PASS
        assert said.to_do.startswith("Read the sentences of missed and unjudged SLOs")


def test_a_run_that_judged_no_official_slo_says_so(results: StressResults) -> None:
    undecided = ("start", Outcome.INCONCLUSIVE, "report"), ("calls", Outcome.INCONCLUSIVE, "report")
    assert stress_headline(judged(results, *undecided, official=True)).meaning.endswith(
        "Not judged: start, calls. So none of the 2 official SLOs of "
        "Kubernetes was judged: this run proves nothing about them."
    )
    for other in (
        judged(results, *undecided),
        judged(results, *undecided, ("c", Outcome.PASS, "gate"), official=True),
    ):
        assert "official" not in stress_headline(other).meaning
