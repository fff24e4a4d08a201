"""Designs that were rejected: what the delay does not depend on. KEP-5593 and KEP-4603, "Alternatives"."""

from collections.abc import Iterator

from crashloop.spec.scenario import Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import starting


@requirement("ALT-2")
def test_the_exit_code_selects_no_delay() -> Scenario:
    return the.SAME_DELAY


@requirement("ALT-3")
def test_all_containers_of_a_node_have_one_maximum() -> Iterator[Scenario]:
    yield the.MAX_2S
    yield the.SUCCEEDING
    yield the.SIDECAR


@requirement("ALT-5")
def test_no_maximum_switches_the_delay_off() -> Iterator[Scenario]:
    yield starting("max-0s")
    yield starting("max-500ms")
    yield the.MAX_1S
