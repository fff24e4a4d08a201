"""The kubelet's statements about restarts, against the records of the runtime and of the container."""

from collections.abc import Iterator

from crashloop.spec.scenario import Mode, Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import QUICK_WATCH_S, crashing
from suites.conformance.test_backoff import looked_at_when_almost_due
from suites.conformance.test_probes import READY_AGAIN_AND_AGAIN
from suites.conformance.test_several_containers import GROWING_SIDECAR

COMPLETING = crashing(
    "stock", restarts=3, run_s=6.0, exit_code=0, mode=Mode.ANNOTATED, name="completing", at_most_s=QUICK_WATCH_S
)


@requirement("BACKOFF-5")
def test_a_delay_is_shown_as_crash_loop_back_off() -> Iterator[Scenario]:
    yield the.MAX_10S
    yield the.MAX_GATE_OFF


@requirement("BACKOFF-6")
def test_a_container_that_completes_is_shown_in_turn() -> Scenario:
    return COMPLETING


@requirement("BACKOFF-14")
def test_the_message_names_the_delay() -> Iterator[Scenario]:
    yield the.MAX_10S
    yield the.MAX_11S


@requirement("BACKOFF-30")
def test_a_delay_is_reported_by_an_event() -> Iterator[Scenario]:
    yield the.MAX_10S
    yield the.MAX_11S


@requirement("RULES-22")
def test_the_restart_count_rises_by_one_with_each_restart() -> Iterator[Scenario]:
    yield from the.EVERY_CURVE
    yield the.SUCCEEDING
    yield the.FAILS_THEN_SUCCEEDS
    yield READY_AGAIN_AND_AGAIN
    yield looked_at_when_almost_due(1, restarts=20)


@requirement("RULES-36")
def test_a_pod_is_ready_while_its_containers_are() -> Iterator[Scenario]:
    yield the.MAX_2S
    yield the.FAILS_THEN_SUCCEEDS
    yield the.SIDECAR
    yield READY_AGAIN_AND_AGAIN


@requirement("PROBE-35")
def test_a_container_without_a_readiness_probe_is_ready_while_it_runs() -> Iterator[Scenario]:
    yield the.MAX_2S
    yield the.MAX_10S
    yield the.SIDECAR


@requirement("RULES-39")
def test_a_pod_is_initialized_once_its_init_containers_are_done() -> Iterator[Scenario]:
    yield the.MAX_2S
    yield the.INIT
    yield the.SIDECAR
    yield GROWING_SIDECAR
