"""Delay between restarts of a container that keeps exiting.

KEP-4603 and KEP-5593; Kubernetes documentation, "Pod Lifecycle", how Pods handle problems with containers.
"""

from crashloop.spec.scenario import Mode
from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import crashing


@requirement(
    "BACKOFF-1", crashing("stock", restarts=8, mode=Mode.ANNOTATED, name="to-the-cap", at_most_s=1080), scope="full"
)
def test_the_delay_doubles_from_ten_seconds(verdict: Verdict) -> None:
    """After the free restart the delays MUST be 10, 20, 40, 80 s and go on doubling."""
    confirm(verdict)


@requirement("BACKOFF-2", the.MAX_2S, the.STOCK, the.MAX_GATE_OFF)
def test_no_restart_comes_before_its_delay_has_passed(verdict: Verdict) -> None:
    """A container MUST NOT be started before the delay since its last exit has passed."""
    confirm(verdict)


@requirement("BACKOFF-3", the.STOCK_LADDER, scope="full")
def test_a_delay_ends_within_its_bound(verdict: Verdict) -> None:
    """A container MUST be started within the lateness that the kubelet's own retry allows."""
    confirm(verdict)


@requirement("BACKOFF-4", *the.EVERY_CURVE)
def test_the_first_restart_is_free(verdict: Verdict) -> None:
    """The first restart MUST NOT be delayed, and MUST NOT count as a step of the curve."""
    confirm(verdict)


@requirement("BACKOFF-7", the.SUCCEEDING)
def test_exit_0_is_delayed_like_a_failure(verdict: Verdict) -> None:
    """Under Always, a container that exits with 0 MUST wait as long as one that fails."""
    confirm(verdict)


@requirement("BACKOFF-8", the.FAILS_THEN_SUCCEEDS)
def test_on_failure_restarts_until_success(verdict: Verdict) -> None:
    """Under OnFailure a failing container MUST restart on the same curve, and MUST stop once it exits with 0."""
    confirm(verdict)


@requirement("BACKOFF-9", the.NEVER_FAILS, the.NEVER_SUCCEEDS)
def test_never_means_never(verdict: Verdict) -> None:
    """Under Never a container MUST NOT restart, whatever its exit code."""
    confirm(verdict)


@requirement("BACKOFF-11", the.TWO_CONTAINERS)
def test_each_container_has_its_own_counter(verdict: Verdict) -> None:
    """Two containers of a pod MUST be delayed independently of each other."""
    confirm(verdict)


@requirement("BACKOFF-13", the.LONG_LIVES)
def test_the_delay_counts_from_the_exit(verdict: Verdict) -> None:
    """The delay MUST be measured from the exit, also where the container ran longer than the delay."""
    confirm(verdict)


@requirement("BACKOFF-16", the.INIT)
def test_init_containers_follow_the_same_curve(verdict: Verdict) -> None:
    """A failing init container MUST be delayed like any other, and the pod's containers MUST wait for it."""
    confirm(verdict)


@requirement("BACKOFF-17", the.SIDECAR)
def test_sidecars_follow_the_same_curve(verdict: Verdict) -> None:
    """A crashing sidecar MUST be delayed like any other, and MUST NOT restart its neighbours."""
    confirm(verdict)


@requirement("BACKOFF-20", the.MAX_10S, the.MAX_11S, the.MAX_GATE_OFF)
def test_looking_at_a_waiting_pod_neither_starts_it_nor_doubles_its_delay(verdict: Verdict) -> None:
    """A pod update during a delay MUST NOT start the container early and MUST NOT lengthen the next delay."""
    confirm(verdict)
