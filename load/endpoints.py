"""The ready endpoints of a Service by its EndpointSlices, given out in turn, as a proxy of a node would."""

from typing import Protocol

import gevent

from crashloop.yaml_text import Json

LOOK_S = 0.5
"""A proxy watches; half a second later is soon enough beside probes of a second."""


class SlicesOf(Protocol):
    """The API server."""

    def endpoint_slices(self, service: str, *, load: str) -> list[Json] | None: ...


class Endpoints:
    """Follows one Service from `start` to `stop`."""

    def __init__(self, api: SlicesOf, service: str, load: str) -> None:
        self._api = api
        self._service = service
        self._load = load
        self._ready: list[tuple[str, str]] = []
        self._turn = 0

    def start(self) -> None:
        self._looking = gevent.spawn(self._follow)

    def stop(self) -> None:
        self._looking.kill()

    def next(self) -> tuple[str, str] | None:
        """Name and address of the next ready pod; None if none is."""
        if not self._ready:
            return None
        self._turn += 1
        return self._ready[self._turn % len(self._ready)]

    def look(self) -> None:
        """Read the endpoints; without an answer they stay as they were."""
        slices = self._api.endpoint_slices(self._service, load=self._load)
        if slices is not None:
            self._ready = ready_in(slices)

    def _follow(self) -> None:
        while True:
            self.look()
            gevent.sleep(LOOK_S)


def ready_in(slices: list[Json]) -> list[tuple[str, str]]:
    """Names and addresses of the pods that are ready, by name. Pure."""
    return sorted(
        (endpoint["targetRef"]["name"], endpoint["addresses"][0])
        for each in slices
        for endpoint in each.get("endpoints") or ()
        if endpoint.get("conditions", {}).get("ready")
    )
