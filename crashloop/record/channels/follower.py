"""A thread that follows something until it is stopped."""

import threading


class Follower:
    """Runs `follow` in a thread of its own, from `start` to `stop`; a subclass says what that does, and heeds `stopped`."""

    def __init__(self, name: str) -> None:
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self.follow, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=2.0)

    def follow(self) -> None:
        raise NotImplementedError
