"""What tests of commands share."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can enter."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
