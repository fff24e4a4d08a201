"""The short name of a run, for its cluster and for labels. Pure."""

import hashlib
import re
from pathlib import Path

_MAX_STEM = 28
"""Leaves room for the rest of a socket's path below the cluster's folder (crashloop.settings, MAX_STATE_DIR_BYTES)."""


def run_name(run_dir: Path) -> str:
    """A name after the run directory's, as RFC 1123 has it, that no other directory of this host shares."""
    stem = re.sub(r"[^a-z0-9]+", "-", run_dir.name.lower()).strip("-")[:_MAX_STEM].strip("-") or "run"
    return f"{stem}-{hashlib.sha256(str(run_dir).encode()).hexdigest()[:6]}"
