"""Time and memory to judge a run of a million history events.

    python -m bench.analyze [--events N] [--histories N] [--write]        (default: 1,000,000 events in one history and in 20)

The histories are crash loops at a maximum of 2 s: every restart in both ground truths, two statuses and the kubelet's
log, and a heartbeat every second. Quick conformance runs have more heartbeats and fewer restarts per event.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.figures import Figure, load_average, options, publish, require_right
from crashloop.history.event import HISTORY_FORMAT, Channel, Clock, Event, Kind
from crashloop.rundir import RunDir, RunInfo
from crashloop.spec.plan import Judgement, Plan
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from crashloop.spec.version import DEFAULT_VERSION

TARGET_S, TARGET_MB = 10.0, 500.0
REQUIREMENTS = ("CAP-3", "CAP-4", "BACKOFF-4", "RULES-22")
PROFILE = KubeletProfile(name="max-2s", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}})
EVENTS_A_RESTART = 13
PERIOD_S = 3.8
FREE_S = 2.0
"""The first restart is earlier by this much."""
ZERO_NS, BOOTED_NS = 1_800_000_000 * 10**9, 1_799_000_000 * 10**9


Happening = tuple[float, Channel, Kind, dict[str, Any], bool]
"""Seconds, channel, kind, data and whether it concerns the pod."""


def scenario(name: str, restarts: int) -> PodScenario:
    return PodScenario(
        name=name,
        profile=PROFILE.name,
        pod=Pod(containers=(Container(program=exits_with(1, after_s=1.0, times=restarts)),)),
        until=Until(restarts={"app": restarts}, at_most_s=restarts * PERIOD_S + 60),
    )


def happenings(of: PodScenario, restarts: int) -> Iterator[Happening]:
    """The lines of one history, in order."""
    begin = {
        "format": HISTORY_FORMAT,
        "scenario": msgspec.to_builtins(of),
        "kubernetes_version": DEFAULT_VERSION,
        "profile": of.profile,
    }
    yield -2.0, Channel.RECORDER, Kind.BEGIN, begin, False
    yield -1.9, Channel.KUBELET, Kind.NODE, {"matches_profile": True, "kubelet_pid": 1, "configz": {}}, False
    yield 0.0, Channel.API, Kind.CREATED, {"pod": {}}, True
    last: dict[str, Any] = {}
    beats: list[Happening] = []
    for number in range(restarts + 1):
        at_s, name = max(0.0, number * PERIOD_S - FREE_S), f"{number:064x}"
        begun, over = stamp(at_s + 0.20), stamp(at_s + 1.21)
        ended = {"exitCode": 1, "reason": "Error", "startedAt": begun, "finishedAt": over, "containerID": name}
        running = {"running": {"startedAt": begun}}
        for beat in range(math.ceil(at_s), math.ceil((number + 1) * PERIOD_S - FREE_S)):
            beats.append((float(beat), Channel.RECORDER, Kind.PRESSURE, {"some_us": 900, "interval_ns": 10**9}, False))
            if beat % 10 == 0:
                beats.append((float(beat), Channel.RECORDER, Kind.CLOCK, {"boot_ns": ns(beat) - BOOTED_NS}, False))
        cycle: list[Happening] = [
            (at_s + 0.12, Channel.RUNTIME, Kind.CREATED, {"container_id": name, "image": "program"}, True),
            (at_s + 0.20, Channel.RUNTIME, Kind.STARTED, {"container_id": name, "pid": number}, True),
            (at_s + 0.21, Channel.JOURNAL, Kind.STARTED, {"line": f"{number} start"}, True),
            (at_s + 0.35, Channel.API, Kind.STATUS, status(number, name, running, last), True),
            (at_s + 1.20, Channel.JOURNAL, Kind.EXITED, {"exit_code": 1, "line": f"{number} exit 1"}, True),
            (at_s + 1.21, Channel.RUNTIME, Kind.EXITED, {"container_id": name, "exit_code": 1}, True),
            (at_s + 1.60, Channel.API, Kind.STATUS, status(number, name, {"terminated": ended}, last), True),
            (at_s + 1.61, Channel.KUBELET, Kind.LOG, {"line": "back-off 2s restarting", "delay_s": 2.0}, True),
        ]
        yield from sorted((*beats, *(cycle[:4] if number == restarts else cycle)), key=lambda each: each[0])
        beats.clear()
        last = {"terminated": ended}
    yield restarts * PERIOD_S + 20, Channel.RECORDER, Kind.END, {"reason": "complete"}, False


def status(number: int, name: str, state: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": "program:1",
        "imageID": "sha256:" + "0" * 64,
        "containerID": f"containerd://{name}",
        "restartCount": number,
        "ready": "running" in state,
        "started": "running" in state,
        "state": state,
        "lastState": last,
    }
    conditions = [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "PodScheduled")]
    return {
        "resource_version": str(number),
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [container], "podIP": "10.0.0.1"},
    }


def stamp(at_s: float) -> str:
    return datetime.fromtimestamp(ns(at_s) // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ns(at_s: float) -> int:
    return ZERO_NS + round(at_s * 1e9)


def write_run(root: Path, events: int, histories: int) -> int:
    """A run directory of that many histories; returns its number of events."""
    restarts = events // histories // EVENTS_A_RESTART
    scenarios = tuple(scenario(f"loop-{number}", restarts) for number in range(histories))
    run = RunDir.create(root, RunInfo(suite="bench", started=datetime.now(UTC), crashloop_version="0"))
    plan = Plan(
        suite="bench",
        provider="none",
        kubernetes_version=DEFAULT_VERSION,
        scope="quick",
        profiles=(PROFILE,),
        scenarios=scenarios,
        judgements=tuple(
            Judgement(requirement=name, scenario=each.name) for each in scenarios for name in REQUIREMENTS
        ),
    )
    run.write(run.plan_json, plan)
    encode, written = msgspec.json.Encoder().encode, 0
    for each in scenarios:
        with run.history(each.name).open("wb") as file:
            for seq, (at_s, channel, kind, data, of_pod) in enumerate(happenings(each, restarts)):
                boot = channel is Channel.JOURNAL
                event = Event(
                    seq=seq,
                    t_ns=ns(at_s) - (BOOTED_NS if boot else 0),
                    clock=Clock.BOOT if boot else Clock.UTC,
                    resolution_ns=10_000_000 if boot else 1,
                    received_ns=ns(at_s),
                    channel=channel,
                    kind=kind,
                    pod_uid="0d5f3d3e-aaaa-4bbb-8ccc-000000000001" if of_pod else None,
                    container="app" if of_pod else None,
                    instance=int(data["line"].partition(" ")[0]) if boot else None,
                    data=data,
                )
                file.write(encode(event) + b"\n")
                written += 1
    return written


def analyze_here(root: Path) -> None:
    """Judge, and print seconds (wall and CPU), peak megabytes and outcomes; run in a process of its own.

    The peak counts every further process with the size of the largest one.
    """
    from crashloop.run.analysis import analyze

    began = time.monotonic()
    results = analyze(RunDir.open(root))
    took_s = time.monotonic() - began
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu_s = sum(each.ru_utime + each.ru_stime for each in (own, others))
    peak_mb = (own.ru_maxrss + others.ru_maxrss * (os.cpu_count() or 1)) / 1024
    print(f"{took_s} {cpu_s} {peak_mb} {','.join(sorted({each.outcome for each in results.verdicts}))}")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--histories", type=int, action="append")
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    given, load = parser.parse_args(), load_average()
    if given.judge is not None:
        analyze_here(given.judge)
        return
    figures = []
    for histories in given.histories or (1, 20):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "run"
            events = write_run(root, given.events, histories)
            size_mb = sum(path.stat().st_size for path in (root / "history").iterdir()) / 2**20
            command = [sys.executable, __file__, "--judge", str(root)]
            took, cpu, peak, outcomes = subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout.split()
        what = f"analyze {events:,} history events in {histories} {'history' if histories == 1 else 'histories'}"
        beside = f"{float(cpu):.1f} s of CPU, {size_mb:.0f} MB of histories, outcomes: {outcomes}"
        figures += [
            Figure(quantity=what, value=float(took), unit="s", target=TARGET_S, note=beside),
            Figure(quantity=f"{what}: peak memory", value=float(peak), unit="MB", target=TARGET_MB),
        ]
        require_right(outcomes.split(","))
    publish("analyze", figures, write=given.write, load_average=load)


if __name__ == "__main__":
    main()
