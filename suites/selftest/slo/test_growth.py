"""What restarts leave behind: the growth of a gauge per restart."""

from collections.abc import Sequence

import pytest

from crashloop.slo.judge import judge
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.row_faults import faults
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, crasher, measured, phase, restart, row, scrapes

FILES = "component_open_files"
SLI = {"kind": "growth", "source": "processes", "metric": FILES, "per": "restarts"}
TIMES = tuple(range(0, 181, 10))
RESTARTS = 1800


def grown(
    kubelet: Sequence[float], runtime: Sequence[float], *, restarts: int = RESTARTS, needed: int = 1500
) -> SloVerdict:
    """Open files of two components in 180 s, in which pods restart regularly."""
    rule = row(SLI, {"at_most": 0.1, "unit": "files/restart"}, min_samples=needed)
    of: Values = {
        (FILES, (("component", "kubelet"), ("node", "node-1"))): kubelet,
        (FILES, (("component", "runtime"), ("node", "node-1"))): runtime,
    }
    pods = [
        crasher(*(restart(180 * at / restarts - 0.2, 0.1) for at in range(restarts))),
        crasher(*(restart(180 * at / restarts - 0.2, 0.1) for at in range(restarts)), node="another"),
    ]
    sources = scrapes(TIMES, of, source="processes", node="")
    return judge(rule, measured(sources, lifecycles=pods, phases=(phase(0, 180),)))


LEVEL = [400.0 + 30 * (at % 2) for at in range(19)]


def test_a_gauge_that_goes_up_and_down_does_not_grow() -> None:
    verdict = grown(LEVEL, LEVEL)
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 0, RESTARTS)


def test_one_file_left_by_every_second_restart_is_seen_and_its_component_named() -> None:
    leaks = [400 + RESTARTS / 2 * at / 18 for at in range(19)]
    verdict = grown(LEVEL, leaks)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.value == pytest.approx(0.5)
    assert verdict.sentence == (
        "made-up: 0.5 files/restart of 1,800 restarts, target at most 0.1 files/restart, phase storm. "
        "Shown is the worst of 2: component runtime, node node-1."
    )


def test_a_single_high_scrape_is_no_growth() -> None:
    assert grown([*LEVEL[:-1], 9000], LEVEL).outcome is Outcome.PASS


def test_too_few_restarts_prove_nothing() -> None:
    verdict = grown(LEVEL, LEVEL, restarts=300)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "300 restarts are fewer than the 1500 restarts needed." in verdict.sentence


def test_without_scrapes_or_restarts_nothing_is_known() -> None:
    rule = row(SLI, {"at_most": 0.1, "unit": "files/restart"})
    pods = [crasher(restart(10, 1))]
    assert "was not scraped in the window" in judge(rule, measured(lifecycles=pods)).sentence
    few = scrapes((0, 100), {(FILES, ()): [1, 2]}, source="processes", node="")
    assert "fewer than 3 scrapes in a third" in judge(rule, measured(few, lifecycles=pods)).sentence
    enough = scrapes(tuple(range(0, 101, 5)), {(FILES, ()): [1] * 21}, source="processes", node="")
    assert "no restarts in the window." in judge(rule, measured(enough, lifecycles=[crasher()])).sentence
    assert judge(rule, measured(few, lifecycles=pods)).outcome is Outcome.INCONCLUSIVE


def test_what_it_is_counted_by_has_to_be_known() -> None:
    rule = row(SLI | {"per": "retries"}, {"at_most": 0.1, "unit": "files/restart"})
    assert next(faults(rule)).startswith("per 'retries' is not known; expected ")
