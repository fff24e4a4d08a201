"""The figures of a block that arms are compared by. Pure data."""

from typing import NamedTuple


class ComparedFigure(NamedTuple):
    """A figure of a block, and its words."""

    figure: str
    words: str
    unit: str
    of_node: bool = True
    """Whether it is of the block's node alone, so that blocks of both arms can be measured at once."""


COMPARED = (
    ComparedFigure("restarts_per_s", "restarts", "restarts/s"),
    ComparedFigure("requests_per_restart", "API requests of the kubelet per restart", "requests/restart"),
    ComparedFigure("kubelet_cpu_s_per_restart", "CPU of the kubelet per restart", "CPU s/restart"),
    ComparedFigure("runtime_cpu_s_per_restart", "CPU of the runtime per restart", "CPU s/restart"),
    ComparedFigure("kubelet_requests_per_s", "API requests of the kubelet", "requests/s"),
    ComparedFigure("apiserver_requests_per_s", "requests to the API server", "requests/s", of_node=False),
    ComparedFigure("kubelet_cpu_cores", "CPU of the kubelet", "cores"),
    ComparedFigure("runtime_cpu_cores", "CPU of the runtime", "cores"),
    ComparedFigure("apiserver_cpu_cores", "CPU of the API server", "cores", of_node=False),
    ComparedFigure("kubelet_memory_mib", "memory of the kubelet", "MiB"),
    ComparedFigure("lateness_p50_s", "restart lateness, median of a block", "s"),
)
"""In the order of display."""

COMPARABLE = frozenset(each.figure for each in COMPARED)
