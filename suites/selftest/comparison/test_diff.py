"""Two runs compared: which requirements differ, what else differs, and the exit code.

What a change of outcome means, for every pair of outcomes.
"""

from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.comparison.comparison import Comparison, compare
from crashloop.comparison.side import Change, JudgedRun, ScenarioOutcome, change, exit_code, gravest, key_of
from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.verdict import Outcome, Verdict
from suites.selftest.kit.comparison_example import NEWER, OLDER, ON_KIND, edited, judged
from suites.selftest.kit.report_example import VERDICTS, example_results


def diff(before: Results, after: Results, **options: Any) -> Comparison:
    return compare(judged(before), judged(after), **options)


def changes(comparison: Comparison) -> dict[tuple[str, str], Change]:
    return {(each.requirement.id, each.scenario): each.change for each in comparison.verdicts}


def test_every_verdict_that_differs_is_named_with_what_became_of_it() -> None:
    assert changes(diff(OLDER, NEWER)) == {
        ("CAP-4", "crash-natural-max-1s"): Change.WORSE,
        ("RESET-4", "run-590s-max-20s"): Change.WORSE,
        ("RULES-22", "rule-in-42-max-2s"): Change.WORSE,
        ("FAULT-2", "runtime-restart-max-2s"): Change.UNDECIDED,
        ("BACKOFF-11", "two-containers-stock"): Change.BETTER,
        ("DECAY-1", "crash-natural-reduced-decay"): Change.ALLOWED,
        ("STORY-6", "sidecar-oom-max-1s"): Change.ALLOWED,
    }


def test_both_outcomes_and_their_findings_stand_beside_each_other() -> None:
    by_place = {(each.requirement.id, each.scenario): each for each in diff(OLDER, NEWER).verdicts}
    worse = by_place["CAP-4", "crash-natural-max-1s"]
    assert worse.before is not None
    assert worse.after is not None
    assert (worse.before.standing, worse.after.standing) == (Standing.PASS, Standing.FAIL)
    assert worse.after.findings == ('restart 7 of "app" came 0.62 s after the exit; 1 s was due.',)
    assert by_place["STORY-6", "sidecar-oom-max-1s"].before is None


def test_verdicts_are_in_the_order_of_gravity_then_of_the_catalogue() -> None:
    assert [each.requirement.id for each in diff(OLDER, NEWER).changed] == [
        "CAP-4", "RESET-4", "RULES-22", "FAULT-2", "BACKOFF-11",
    ]  # fmt: skip


def test_what_got_worse_decides_the_exit_code() -> None:
    comparison = diff(OLDER, NEWER)
    assert comparison.counts == {
        Change.WORSE: 3, Change.UNDECIDED: 1, Change.BETTER: 1, Change.ALLOWED: 2, Change.SAME: 46,
    }  # fmt: skip
    assert (comparison.exit_code, comparison.differences) == (1, 5)


def test_a_stated_missing_capability_is_no_difference() -> None:
    comparison = diff(NEWER, ON_KIND)
    assert comparison.differences == 0
    assert comparison.exit_code == 0
    assert [each.requirement.id for each in comparison.allowed] == ["RULES-6", "FAULT-1"]
    assert comparison.changed == ()


def test_only_inconclusive_differences_have_an_exit_code_of_their_own() -> None:
    place = ("CAP-6", "crash-annotated-max-11s")
    unclear = edited({place: lambda verdict: msgspec.structs.replace(verdict, outcome=Outcome.INCONCLUSIVE)})
    assert diff(NEWER, unclear).exit_code == 3
    assert diff(unclear, NEWER).exit_code == 3


def test_a_requirement_that_is_no_longer_judged_is_no_silent_pass() -> None:
    narrowed = edited({("CAP-6", "crash-annotated-max-11s"): lambda _: None})
    assert changes(diff(NEWER, narrowed)) == {("CAP-6", "crash-annotated-max-11s"): Change.UNDECIDED}
    assert diff(NEWER, narrowed).exit_code == 3
    assert diff(narrowed, NEWER).exit_code == 0


def test_later_restarts_count_only_when_asked_to() -> None:
    sooner = edited({}, sooner_s={"crash-natural-max-1s": 0.6})
    assert diff(sooner, NEWER).exit_code == 0
    assert diff(sooner, NEWER, values_count=True).exit_code == 1
    assert diff(NEWER, sooner, values_count=True).exit_code == 0


def test_what_else_differs_is_stated() -> None:
    stated = {each.subject: (each.before, each.after) for each in diff(OLDER, ON_KIND).circumstances}
    assert stated == {
        "provider": ("local", "kind"),
        "Kubernetes": ("1.36.3", "1.37.1"),
        "kubelet": ("v1.36.3", "v1.37.1"),
    }


def test_a_profile_of_another_content_or_of_one_run_only_is_stated() -> None:
    """A name says nothing: a profile is the same if its configuration is."""
    first, second, *rest = NEWER.profiles
    changed = msgspec.structs.replace(
        second, config={"crashLoopBackOff": {"maxContainerRestartPeriod": "5s"}}, curve="0, 5, 5 … s"
    )
    other = msgspec.structs.replace(NEWER, profiles=(changed, *rest))
    stated = {each.subject: (each.before, each.after) for each in diff(NEWER, other).circumstances}
    assert first.name == "stock"
    assert stated == {
        "profile stock": ("# nothing is set: the kubelet's defaults (0, 10, 20, 40, 80, 160, 300, 300 … s)", "absent"),
        "profile max-1s": (
            "crashLoopBackOff:; maxContainerRestartPeriod: 1s (0, 1, 1 … s)",
            "crashLoopBackOff:; maxContainerRestartPeriod: 5s (0, 5, 5 … s)",
        ),
    }


def test_a_kubelet_of_ones_own_is_distinct_from_the_release() -> None:
    """Nodes of a skewed profile do not make the run one of their release."""
    assert str(key_of(judged(NEWER))) == "local, Kubernetes 1.37.1"
    assert str(key_of(judged(NEWER, "/src/kubelet"))) == "local, Kubernetes 1.37.1, kubelet v1.37.1 from /src/kubelet"
    unknown = msgspec.structs.replace(NEWER, environment={})
    assert key_of(judged(unknown)) == key_of(judged(NEWER))


def test_a_run_that_never_came_up_is_compared_all_the_same() -> None:
    nothing = msgspec.structs.replace(example_results(()), environment={"nodes": "damaged", "host": 3}, profiles=())
    assert diff(nothing, nothing).differences == 0
    assert diff(NEWER, nothing).counts[Change.SAME] == 0


def standings() -> st.SearchStrategy[tuple[Verdict, ...]]:
    """The verdicts of the example with other outcomes, without some of them."""

    def another(verdict: Verdict) -> st.SearchStrategy[Verdict | None]:
        return st.sampled_from([*Outcome, None]).map(
            lambda outcome: outcome and msgspec.structs.replace(verdict, outcome=outcome, deviation=None, facts={})
        )

    return st.tuples(*map(another, VERDICTS[::6])).map(lambda each: tuple(filter(None, each)))


@given(verdicts=standings())
def test_a_run_does_not_differ_from_itself(verdicts: tuple[Verdict, ...]) -> None:
    comparison = diff(example_results(verdicts), example_results(verdicts))
    assert (comparison.differences, comparison.exit_code) == (0, 0)
    assert comparison.verdicts == ()
    assert comparison.circumstances == ()
    assert not any(each.is_change for each in comparison.lateness)


@given(before=standings(), after=standings())
def test_swapping_the_runs_makes_better_of_worse(before: tuple[Verdict, ...], after: tuple[Verdict, ...]) -> None:
    forth, back = (compare(*each) for each in ((one(before), one(after)), (one(after), one(before))))
    assert changes(forth).keys() == changes(back).keys()
    assert forth.counts[Change.SAME] == back.counts[Change.SAME]
    better = {place for place, each in changes(forth).items() if each is Change.BETTER}
    assert better <= {place for place, each in changes(back).items() if each is Change.WORSE}
    worse = {place for place, each in changes(forth).items() if each is Change.WORSE}
    assert not worse & {place for place, each in changes(back).items() if each is Change.WORSE}


def one(verdicts: tuple[Verdict, ...]) -> JudgedRun:
    return judged(example_results(verdicts))


FAIL, ERROR, PASS = (ScenarioOutcome(standing=each) for each in (Standing.FAIL, Standing.ERROR, Standing.PASS))
UNKNOWN = ScenarioOutcome(standing=Standing.INCONCLUSIVE)
DEVIATES = ScenarioOutcome(standing=Standing.DEVIATION)
SHOWN = ScenarioOutcome(standing=Standing.REPORTED)
LACKS = ScenarioOutcome(standing=Standing.SKIPPED, findings=("needs gate X; it is off on this node.",))
MUTE = ScenarioOutcome(standing=Standing.SKIPPED)
ABSENT = None

ALL = {
    "FAIL": FAIL,
    "ERROR": ERROR,
    "INCONCLUSIVE": UNKNOWN,
    "DEVIATION": DEVIATES,
    "REPORTED": SHOWN,
    "PASS": PASS,
    "SKIPPED": LACKS,
    "SKIPPED-for-nothing": MUTE,
    "not-judged": ABSENT,
}
"""In this order the columns of the table below."""

TABLE = """
    = ? ? + ? + ? ? ?
    ! = ? + ? + ? ? ?
    ! ! = ? o ? ? ? ?
    ! ! ? = o + o ? ?
    ! ! o o = o o o o
    ! ! ? ! o = o ? ?
    ! ! ? o o o = = o
    ! ! ? ? o ? = = o
    ! ! ? o o o o o =
"""
"""Before in the rows, after in the columns."""

SIGNS = {"=": Change.SAME, "!": Change.WORSE, "+": Change.BETTER, "?": Change.UNDECIDED, "o": Change.ALLOWED}

CELLS = {
    pair: SIGNS[sign] for pair, sign in zip(product(ALL, ALL), (sign for sign in TABLE if sign in SIGNS), strict=True)
}


@pytest.mark.parametrize(("before", "after"), CELLS, ids=lambda name: name)
def test_each_pair_of_outcomes_is_the_change_of_the_table(before: str, after: str) -> None:
    assert change(ALL[before], ALL[after]) is CELLS[before, after]


@pytest.mark.parametrize(("before", "after"), CELLS, ids=lambda name: name)
def test_no_pair_is_worse_in_both_directions_or_better_in_both(before: str, after: str) -> None:
    """What one order calls worse, the other calls better, or cannot tell."""
    forth, back = CELLS[before, after], CELLS[after, before]
    turned = {
        Change.SAME: {Change.SAME},
        Change.BETTER: {Change.WORSE},
        Change.WORSE: {Change.BETTER, Change.UNDECIDED},
        Change.UNDECIDED: {Change.WORSE, Change.UNDECIDED, Change.ALLOWED},
        Change.ALLOWED: {Change.ALLOWED, Change.UNDECIDED},
    }
    assert back in turned[forth]


def test_what_accuses_now_and_did_not_before_is_always_worse() -> None:
    accused = {before for (before, after), each in CELLS.items() if after == "FAIL" and each is not Change.WORSE}
    assert accused == {"FAIL"}


def test_the_gravest_change_stands_for_all_and_decides_the_exit_code() -> None:
    assert gravest(()) is Change.SAME
    assert gravest((Change.BETTER, Change.UNDECIDED, Change.WORSE)) is Change.WORSE
    codes = {each: exit_code((Change.SAME, each)) for each in Change}
    assert codes == {Change.WORSE: 1, Change.UNDECIDED: 3, Change.BETTER: 0, Change.ALLOWED: 0, Change.SAME: 0}
