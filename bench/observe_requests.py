"""Requests of `crashloop observe` to the API server, and its CPU, on a cluster full of crash loops.

    python -m bench.observe_requests [--pods 1000] [--for 60] [--write]

The API server is the tests' own (suites/selftest/kit/cluster_peer.py); all of its pods crash at a maximum of 10 s.
"""

import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import Figure, load_average, options, publish
from crashloop.observe.run import ObservationRequest, look
from crashloop.profiles import load_profile
from crashloop.progress import SilentProgress
from crashloop.yaml_text import Json

sys.path.insert(0, str(Path(__file__).parents[1]))  # the suites are not installed

from suites.selftest.kit.cluster_peer import ClusterPeer, node, serving

TARGET_REQUESTS_PER_S = 1.0
NODES = 20
RUN_S, WAIT_S = 1, 12


def stamp(at_s: float) -> str:
    return datetime.fromtimestamp(int(at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(number: int, restart: int, started_s: float) -> Json:
    """A pod whose container was started then, `WAIT_S` after its exit."""
    exited_s = started_s - WAIT_S
    last = {"terminated": {"startedAt": stamp(exited_s - RUN_S), "finishedAt": stamp(exited_s), "exitCode": 1}}
    status = {"name": "app", "restartCount": restart, "lastState": last}
    return {
        "metadata": {"name": f"pod-{number}", "namespace": "shop", "uid": f"uid-{number}", "resourceVersion": "0"},
        "spec": {"nodeName": f"node-{number % NODES}", "containers": [{"name": "app", "image": "shop/app:1"}]},
        "status": {"containerStatuses": [status | {"state": {"running": {"startedAt": stamp(started_s)}}}]},
    }


def crash(peer: ClusterPeer, pods: int, ended: threading.Event) -> None:
    """Every pod restarts every RUN_S + WAIT_S seconds, evenly spread, until `end`."""
    period_s = RUN_S + WAIT_S
    restart, number = 30, 0
    while not ended.wait(period_s / pods):
        peer.append(pod(number, restart, time.time()))
        number = (number + 1) % pods
        restart += number == 0


def main(pods: int, for_s: float, write: bool) -> None:
    load = load_average()
    now_s = time.time()
    nodes = [node(f"node-{number}") for number in range(NODES)]
    peer = ClusterPeer([nodes], [pod(number, 29, now_s) for number in range(pods)])
    ended = threading.Event()
    feeder = threading.Thread(target=crash, args=(peer, pods, ended))
    with tempfile.TemporaryDirectory() as folder, serving(peer, Path(folder)) as kubeconfig:
        feeder.start()
        began_s = time.thread_time()
        expected = {"*": load_profile("max-10s")}
        seen = look(ObservationRequest(kubeconfig=kubeconfig, for_s=for_s, expected=expected), SilentProgress())
        judged_s = time.thread_time() - began_s
        ended.set()
        feeder.join()
    watched_s = (seen.finished - seen.started).total_seconds()
    asked = Counter(peer.requests)
    lasting = sum(count for name, count in asked.items() if "watch" in name)
    waits = sum(len(loop.waits) for loop in seen.loops)
    figures = (
        Figure(
            quantity=f"requests of `crashloop observe` after its first lists, with {pods:,} crashing pods",
            value=lasting / watched_s,
            unit="per s",
            target=TARGET_REQUESTS_PER_S,
            note=f"{asked.total()} in all",
        ),
        Figure(quantity="CPU of its thread, reading and judging", value=judged_s, unit="s", note=f"{waits:,} waits"),
    )
    publish("observe_requests", figures, write=write, load_average=load)
    print(f"verdict: {seen.agreement}")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--for", dest="for_s", type=float, default=60.0)
    main(**vars(parser.parse_args()))
