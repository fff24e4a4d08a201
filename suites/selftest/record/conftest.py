"""What the tests of recordings share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.record.event_router import EventRouter
from suites.selftest.kit.begun_scenarios import Begin, scenarios_begun


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    with scenarios_begun(tmp_path) as begun:
        yield begun


@pytest.fixture
def router() -> EventRouter:
    return EventRouter()
