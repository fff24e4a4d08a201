"""Requests go to the ready endpoints of a Service in turn."""

from typing import Any

from load.endpoints import Endpoints, ready_in


def endpoint(pod: str, address: str, *, ready: bool) -> dict[str, Any]:
    return {"addresses": [address], "conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": pod}}


SLICES: list[dict[str, Any]] = [
    {"endpoints": [endpoint("second-0-0", "10.0.0.2", ready=True), endpoint("slow-0-0", "10.0.0.3", ready=False)]},
    {"endpoints": None},
    {"endpoints": [endpoint("first-0-0", "10.0.0.1", ready=True)]},
]


def test_only_ready_endpoints_of_all_slices_count() -> None:
    assert ready_in(SLICES) == [("first-0-0", "10.0.0.1"), ("second-0-0", "10.0.0.2")]
    assert ready_in([{}]) == []


class Answers:
    """An API server that gives these slices."""

    def __init__(self, slices: list[dict[str, Any]] | None) -> None:
        self.slices = slices
        self.asked: list[tuple[str, str]] = []

    def endpoint_slices(self, service: str, *, load: str) -> list[dict[str, Any]] | None:
        self.asked.append((service, load))
        return self.slices


def test_each_ready_endpoint_has_its_turn_and_one_that_is_not_gets_nothing() -> None:
    api = Answers(SLICES)
    endpoints = Endpoints(api, "shared", "first")
    assert endpoints.next() is None
    endpoints.look()
    assert api.asked == [("shared", "first")]
    assert sorted(str(endpoints.next()) for _ in range(4)) == sorted(
        [str(("first-0-0", "10.0.0.1")), str(("second-0-0", "10.0.0.2"))] * 2
    )


def test_while_the_api_server_is_away_the_endpoints_stay_as_they_were() -> None:
    api = Answers(SLICES)
    endpoints = Endpoints(api, "shared", "first")
    endpoints.look()
    api.slices = None
    endpoints.look()
    assert endpoints.next() is not None
