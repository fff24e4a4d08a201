"""A process that owns a cluster and does with it what its arguments say; the kit stops or kills it.

Usage: owner.py PROVIDER NAME VERSION OWN (hold | keep), with OWN as JSON. It prints `up` once the cluster is up.
"""

import json
import signal
import sys

from crashloop.cluster.ownership import mark_kept
from crashloop.cluster.provider import ClusterRequest, NodeRequest
from crashloop.cluster.providers import provider
from crashloop.profiles import load_profile
from crashloop.progress import SilentProgress


def main(provider_name: str, name: str, version: str, own: str, what: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs CI in the background ignores it
    request = ClusterRequest(
        name=name,
        kubernetes_version=version,
        nodes=(NodeRequest(name="node-stock", profile=load_profile("stock")),),
        **json.loads(own),
    )
    cluster = provider(provider_name).up(request, SilentProgress())
    try:
        if what == "keep":
            mark_kept(name)
        sys.stdout.write("up\n")
        sys.stdout.flush()
        if what == "hold":
            sys.stdin.read()
    finally:
        if what == "hold":
            cluster.down()


if __name__ == "__main__":
    main(*sys.argv[1:])
