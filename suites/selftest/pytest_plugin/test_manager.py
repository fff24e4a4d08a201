"""A cluster of crashloop as a manager of pytest-kubernetes."""

from pathlib import Path
from typing import Any

import pytest
from pytest_kubernetes.providers.base import AClusterManager

from crashloop.cluster.provider import ClusterInfo, ClusterRequest, NodeRequest
from crashloop.errors import ClusterError, UsageError
from crashloop.profiles import load_profile
from crashloop.pytest_plugin.clusters import CrashloopManager


class Provider:
    """Notes what is done to its cluster."""

    def __init__(self, kubeconfig: Path) -> None:
        self.done: list[object] = []
        self.info = ClusterInfo(
            name="theirs",
            provider="local",
            kubernetes_version="1.37.1",
            kubeconfig=str(kubeconfig),
            nodes=(),
            capabilities=frozenset(),
            image="shell:1",
        )

    def up(self, request: ClusterRequest, _: object) -> "Provider":
        self.done.append(("up", request.name))
        return self

    def load_images(self, archive: Path) -> None:
        self.done.append(("load", archive))

    def down(self) -> None:
        self.done.append("down")


@pytest.fixture
def provider(tmp_path: Path) -> Provider:
    return Provider(tmp_path / "kubeconfig")


@pytest.fixture
def manager(provider: Any) -> CrashloopManager:
    nodes = (NodeRequest(name="max-2s", profile=load_profile("max-2s")),)
    return CrashloopManager(provider, ClusterRequest(name="theirs", kubernetes_version="1.37.1", nodes=nodes))


def test_it_is_a_manager_whose_cluster_is_made_and_removed_once(manager: CrashloopManager, provider: Provider) -> None:
    assert isinstance(manager, AClusterManager)
    assert (manager.kubeconfig, manager.ready()) == (None, False)
    manager.create()
    manager.create()
    assert (str(manager.kubeconfig), manager.image, manager.ready()) == (provider.info.kubeconfig, "shell:1", True)
    manager.delete()
    manager.delete()
    assert provider.done == [("up", "theirs"), "down"]


def test_a_reset_makes_the_cluster_anew(manager: CrashloopManager, provider: Provider) -> None:
    manager.create()
    manager.reset()
    assert provider.done == [("up", "theirs"), "down", ("up", "theirs")]


def test_before_it_is_made_nothing_can_be_done_with_it(manager: CrashloopManager) -> None:
    with pytest.raises(ClusterError, match="cluster 'theirs': it is not up"):
        _ = manager.image


def test_images_come_from_an_archive(manager: CrashloopManager, provider: Provider, tmp_path: Path) -> None:
    manager.create()
    (tmp_path / "theirs.tar").write_bytes(b"")
    manager.load_image(str(tmp_path / "theirs.tar"))
    assert provider.done[-1] == ("load", tmp_path / "theirs.tar")
    with pytest.raises(UsageError, match="load_image 'theirs:1': no such file"):
        manager.load_image("theirs:1")


def test_options_of_other_managers_are_refused(manager: CrashloopManager) -> None:
    with pytest.raises(UsageError, match="create\\(\\) takes no options"):
        manager.create(options=["--retain"])
