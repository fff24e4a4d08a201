"""CPU of the load generator's watch while thousands of pods come and go, each awaited by a user.

    python -m bench.watch_drain [--pods 5000] [--write]

The events come over HTTP, one at a time, from a server in the same process, whose CPU counts as well.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from bench.figures import Figure, load_average, options, publish
from crashloop.yaml_text import Json

TARGET_S = 60.0
"""For 5,000 pods."""
WITHIN_S = 3600.0
LOAD = "storm"
NAMESPACE = "bench"


RUNNING = {"name": "app", "restartCount": 0, "ready": True, "state": {"running": {"startedAt": "2027-01-01T00:00:00Z"}}}
UP = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [RUNNING]}
DELETED_AT = {"deletionTimestamp": "2027-01-01T00:01:00Z"}


def chunk(content: Json) -> bytes:
    """As the API server sends an event: one line, one chunk."""
    line = msgspec.json.encode(content) + b"\n"
    return b"%x\r\n%s\r\n" % (len(line), line)


def event(kind: str, pod: Json, **metadata: str) -> bytes:
    return chunk({"type": kind, "object": pod | {"metadata": pod["metadata"] | metadata | {"resourceVersion": "1"}}})


def coming(pods: list[Json]) -> Iterator[bytes]:
    for pod in pods:
        yield event("ADDED", pod)
        yield event("MODIFIED", pod | {"status": UP})


def going(pods: list[Json]) -> Iterator[bytes]:
    for kind in ("MODIFIED", "DELETED"):
        for pod in pods:
            yield event(kind, pod | {"status": UP}, **DELETED_AT)


def drain_cpu_s(number: int) -> float:
    """CPU seconds from the first event of so many pods to the end of the last user's wait."""
    # Imported only here, since Locust patches the process.
    import ssl

    import gevent
    from gevent.event import Event
    from gevent.server import StreamServer
    from locust.env import Environment

    from crashloop.kube.credentials import Access
    from crashloop.pods.manifest import pod_manifest
    from crashloop.stress.assignment import Order
    from crashloop.stress.loads import Crash
    from crashloop.stress.pods import name_of, scenario_of
    from load.watching import Watch

    load = Crash(node="storm")
    names = [name_of(LOAD, 0, serial) for serial in range(number)]
    pods = [pod_manifest(scenario_of(load, name, profile=""), node="n", image="image", run="bench") for name in names]
    come, go = list(coming(pods)), list(going(pods))
    asked_to_go, never = Event(), Event()

    def serve(connection: Any, _: object) -> None:
        is_watch = b"watch=true" in connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        if not is_watch:
            connection.sendall(chunk({"metadata": {"resourceVersion": "1"}, "items": []}) + b"0\r\n\r\n")
            return
        send_singly(connection, come)
        asked_to_go.wait()
        send_singly(connection, go)
        never.wait()

    def send_singly(connection: Any, events: list[bytes]) -> None:
        for each in events:
            connection.sendall(each)
            gevent.idle()  # Until the watch has read it, and the users that it wakes sleep again.

    def awaited(wait: Callable[[str], bool], *, meanwhile: Callable[[], None]) -> None:
        users = [gevent.spawn(wait, name) for name in names]
        gevent.sleep(0)
        meanwhile()
        gevent.joinall(users, timeout=WITHIN_S)
        assert all(user.value for user in users), "a wait has ended without its pod"

    server = StreamServer(("127.0.0.1", 0), serve)
    server.start()
    access = Access(
        server=f"http://127.0.0.1:{server.server_port}",
        tls=ssl.create_default_context(),
        server_name=None,
        proxy=None,
        headers=dict,
    )
    order = Order(
        kubeconfig="",
        namespace=NAMESPACE,
        run="bench",
        image="image",
        hosts={},
        loads={LOAD: load},
        stages=(),
        folder="",
        ends_after_s=WITHIN_S,
    )
    environment = Environment()
    environment.create_local_runner()
    watch = Watch(environment, access, order, 0)
    for name in names:
        watch.expect(name, time.time_ns())
    began_s = time.process_time()
    awaited(lambda name: watch.wait_for(name, "started", timeout_s=WITHIN_S), meanwhile=watch.start)
    for name in names:
        watch.deleting(name, time.time_ns())
    awaited(lambda name: watch.wait_gone(name, timeout_s=WITHIN_S), meanwhile=asked_to_go.set)
    return time.process_time() - began_s


def main(pods: int, write: bool) -> None:
    load = load_average()
    what = f"CPU of the load generator's watch while {pods:,} pods come and go, with the server that sends the events"
    figure = Figure(quantity=what, value=drain_cpu_s(pods), unit="s", target=TARGET_S)
    publish("watch_drain", [figure], write=write, load_average=load)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--pods", type=int, default=5000)
    main(**vars(parser.parse_args()))
