"""What one restart does to its pod (KEP-5593, "Kubelet overhead analysis")."""

from collections.abc import Iterator

from crashloop.spec.program import HOLDS, exits_with
from crashloop.spec.scenario import Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import app, init, restarting
from suites.conformance.test_company import SIDECAR_LIVENESS
from suites.conformance.test_long_loops import FORTY_RESTARTS
from suites.conformance.test_probes import THIRD_FAILURE
from suites.conformance.test_several_containers import THREE_AT_THE_MAXIMUM
from suites.conformance.test_starts import NEVER_RAN


@requirement("OVH-5")
def test_a_restart_keeps_the_sandbox() -> Iterator[Scenario]:
    yield the.STOCK
    yield the.MAX_2S


@requirement("OVH-7")
def test_exited_containers_are_removed() -> Iterator[Scenario]:
    yield the.MAX_1S
    yield FORTY_RESTARTS


@requirement("OVH-8")
def test_a_restart_costs_one_create_one_start_and_one_remove() -> Scenario:
    return FORTY_RESTARTS


@requirement("OVH-9")
def test_the_log_grows_by_as_much_with_each_restart() -> Scenario:
    return FORTY_RESTARTS


@requirement("OVH-10")
def test_an_image_is_asked_for_only_when_a_start_is_made() -> Scenario:
    return the.MAX_10S


@requirement("OVH-22")
def test_each_start_is_counted_once() -> Scenario:
    return the.MAX_10S


@requirement("OVH-20")
def test_the_log_of_the_instance_before_is_kept() -> Iterator[Scenario]:
    yield the.STOCK
    yield the.SUCCEEDING
    yield the.SIDECAR
    yield restarting("restarted-init", init(exits_with(1, times=2)), app(HOLDS), pod=the.ALWAYS, restarts={"setup": 2})
    yield THREE_AT_THE_MAXIMUM
    yield THIRD_FAILURE
    yield SIDECAR_LIVENESS


@requirement("X-11")
def test_the_start_of_each_pod_is_measured_once() -> Scenario:
    return the.MAX_10S


@requirement("OVH-18")
def test_a_pod_that_waits_is_seldom_looked_at() -> Iterator[Scenario]:
    yield the.STOCK
    yield NEVER_RAN
