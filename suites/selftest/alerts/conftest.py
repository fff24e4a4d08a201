"""Prometheus' own promtool, and runs of the simulated kubelet."""

from pathlib import Path

import pytest

from crashloop.cluster.binaries.ensure import ensure_promtool
from crashloop.progress import SilentProgress
from crashloop.settings import resolve_settings


@pytest.fixture(scope="session")
def promtool() -> Path:
    """The host's, or out of the distribution's package."""
    return ensure_promtool(resolve_settings(), SilentProgress())
