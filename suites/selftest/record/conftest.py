"""What the tests of recordings share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.record.event_router import EventRouter
from crashloop.record.site import RecordingSite
from suites.selftest.kit.begun_scenarios import Begin, scenarios_begun
from suites.selftest.kit.object_peer import ObjectPeer
from suites.selftest.kit.recording_site import READY, site_with_node


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    with scenarios_begun(tmp_path) as begun:
        yield begun


@pytest.fixture
def router() -> EventRouter:
    return EventRouter()


@pytest.fixture
def peer() -> ObjectPeer:
    """An API server with the node of `where`."""
    return ObjectPeer(("/api/v1/nodes/node", READY))


@pytest.fixture
def where(peer: ObjectPeer, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RecordingSite]:
    """A site for the module's SCENARIO, with a node that came up."""
    with site_with_node(peer, tmp_path, request.module.SCENARIO) as made:
        yield made
