"""The same clusters on `local` and on `kind`: time to come up, and this suite's part beyond `kind create cluster`.

    python -m bench.kind_bring_up

Needs Docker, root, and cached binaries and node image (the first cluster of a machine makes them).
"""

import argparse
import shlex
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.bring_up import up_and_down_s
from crashloop.cluster.binaries.ensure import ensure_kind
from crashloop.progress import SilentProgress
from crashloop.settings import resolve_settings

TARGETS = {2: 4.0, 8: 6.0}
"""Target ratio of the time on `kind` to that on `local`, by the number of nodes besides the control plane."""
TARGET_SHARE = 0.10


class TimedKind:
    """`kind` as a program that records the duration of its `create`."""

    def __init__(self, folder: Path) -> None:
        self._times = folder / "times"
        real = ensure_kind(resolve_settings(), kind_binary=None, progress=SilentProgress())
        self.path = folder / "kind"
        self.path.write_text(
            "#!/bin/sh\n"
            "began=$(date +%s%N)\n"
            f'{shlex.quote(str(real))} "$@"\n'
            "code=$?\n"
            f'[ "$1" != create ] || echo $(($(date +%s%N) - began)) >>{shlex.quote(str(self._times))}\n'
            "exit $code\n",
            encoding="utf-8",
        )
        self.path.chmod(0o755)

    def last_create_s(self) -> float:
        return int(self._times.read_text(encoding="utf-8").split()[-1]) / 1e9


def main() -> None:
    table = Table(
        "nodes", "local", "kind", "kind ÷ local", "target", "kind create", "ours above it", "target", box=None
    )
    with tempfile.TemporaryDirectory() as folder:
        kind = TimedKind(Path(folder))
        up_and_down_s(1, on="kind", kind_binary=kind.path)  # images and caches
        for nodes, target in TARGETS.items():
            local_s, _ = up_and_down_s(nodes)
            kind_s, _ = up_and_down_s(nodes, on="kind", kind_binary=kind.path)
            create_s = kind.last_create_s()
            table.add_row(
                f"{nodes}",
                f"{local_s:.1f} s",
                f"{kind_s:.1f} s",
                f"{kind_s / local_s:.1f}",
                f"≥ {target:g}",
                f"{create_s:.1f} s",
                f"{kind_s / create_s - 1:.0%}",
                f"≤ {TARGET_SHARE:.0%}",
            )
    Console(width=140).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    main()
