"""Containers start as soon as what stands before them lets them: many waits together show whether a kubelet looks at once."""

from crashloop.spec.plan import Comparison, compared
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.test_programs import SIDECAR_OUT_OF_MEMORY
from suites.conformance.test_restart_all import BY_INIT, BY_SIDECAR, EVERY_KIND
from suites.conformance.test_rules import INIT_NOT_IN_0, INIT_UNTIL_SUCCESS, SIDECAR_WITH_RULES
from suites.conformance.test_several_containers import GROWING_INIT, GROWING_SIDECAR, SIDECAR_UNDER_NEVER
from suites.conformance.test_starts import DELETED


@requirement("RULES-38")
def test_containers_start_as_soon_as_those_before_them_let_them() -> Comparison:
    return compared(
        "starts-behind-others",
        the.FAILS_THEN_SUCCEEDS,
        the.INIT,
        the.SIDECAR,
        DELETED,
        GROWING_INIT,
        GROWING_SIDECAR,
        SIDECAR_UNDER_NEVER,
        SIDECAR_OUT_OF_MEMORY,
        SIDECAR_WITH_RULES,
        INIT_NOT_IN_0,
        INIT_UNTIL_SUCCESS,
        EVERY_KIND,
        BY_INIT,
        BY_SIDECAR,
    )
