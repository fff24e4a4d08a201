"""Parses lines of the kubelet's log: process, time, and the starts that a sync held back or failed to make. Pure.

Source: k8s.io/klog/v2 (header `Lmmdd hh:mm:ss.uuuuuu pid file:line]`), for the text of a backoff
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1, doBackOff, and for that of a failed start
pkg/kubelet/container/sync_result.go@v1.37.1 and pkg/kubelet/pod_workers.go@v1.37.1. Only their number is judged.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from crashloop.spec.duration import duration_seconds

_HEADER = re.compile(r"[IWEF](?P<stamp>\d{4} \d\d:\d\d:\d\d\.\d{6})\s+(?P<pid>\d+) ")
_BACKOFF = re.compile(
    r"back-off (?P<delay>\S+) restarting failed container=(?P<container>\S+) "
    r"pod=(?P<pod>[^_\s]+)_(?P<namespace>[^(\s]+)\((?P<uid>[^)\s]+)\)"
)
_FAILED = re.compile(r'failed to \\"StartContainer\\" for \\"(?P<container>[^"\\]+)\\" with (?!CrashLoopBackOff)')
_POD = re.compile(r' pod="(?P<namespace>[^/"]+)/(?P<pod>[^"]+)" podUID="(?P<uid>[^"]+)"')
_UID = re.compile(r'podUID="(?P<uid>[^"]+)"|event=\{"ID":"(?P<event>[^"]+)"')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Header(msgspec.Struct, frozen=True):
    """Who wrote a line, and when (UTC)."""

    pid: int
    t_ns: int


class NoStart(msgspec.Struct, frozen=True, kw_only=True):
    """A container that a sync did not start."""

    delay_s: float | None
    """The delay that held it back; None: the start failed."""
    container: str
    pod: str
    namespace: str
    pod_uid: str


def read_header(line: str, now: datetime, zone: timedelta = timedelta(0)) -> Header | None:
    """The header of a line that was read at `now` (UTC); None if it has none.

    klog writes neither the year, which is chosen so that the line is nearest to `now`, nor the zone.
    """
    match = _HEADER.match(line)
    if match is None:
        return None
    years = (now.year - 1, now.year, now.year + 1)
    readings = [reading - zone for year in years if (reading := _in_year(match["stamp"], year)) is not None]
    if not readings:
        return None
    since_epoch = min(readings, key=lambda reading: abs(reading - now)) - _EPOCH
    return Header(pid=int(match["pid"]), t_ns=since_epoch // timedelta(microseconds=1) * 1000)


def zone_of(lines: Sequence[str], now: datetime, local: timedelta) -> timedelta:
    """The zone of a log whose last lines were read at `now`: the host's, or UTC as in most containers; the nearer one."""
    for line in reversed(lines):
        header = read_header(line, now)
        if header is not None:
            ahead = timedelta(microseconds=header.t_ns // 1000) - (now - _EPOCH)
            return min((local, timedelta(0)), key=lambda zone: abs(ahead - zone))
    return local


def _in_year(stamp: str, year: int) -> datetime | None:
    try:
        return datetime.strptime(f"{year}{stamp}", "%Y%m%d %H:%M:%S.%f").replace(tzinfo=UTC)
    except ValueError:
        return None  # 29 February of another year


def pod_of(line: str) -> str | None:
    """The uid of the pod that a line is about; None if it names none."""
    match = _UID.search(line)
    return None if match is None else match["uid"] or match["event"]


def no_starts(line: str) -> Iterator[NoStart]:
    """The containers that were not started, by a line, each once."""
    yield from _failed(line)
    found = (
        NoStart(
            delay_s=duration_seconds(match["delay"]),
            container=match["container"],
            pod=match["pod"],
            namespace=match["namespace"],
            pod_uid=match["uid"],
        )
        for match in _BACKOFF.finditer(line)
    )
    yield from dict.fromkeys(found)


def _failed(line: str) -> Iterator[NoStart]:
    pod = _POD.search(line)
    if pod is not None:
        for name in dict.fromkeys(match["container"] for match in _FAILED.finditer(line)):
            yield NoStart(delay_s=None, container=name, pod=pod["pod"], namespace=pod["namespace"], pod_uid=pod["uid"])
