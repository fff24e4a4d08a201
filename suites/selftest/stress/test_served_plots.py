"""One time axis per server: what clients saw, and what throttled and killed it, from a small recording."""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from bench.page.pictures import backlogs
from crashloop.report.html import to_html
from crashloop.report.stress.document import stress_document
from crashloop.report.stress.results import Series, ServedResult, StressResults
from crashloop.report.stress.served import backlog_charts, server_charts
from crashloop.slo.scrapes import stamp_of
from crashloop.stress.folder import publish_stress, published_stress
from crashloop.stress.judging import judge_run
from crashloop.stress.served import moves
from suites.selftest.kit.histories import ns
from suites.selftest.kit.stress_kit import NODE
from suites.selftest.stress.test_demand_run import LOAD, demand_run, loop

TIMES = list(range(0, 106, 5))
POD = (("container", ""), ("pod", "limited-0-0"))
USED = [0, 0, 0.2, 0.2, 0.7, 0.7, 1.2, 1.2] + 14 * [1.2]
"""0.2 s of CPU until 10 s, 0.5 s until 20 s, 0.5 s until 30 s; then nothing."""
PERIODS = [0, 0, 100, 100, 200, 200, 300, 300] + 14 * [300]
THROTTLED = [0, 0, 0, 0, 50, 50, 150, 150] + 14 * [150]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StressResults:
    """A server that is killed at 15 s and, for good, at 35 s; its kubelet counts every 10 s and is scraped every 5 s."""
    folder = loop(tmp_path_factory.mktemp("runs") / "run")
    folder.scrape("resource", TIMES, {("pod_cpu_usage_seconds_total", POD[1:]): USED}, node=NODE)
    folder.scrape(
        "cadvisor",
        TIMES,
        {
            ("container_cpu_cfs_periods_total", POD): PERIODS,
            ("container_cpu_cfs_throttled_periods_total", POD): THROTTLED,
        },
        node=NODE,
    )
    return judge_run(folder.run)


def line(results: StressResults, name: str) -> Series:
    (found,) = (each for each in results.series if each.name == name)
    return found


def test_cpu_goes_from_one_count_of_the_kubelet_to_the_next(results: StressResults) -> None:
    """0.2 s in 10 s, then twice 0.5 s in 10 s; from 30 s on the count stands still, and nothing was used."""
    assert line(results, "server CPU").points == (
        (0, 0.02), (10, 0.02), (10, 0.05), (20, 0.05), (20, 0.05), (30, 0.05), (30, 0), (100, 0),
    )  # fmt: skip


def test_cpu_goes_from_the_time_of_one_value_to_that_of_the_next(tmp_path: Path) -> None:
    """A kubelet that counts at 3 s, 13 s, ... and is scraped every 5 s: 0.3 s in the first 10 s, 0.1 s in the next."""
    counted_s = [-2, *(10 * ((at - 3) // 10) + 3 for at in TIMES[1:])]
    used = {-7: 0.0, -2: 0.0, 3: 0.0, 13: 0.3, 23: 0.4}
    folder = loop(tmp_path / "run")
    counter = "pod_cpu_usage_seconds_total"
    values = [used.get(at, 0.4) for at in counted_s]
    stamps = [ns(at) / 1e9 for at in counted_s]
    folder.scrape("resource", TIMES, {(counter, POD[1:]): values, (stamp_of(counter), POD[1:]): stamps}, node=NODE)
    found = judge_run(folder.run)
    assert line(found, "server CPU").points[:6] == ((3, 0.03), (13, 0.03), (13, 0.01), (23, 0.01), (23, 0), (33, 0))
    publish_stress(folder.run, found)
    assert published_stress(folder.run) == found


def test_throttling_is_a_share_of_the_periods_from_count_to_count(results: StressResults) -> None:
    assert line(results, "throttled").points == (
        (0, 0), (10, 0), (10, 50), (20, 50), (20, 100), (30, 100), (30, 0), (100, 0),
    )  # fmt: skip


def test_kills_and_down_times_are_those_of_the_runtime(results: StressResults) -> None:
    (server,) = results.served
    assert (server.kills_s, server.cpu_limit) == ((15, 35), 0.05)
    assert server.downs_s == ((15, 20), (35, 101))
    assert len(server.kills_s) == server.figures["kills"]
    down_s = sum(to_s - from_s for from_s, to_s in server.downs_s)
    assert server.figures["down-share"] == pytest.approx(100 * down_s / 99.5)  # the demand begins at 1.5 s


def test_a_kill_outside_of_a_stage_is_not_shown(tmp_path: Path) -> None:
    """Killed before the measurement begins at 1 s, in it, and after its end at 101 s: the down times are cut off."""
    lives = ((0.1, 0.4, 137), (3, 50, 137), (60, 95, 137), (102, 102.5, 137), (102.7, None, 0))
    folder = demand_run(tmp_path / "run", LOAD, lives, ends_s=104)
    results = judge_run(folder.run)
    (server,) = results.served
    assert server.kills_s == (50, 95)
    assert server.downs_s == ((1.5, 3), (50, 60), (95, 101))
    ((_, panels),) = server_charts(results)
    assert [len(panel.kills) for panel in panels] == 2 * [2]
    assert panels[0].alternative.endswith("; 2 kills, down for 17.5 s")


def test_panels_of_a_server_have_one_time_axis(results: StressResults) -> None:
    ((_, panels),) = server_charts(results)
    assert [panel.heading for panel in panels] == [
        "requests that wait",
        "answers per second",
        "throttled (% of the periods in which it used CPU)",
        "CPU (cores)",
    ]
    assert [bool(panel.x_ticks) for panel in panels] == [False, False, False, True]
    assert [[band.label for band in panel.bands] for panel in panels] == [["loop"], [""], [""], [""]]
    assert len({panel.across for panel in panels if panel.is_read}) == 1
    assert len({(panel.kills, panel.downs) for panel in panels}) == 1
    cpu = panels[-1]
    assert (cpu.target and cpu.target[1], cpu.alternative) == ("limit 0.05 cores", "up to 0.05 cores, limit 0.05")


def test_the_page_shows_kills_and_down_times_in_every_panel(results: StressResults) -> None:
    page = to_html(stress_document(results))
    (figure,) = re.findall(r'<p class="name">limited</p>.*?</figure>', page, re.DOTALL)
    assert [figure.count(each) for each in ('role="img"', 'class="kill"', 'class="down"', "data-along")] == [4, 4, 4, 4]
    assert figure.count("limit 0.05 cores") == 1
    assert re.search(r"up to \d+ requests; 2 kills, down for 71 s</figcaption>", figure)


def test_a_picture_of_the_pages_shows_them_too(results: StressResults) -> None:
    (picture,) = backlogs(results)
    (kills,) = re.findall(r'class="kill" d="([^"]+)"', picture.svg)
    (downs,) = re.findall(r'class="down" d="([^"]+)"', picture.svg)
    assert (kills.count("M"), downs.count("M")) == (2, 2)
    assert ".kill {" in picture.svg
    assert picture.alternative.endswith("2 kills, down for 71 s")


def test_a_run_of_an_earlier_version_shows_what_it_has(results: StressResults) -> None:
    (server,) = results.served
    earlier = msgspec.structs.replace(server, cpu_limit=None, kills_s=(), downs_s=())
    kept = tuple(each for each in results.series if each.name in ("backlog", "answers"))
    ((_, panels),) = server_charts(msgspec.structs.replace(results, served=(earlier,), series=kept))
    assert [panel.heading for panel in panels] == ["requests that wait", "answers per second"]
    assert (panels[0].kills, panels[0].downs) == ((), ())


def test_a_server_without_a_limit_has_no_throttling(results: StressResults) -> None:
    (server,) = results.served
    kept = tuple(each for each in results.series if each.name != "throttled")
    free = msgspec.structs.replace(server, cpu_limit=None)
    ((_, panels),) = server_charts(msgspec.structs.replace(results, served=(free,), series=kept))
    assert [panel.heading for panel in panels][2:] == ["CPU (cores)"]
    assert panels[-1].target is None


def test_servers_share_the_axis_of_their_backlog_and_not_that_of_their_cpu(results: StressResults) -> None:
    larger = Series(name="backlog", node="larger", unit="requests", points=((0.0, 0.0), (50.0, 4000.0)))
    busy = Series(name="server CPU", node="larger", unit="cores", points=((0.0, 2.0), (50.0, 2.0)))
    (_, small), (_, large) = server_charts(msgspec.structs.replace(results, series=(*results.series, larger, busy)))
    ends = [panel.up.high for panel in (small[0], large[0], small[-1], large[-1])]
    assert ends == pytest.approx([4240, 4240, 0.053, 2.12])
    assert [load for load, _ in backlog_charts(msgspec.structs.replace(results, series=(larger,)))] == ["larger"]


def test_a_counter_that_stood_still_longer_than_it_can_be_old_was_not_used() -> None:
    times = np.asarray([ns(at) for at in (0, 5, 10, 40, 45, 50, 55)], dtype=np.int64)
    assert list(moves(times, np.asarray([1.0, 0, 0, 0, 0, 2.0]))) == [(0, 1), (1, 3), (3, 6)]
    assert list(moves(times, np.asarray([0, 0, 5.0, 0, 0, 0]))) == [(0, 2), (2, 3)], "a gap between scrapes is no rest"
    assert list(moves(times, np.zeros(6))) == [(0, 6)]


def test_a_report_of_many_servers_stays_small(results: StressResults) -> None:
    points = tuple((float(second), second % 7 / 3) for second in range(400))
    names = ("backlog", "answers", "throttled", "server CPU")
    series = tuple(Series(name=name, node=f"n{n}", unit="u", points=points) for n in range(14) for name in names)
    kills = tuple(float(second) for second in range(0, 400, 10))
    served = tuple(
        ServedResult(load=f"n{n}", stage="loop", requests=9, kills_s=kills, downs_s=tuple((s, s + 5) for s in kills))
        for n in range(14)
    )
    page = to_html(stress_document(msgspec.structs.replace(results, series=series, served=served)))
    assert page.count('role="img"') == 4 * 14
    assert len(page.encode()) < 1_000_000
