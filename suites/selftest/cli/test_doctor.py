"""What the doctor says of a host, and the budgets that follow from it."""

from datetime import UTC, datetime

import msgspec
import pytest

from crashloop.cluster.ownership import ClusterRecord
from crashloop.doctor import (
    CALM_SHARES,
    Findings,
    HostRow,
    budgets_elsewhere,
    budgets_of,
    examine,
    measured_budgets,
    report,
)
from crashloop.processors import available_processors
from crashloop.spec.plan import Budgets
from crashloop.spec.requirement import Scope
from suites.selftest.cluster.kind.test_prerequisites import GOOD as DOCKER
from suites.selftest.cluster.local.test_host import GIB, GOOD

CALM = Findings(
    host=GOOD,
    kernel="Linux 6.12.0 x86_64",
    process_start_s=0.00078,
    cpu_pressure="some avg10=1.50 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    security_modules="",
    selinux_enforces=False,
    forward_policy="",
    docker=DOCKER,
    clusters=(),
)


def row(findings: Findings, name: str) -> HostRow:
    (found,) = [each for each in report(findings).rows if each.name == name]
    return found


def test_a_usual_host_is_fit() -> None:
    assert report(CALM).ok
    assert {each.state for each in report(CALM).rows} == {"ok"}
    assert row(CALM, "memory").value == "8192 MiB available"
    assert row(CALM, "inotify").value == "20 instances in use, 1024 possible"


def test_selinux_that_enforces_is_a_warning_and_other_security_modules_are_named() -> None:
    assert row(msgspec.structs.replace(CALM, security_modules="capability,apparmor"), "security modules") == HostRow(
        name="security modules", value="capability,apparmor"
    )
    found = row(msgspec.structs.replace(CALM, selinux_enforces=True), "security modules")
    assert (found.state, found.value) == ("warn", "SELinux enforces")
    assert "`setenforce 0`" in found.advice


def test_budgets_follow_from_cores_and_memory() -> None:
    assert report(CALM).budgets == Budgets(container_starts_per_s=5.9, live_nodes=12)
    slow = msgspec.structs.replace(
        CALM, process_start_s=0.0078, host=msgspec.structs.replace(GOOD, cores=8, memory_available=3 * GIB)
    )
    assert report(slow).budgets == Budgets(container_starts_per_s=2.3, live_nodes=13)


@pytest.mark.parametrize(("cores", "starts_per_s"), [(1, 2.9), (2, 5.9), (16, 47.0)])
def test_the_budget_of_a_run_follows_the_cores(cores: int, starts_per_s: float) -> None:
    found = budgets_of(cores, 64 * GIB, 0.00078, CALM_SHARES[Scope.QUICK])
    assert (found.container_starts_per_s, found.live_nodes) == (starts_per_s, 6 * cores)


def test_a_wide_scope_has_a_calmer_pace_and_nodes_elsewhere_that_of_two_cores() -> None:
    assert budgets_of(2, 64 * GIB, 0.00078, CALM_SHARES[Scope.FULL]).container_starts_per_s == 3.9
    assert budgets_elsewhere(Scope.QUICK, 20) == Budgets(container_starts_per_s=5.9, live_pods=20)


def test_what_this_host_carries_is_measured() -> None:
    assert 0.1 < measured_budgets(Scope.FULL).container_starts_per_s < 10 * available_processors()


def test_what_stands_in_the_way_fails_with_its_remedy() -> None:
    findings = msgspec.structs.replace(CALM, host=msgspec.structs.replace(GOOD, root=False))
    assert not report(findings).ok
    assert row(findings, "rights") == HostRow(
        name="rights", state="fail", value="missing", advice="this user is not root: run the same command with sudo."
    )


def test_a_busy_host_is_warned_of() -> None:
    busy = msgspec.structs.replace(CALM, cpu_pressure="some avg10=60.00 avg60=0.00 avg300=0.00 total=12\n")
    assert row(busy, "pressure").state == "warn"
    assert report(busy).ok


def test_a_kernel_that_does_not_tell_its_pressure_is_warned_of() -> None:
    assert row(msgspec.structs.replace(CALM, cpu_pressure=""), "pressure").state == "warn"


def test_a_single_core_is_warned_of() -> None:
    assert row(msgspec.structs.replace(CALM, host=msgspec.structs.replace(GOOD, cores=1)), "cores").state == "warn"


def test_a_closed_forward_chain_is_mentioned_and_is_not_in_the_way() -> None:
    assert row(msgspec.structs.replace(CALM, forward_policy="DROP"), "forwarding").state == "ok"


def test_docker_is_named_and_its_absence_is_no_fault_of_a_host_for_local() -> None:
    assert row(CALM, "docker").value == "26.1.5+dfsg1 at unix:///var/run/docker.sock, for --provider kind"
    absent = msgspec.structs.replace(CALM, docker=msgspec.structs.replace(DOCKER, client=""))
    assert row(absent, "docker") == HostRow(
        name="docker",
        state="warn",
        value="none for --provider kind",
        advice='no "docker" on PATH: install Docker 23.0 or newer.',
    )
    assert report(absent).ok


def test_clusters_that_were_left_behind_are_named() -> None:
    orphan = ClusterRecord(
        name="demo",
        provider="local",
        owner_pid=1,
        owner_alive=False,
        kept=False,
        started=datetime(2026, 1, 1, tzinfo=UTC),
        nodes=(),
        kubeconfig="",
    )
    assert row(msgspec.structs.replace(CALM, clusters=(orphan,)), "clusters").value == "left behind: demo"
    kept = msgspec.structs.replace(CALM, clusters=(msgspec.structs.replace(orphan, kept=True),))
    assert "clusters" not in {each.name for each in report(kept).rows}


def test_this_host_can_be_examined() -> None:
    names = [each.name for each in examine().rows]
    assert len(set(names)) == len(names)
    assert {"cores", "pressure", "container starts", "live nodes"} <= set(names)
