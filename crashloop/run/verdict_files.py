"""verdicts/<scenario>.json: each scenario of a run is judged once, by the first test that needs one of its verdicts.

The tests of a scenario can be spread over processes; the others read what the first has written, and so do the results.
"""

from collections.abc import Iterable

import msgspec
from filelock import FileLock

from crashloop.run.judging import Judged, judge_scenario
from crashloop.run.wait_for_history import is_sealed
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan


def judge_once(run: RunDir, plan: Plan, scenario: str) -> Judged:
    """The verdicts on a scenario or comparison, which no process of the run makes again.

    Those on a history that is not sealed are not kept: its recorder may still be writing it.
    """
    run.verdicts_dir.mkdir(exist_ok=True)
    with FileLock(run.verdicts_dir / f".{scenario}.lock"):
        judged = _kept(run, scenario)
        if judged is None:
            judged = judge_scenario(run, plan, scenario)
            if all(is_sealed(run.history(each)) for each in plan.histories_of(scenario)):
                run.write(run.verdicts(scenario), judged)
    return judged


def kept_verdicts(run: RunDir, scenarios: Iterable[str]) -> dict[str, Judged]:
    """The verdicts that were kept, by scenario, once no test judges any more."""
    for lock in run.verdicts_dir.glob(".*.lock"):
        lock.unlink()
    return {scenario: judged for scenario in scenarios if (judged := _kept(run, scenario)) is not None}


def _kept(run: RunDir, scenario: str) -> Judged | None:
    """None if there are none, or none that can be read: they can be made again."""
    try:
        return msgspec.json.decode(run.verdicts(scenario).read_bytes(), type=Judged)
    except (OSError, msgspec.MsgspecError):
        return None
