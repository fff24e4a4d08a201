"""The kubelet's statements about restarts, against the records of the runtime and of the container."""

from collections.abc import Iterator

from crashloop.spec.scenario import Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the


@requirement("RULES-22")
def test_the_restart_count_rises_by_one_with_each_restart() -> Iterator[Scenario]:
    yield from the.EVERY_CURVE
    yield the.SUCCEEDING
    yield the.FAILS_THEN_SUCCEEDS
