"""What the kubelet says about restarts, against what the runtime and the container itself recorded."""

from collections.abc import Iterator

from crashloop.spec.scenario import Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the


@requirement("RULES-22")
def test_the_restart_count_rises_by_one_with_each_restart() -> Iterator[Scenario]:
    yield from the.EVERY_CURVE
    yield the.SUCCEEDING
    yield the.FAILS_THEN_SUCCEEDS
