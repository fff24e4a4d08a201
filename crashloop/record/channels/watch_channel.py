"""A channel that follows a watch: its losses of connection stand in every history."""

from typing import Generic

from crashloop.history.event import Channel
from crashloop.kube.watch import Changed, Listed, Watch, Watched, WatchGap
from crashloop.record.channels.events import Sink, gap
from crashloop.record.channels.follower import Follower


class WatchChannel(Follower, Generic[Watched]):
    """A subclass takes what the watch delivers."""

    def __init__(self, channel: Channel, watch: Watch[Watched], sink: Sink) -> None:
        super().__init__(channel.value)
        self._channel = channel
        self._watch = watch
        self._sink = sink

    def stop(self) -> None:
        self._watch.stop()
        super().stop()

    def follow(self) -> None:
        for item in self._watch.items():
            if isinstance(item, WatchGap):
                self._sink.everyone(
                    gap(self._channel, from_ns=item.from_ns, to_ns=item.to_ns, reason=item.reason, lost=item.lost)
                )
            elif isinstance(item, Listed):
                self.take_list(item)
            else:
                self.take_change(item)

    def take_list(self, listed: Listed[Watched]) -> None:
        raise NotImplementedError

    def take_change(self, change: Changed[Watched]) -> None:
        raise NotImplementedError
