"""Lines of the kubelet's log are read for who wrote them, when, and which backoff they name."""

from datetime import UTC, datetime, timedelta

import pytest

from crashloop.record.channels.kubelet_log import Header, NoStart, no_starts, read_header, zone_of

NOW = datetime(2026, 11, 21, 16, 48, 58, tzinfo=UTC)
LINE = (
    'E1121 16:48:57.039642   28045 pod_workers.go:1338] "Error syncing pod, skipping" err="failed to \\"StartContainer\\" '
    'for \\"app\\" with CrashLoopBackOff: \\"back-off 1m20s restarting failed container=app '
    'pod=nat_crashloop-6ntnn(3fe4b9bc)\\"" pod="crashloop-6ntnn/nat" podUID="3fe4b9bc"'
)


def at(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


def test_the_header_tells_process_and_time() -> None:
    assert read_header(LINE, NOW) == Header(28045, at(datetime(2026, 11, 21, 16, 48, 57, 39642, tzinfo=UTC)))


@pytest.mark.parametrize("line", ["", "panic: nil", "E1121 16:48:57 28045 x"], ids=["empty", "panic", "no-fraction"])
def test_a_line_without_a_header_tells_neither(line: str) -> None:
    assert read_header(line, NOW) is None


def test_the_year_is_the_one_nearest_to_the_time_of_reading() -> None:
    header = read_header("I1231 23:59:59.000000   1 x.go:1] y", datetime(2027, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert header == Header(1, at(datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)))


def test_a_leap_day_is_of_a_leap_year() -> None:
    header = read_header("I0229 12:00:00.000000   1 x.go:1] y", datetime(2028, 2, 29, 12, 0, 1, tzinfo=UTC))
    assert header == Header(1, at(datetime(2028, 2, 29, 12, tzinfo=UTC)))


@pytest.mark.parametrize("zone_h", [0, 9, -5.5], ids=["utc", "east", "west"])
def test_a_log_in_the_host_s_zone_or_in_utc_is_reported_apart_by_its_last_line(zone_h: float) -> None:
    local = timedelta(hours=zone_h)
    written = (NOW + local).strftime("I%m%d %H:%M:%S.%f   1 x.go:1] y")
    assert zone_of([written, "a line without header"], NOW, local) == local
    assert zone_of([NOW.strftime("I%m%d %H:%M:%S.%f   1 x.go:1] y")], NOW, local) == timedelta(0)
    assert read_header(written, NOW, local) == Header(1, at(NOW))


def test_a_backoff_names_container_pod_and_delay() -> None:
    assert list(no_starts(LINE)) == [
        NoStart(delay_s=80.0, container="app", pod="nat", namespace="crashloop-6ntnn", pod_uid="3fe4b9bc")
    ]


def test_a_line_about_two_containers_tells_of_both_and_of_each_once() -> None:
    other = "back-off 10s restarting failed container=b pod=nat_crashloop-6ntnn(3fe4b9bc)"
    assert [(each.container, each.delay_s) for each in no_starts(f"{LINE} {other} {other}")] == [
        ("app", 80.0),
        ("b", 10.0),
    ]


def test_an_image_that_cannot_be_pulled_is_no_backoff_of_a_container() -> None:
    assert list(no_starts('"Back-off pulling image \\"x\\""')) == []


def test_a_failed_start_names_container_and_pod() -> None:
    reason = 'CreateContainerConfigError: \\"configmap \\\\\\"settings\\\\\\" not found\\"'
    line = LINE[: LINE.index("CrashLoopBackOff")] + reason + LINE[LINE.index('" pod=') :]
    assert list(no_starts(line)) == [
        NoStart(delay_s=None, container="app", pod="nat", namespace="crashloop-6ntnn", pod_uid="3fe4b9bc")
    ]


def test_a_line_may_name_a_backoff_and_a_failed_start() -> None:
    failed = 'failed to \\"StartContainer\\" for \\"other\\" with CreateContainerError: \\"x\\", '
    line = LINE.replace('err="', f'err="[{failed}')
    assert [(each.container, each.delay_s) for each in no_starts(line)] == [("other", None), ("app", 80.0)]
