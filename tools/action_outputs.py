"""What the action for other repositories gives to later steps: `make -s outputs >> "$GITHUB_OUTPUT"`.

One line for each output of action.yml, of the newest run; without one, the outcome is ERROR.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def outputs(runs: Path) -> Iterator[str]:
    """NAME=VALUE of the run that `latest` points at."""
    try:
        results: dict[str, Any] = json.loads((runs / "latest/results.json").read_text(encoding="utf-8"))
    except OSError:
        results = {"outcome": "ERROR", "counts": {}}
    yield f"outcome={results['outcome']}"
    yield f"fail-count={results['counts'].get('FAIL', 0)}"
    yield f"inconclusive-count={results['counts'].get('INCONCLUSIVE', 0)}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{each}\n" for each in outputs(Path("runs")))
