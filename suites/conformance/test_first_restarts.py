"""First restarts have no delay: many of them together show whether a kubelet makes them wait by less than its looks do."""

from collections.abc import Iterator

from crashloop.spec.plan import Comparison, compared
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance import test_exit_codes as codes
from suites.conformance import test_rule_matching as matching
from suites.conformance.test_backoff import looked_at_when_almost_due
from suites.conformance.test_programs import SIDECAR_OUT_OF_MEMORY
from suites.conformance.test_rules import INIT_NOT_IN_0, INIT_UNMATCHED, NOT_IN, SIDECAR_WITH_RULES
from suites.conformance.test_several_containers import (
    GROWING_INIT,
    GROWING_SIDECAR,
    SIDECAR_UNDER_NEVER,
    THREE_AT_THE_MAXIMUM,
)
from suites.conformance.test_status import COMPLETING


@requirement("BACKOFF-28")
def test_the_fastest_first_restarts_come_at_once() -> Comparison:
    return compared(
        "first-restarts",
        *the.EVERY_CURVE,
        the.SAME_DELAY,
        the.STOCK_TO_40_S,
        the.SUCCEEDING,
        the.FAILS_THEN_SUCCEEDS,
        codes.DELAYED,
        codes.EVERY_KIND,
        codes.FAILURES,
        codes.SUCCESS_BETWEEN_FAILURES,
        COMPLETING,
        THREE_AT_THE_MAXIMUM,
        looked_at_when_almost_due(1, restarts=20),
        looked_at_when_almost_due(2, restarts=10),
    )


@requirement("BACKOFF-29")
def test_the_fastest_first_restarts_of_each_kind_come_at_once() -> Iterator[Comparison]:
    yield compared(
        "first-restarts-by-rule",
        *the.EVERY_RULE,
        codes.MATCHED,
        matching.SECOND_RULE,
        matching.NOT_IN_WITHOUT_0,
        matching.NOT_IN_BEFORE_IN,
        matching.LONG_LIFE,
        matching.LAST_OF_MANY,
        NOT_IN,
    )
    yield compared(
        "first-restarts-of-init-containers",
        the.INIT,
        the.SIDECAR,
        GROWING_INIT,
        GROWING_SIDECAR,
        INIT_NOT_IN_0,
        INIT_UNMATCHED,
        SIDECAR_WITH_RULES,
        SIDECAR_UNDER_NEVER,
        SIDECAR_OUT_OF_MEMORY,
    )
