"""The same clusters on `local` and on `kind`: time to come up, and this suite's part beyond `kind create cluster`.

    python -m bench.kind_bring_up [--write]

Needs Docker, root, and cached binaries and node image (the first cluster of a machine makes them).
"""

import shlex
import tempfile
from pathlib import Path

from bench.bring_up import up_and_down_s
from bench.figures import Figure, load_average, options, publish
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
    write, load = options(__doc__).parse_args().write, load_average()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        kind = TimedKind(Path(folder))
        up_and_down_s(1, on="kind", kind_binary=kind.path)  # images and caches
        for nodes, target in TARGETS.items():
            local_s, _ = up_and_down_s(nodes)
            kind_s, _ = up_and_down_s(nodes, on="kind", kind_binary=kind.path)
            create_s = kind.last_create_s()
            ratio = Figure(
                quantity=f"bring-up of {nodes} nodes on kind ÷ on local",
                value=kind_s / local_s,
                target=target,
                more_is_better=True,
                note=f"{kind_s:.1f} s ÷ {local_s:.1f} s",
            )
            ours = Figure(
                quantity=f"time above `kind create cluster`, {nodes} nodes",
                value=100 * (kind_s / create_s - 1),
                unit="%",
                target=100 * TARGET_SHARE,
                note=f"of {create_s:.1f} s",
            )
            figures += [ratio, ours]
    publish("kind_bring_up", figures, write=write, load_average=load)


if __name__ == "__main__":
    main()
