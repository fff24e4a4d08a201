"""What a host must have for the provider `local`."""

from pathlib import Path

from crashloop.cluster.provider import ClusterRequest


def check_host(state_dir: Path) -> None:
    """TODO"""


def check_request(request: ClusterRequest, *, state_folder: Path) -> None:
    """TODO"""
