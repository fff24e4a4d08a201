"""Time to bring up and remove a local cluster: control plane alone, and with eight nodes. Binaries are cached.

python -m bench.bring_up [--write]
"""

import time
from pathlib import Path

from bench.figures import Figure, load_average, options, publish
from crashloop.cluster.provider import ClusterRequest, NodeRequest
from crashloop.cluster.providers import provider
from crashloop.profiles import load_profile
from crashloop.progress import SilentProgress
from crashloop.settings import resolve_settings

NODES = 8
TARGETS_S = {"control plane ready": 3.0, f"control plane and {NODES} nodes Ready": 10.0}


def up_and_down_s(nodes: int, *, on: str = "local", kind_binary: Path | None = None) -> tuple[float, float]:
    """Seconds to bring up a cluster of that many nodes on a provider, and to remove it."""
    stock = load_profile("stock")
    request = ClusterRequest(
        name=f"bench-{nodes}",
        kubernetes_version=resolve_settings().versions.kubernetes,
        nodes=tuple(NodeRequest(name=f"node-{index}", profile=stock) for index in range(nodes)),
        kind_binary=None if kind_binary is None else str(kind_binary),
    )
    provider(on).check(request)
    began = time.monotonic()
    cluster = provider(on).up(request, SilentProgress())
    ready = time.monotonic()
    cluster.down()
    return ready - began, time.monotonic() - ready


def main() -> None:
    write, load = options(__doc__).parse_args().write, load_average()
    figures = []
    for (what, target_s), nodes in zip(TARGETS_S.items(), (0, NODES), strict=True):
        up_s, down_s = up_and_down_s(nodes)
        figures.append(Figure(quantity=what, value=up_s, unit="s", target=target_s, note=f"removed in {down_s:.1f} s"))
    publish("bring_up", figures, write=write, load_average=load)


if __name__ == "__main__":
    main()
