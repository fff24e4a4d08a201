"""Folders that people write and commands read: suites, fixtures, load, manifests.

In a checkout they lie beside the package. The wheel carries them inside it (pyproject.toml, force-include), below
`crashloop/installed`, so that an installation has no other top-level name than `crashloop`.
"""

from importlib.resources import files
from pathlib import Path

_PACKAGE = Path(str(files("crashloop")))
_INSTALLED = _PACKAGE / "installed"

IS_INSTALLED = _INSTALLED.is_dir()
"""Whether this is an installation from a wheel, not a checkout."""

HOME = _INSTALLED if IS_INSTALLED else _PACKAGE.parent
"""The folder that holds conftest.py, pyproject.toml, fixtures/, load/, manifests/ and suites/."""

MANIFESTS = HOME / "manifests"
SUITES = HOME / "suites"
