"""A sink that keeps the events of nodes and refuses all others: for the channels that observe nodes alone."""

from crashloop.history.event import Event
from crashloop.record.channels.channel import Sink


class NodeSink(Sink):
    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []

    def pod(self, pod: str, event: Event) -> None:
        raise AssertionError(f"nothing is known of pods, but {pod} got {event}")

    def node(self, node: str, event: Event) -> None:
        self.events.append((node, event))

    def everyone(self, event: Event) -> None:
        raise AssertionError(f"every node has its own, but everyone got {event}")
