"""Results of a stress run with one verdict more."""

import msgspec

from crashloop.report.stress.results import StressResults, outcome_of
from crashloop.slo.measurements import SloVerdict
from crashloop.verdict import Outcome


def with_verdict(
    results: StressResults, outcome: Outcome, *, mode: str = "gate", sentence: str = "a: b."
) -> StressResults:
    more = SloVerdict(slo="extra", outcome=outcome, mode=mode, sentence=sentence, target=0, unit="s")
    verdicts = (*results.verdicts, more)
    return msgspec.structs.replace(results, verdicts=verdicts, outcome=outcome_of(verdicts))
