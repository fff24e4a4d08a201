"""The page of a soak run says what was seen, and of which requirements."""

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.verdict import Outcome, Verdict
from suites.selftest.kit.report_example import example_results
from tools.soak import to_markdown

SHOWN = (
    Verdict(
        requirement="DECAY-6",
        scenario="counted-stock",
        profile="stock",
        outcome=Outcome.PASS,
        facts={"restarts_within": {"app": [{"within_s": 300.0, "seen": 5, "least": 4, "most": 5}]}},
    ),
    Verdict(
        requirement="RESET-5",
        scenario="long-stock",
        profile="stock",
        outcome=Outcome.FAIL,
        deviation="counter-collected-at-the-maximum",
        findings=("RESET-5: restart 8 came early.",),
    ),
)


def test_the_page_has_what_was_seen_of_each_requirement() -> None:
    page = to_markdown(msgspec.structs.replace(example_results(), verdicts=SHOWN)).splitlines()
    for line in (
        "| DECAY-6 | counted-stock | PASS |",
        "| RESET-5 | long-stock | KNOWN DEVIATION |",
        '- "app" restarted 5 times within 300 s of its first start; 4 to 5 are right.',
        "- restart 8 came early.",
        "- Known deviation `counter-collected-at-the-maximum` ([deviations.yaml](../crashloop/deviations.yaml)).",
    ):
        assert line in page


def test_a_run_of_another_scope_has_no_page() -> None:
    short = Verdict(requirement="CAP-3", scenario="s", profile="max-2s", outcome=Outcome.PASS)
    with pytest.raises(UsageError, match="it judged no requirement of the scope soak"):
        to_markdown(msgspec.structs.replace(example_results(), verdicts=(short,)))
