"""What a scrape of kube-state-metrics finds of a pod at a time."""

import pytest

from crashloop.alerts.loops import FAMILIES, Series, State, as_promtool, scraped
from crashloop.history.statuses import ContainerReport, ContainerState, StatusReport
from crashloop.spec.pod import ContainerKind

ENDED = ContainerState("terminated", "Error", exit_code=3)
POD = {"namespace": "ns", "pod": "p"}
APP = {"app": ContainerKind.REGULAR}


def said(
    state: ContainerState, restarts: int = 0, last: ContainerState | None = None, *, ready: bool = False
) -> StatusReport:
    return StatusReport(0, 0, "Running", {"app": ContainerReport(restarts, "", ready, state, last)}, ready=ready)


def running(restarts: int) -> StatusReport:
    return said(ContainerState("running"), restarts, ENDED if restarts else None, ready=True)


BACKS_OFF = said(ContainerState("waiting", "CrashLoopBackOff"), 1, ENDED)
LOOP = [State(3, running(1)), State(12, said(ENDED, 1, ENDED)), State(28.5, BACKS_OFF), State(29.5, running(2))]


def of(states: list[State], at_s: list[float], kinds: dict[str, ContainerKind] = APP) -> Series:
    return scraped(states, POD, kinds, at_s=at_s, restarting="app", owner="<none>")


def values(series: Series, name: str, **labels: str) -> list[float | None]:
    wanted = (POD | labels).items()
    (found,) = (each for (family, has), each in series.items() if family == name and wanted <= dict(has).items())
    return found


def test_a_status_is_stated_until_the_next() -> None:
    assert values(of(LOOP, [0, 10, 20, 30]), "kube_pod_container_status_restarts_total") == [None, 1, 1, 2]


def test_a_reason_is_a_series_of_its_own_while_it_holds() -> None:
    series = of(LOOP, [0, 10, 20, 30])
    assert values(series, "kube_pod_container_status_terminated_reason", reason="Error") == [None, None, 1, None]
    assert values(series, "kube_pod_container_status_last_terminated_reason", reason="Error") == [None, 1, 1, 1]
    assert values(series, "kube_pod_container_status_last_terminated_exitcode") == [None, 3, 3, 3]


@pytest.mark.parametrize(("phase_s", "seen"), [(0.0, 0), (8.0, 0), (9.0, 1), (9.4, 1), (9.5, 0)])
def test_a_reason_of_a_second_is_seen_at_the_phases_of_that_second_only(phase_s: float, seen: int) -> None:
    series = of(LOOP, [phase_s, phase_s + 20, phase_s + 40])
    waiting = [each for (name, _), each in series.items() if name.endswith("waiting_reason")]
    assert sum(value or 0 for each in waiting for value in each) == seen


def test_a_repeated_cycle_counts_on() -> None:
    series = of([State(0, running(4)), State(9, running(4), more=20)], [5, 10])
    assert values(series, "kube_pod_container_status_restarts_total") == [4, 24]


def test_an_init_container_has_series_of_its_own() -> None:
    names = {name for name, _ in of(LOOP, [40], {"app": ContainerKind.INIT}) if "container" in name}
    assert "kube_pod_init_container_status_restarts_total" in names
    assert [each for each in names if "_pod_container_" in each] == []


def test_an_ephemeral_container_has_none() -> None:
    assert [name for name, _ in of(LOOP, [40], {"app": ContainerKind.EPHEMERAL}) if "container" in name] == []


def test_phase_and_readiness_are_of_the_pod() -> None:
    series = of(LOOP, [10, 20])
    assert values(series, "kube_pod_status_phase", phase="Running") == [1, 1]
    assert values(series, "kube_pod_status_phase", phase="Failed") == [0, 0]
    assert values(series, "kube_pod_status_ready", condition="true") == [1, 0]


def test_every_family_that_is_made_is_known() -> None:
    made = {
        name for kind in (ContainerKind.REGULAR, ContainerKind.INIT) for name, _ in of(LOOP, [5, 20, 29], {"app": kind})
    }
    assert made == FAMILIES


def test_what_a_scrape_no_longer_finds_is_stale() -> None:
    (found,) = as_promtool(of(LOOP, [0, 28.6, 29, 30, 31]), ["kube_pod_container_status_waiting_reason"])
    assert found == {
        "series": 'kube_pod_container_status_waiting_reason{container="app",namespace="ns",pod="p",reason="CrashLoopBackOff"}',
        "values": "_ 1 1 stale _",
    }
