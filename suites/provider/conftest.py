"""The kit that every provider has to pass: real clusters, each method of the protocol, and nothing left afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from crashloop.cluster.provider import (
    Capability,
    Cluster,
    ClusterRequest,
    ExistingOptions,
    NodeRequest,
    Provider,
    Survey,
)
from crashloop.cluster.providers import provider as provider_named
from crashloop.kube.client import KubeApi
from crashloop.profiles import load_profile
from crashloop.progress import default_progress
from fixtures.existing import survey_key
from fixtures.options import settings_of

NODES = {"node-stock": "stock", "node-max-2s": "max-2s"}
"""Nodes of the cluster that the tests share, and their profiles, where a provider makes it."""


def node(name: str, profile: str) -> NodeRequest:
    """A node with a profile of manifests/kubelet."""
    return NodeRequest(name=name, profile=load_profile(profile))


class Kit:
    """A provider and the options of this run."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings = settings_of(config)
        survey = config.stash.get(survey_key, None)
        self.nodes = NODES if survey is None else _first_two(survey)
        """Nodes of the shared cluster, and their profiles."""
        self.provider: Provider = provider_named(self.settings["provider"])

    def request(self, name: str, *nodes: NodeRequest) -> ClusterRequest:
        """A request for a cluster of the version and with the binaries that the options name."""
        return ClusterRequest(
            name=name,
            kubernetes_version=self.settings["kubernetes_version"],
            nodes=nodes,
            existing=msgspec.convert(self.settings["existing"], ExistingOptions | None),
            **self.own,
        )

    @property
    def own(self) -> dict[str, Any]:
        """What of the user's own the clusters are to be made of, as fields of a request."""
        return {name: self.settings[name] for name in ("kubelet_binary", "bin_dir", "node_image", "kind_binary")}

    @contextmanager
    def up(self, name: str, *nodes: NodeRequest) -> Iterator[Cluster]:
        """A cluster that is gone afterwards."""
        cluster = self.provider.up(self.request(name, *nodes), default_progress())
        try:
            yield cluster
        finally:
            cluster.down()

    def needs(self, capability: Capability) -> None:
        """Skip the test if the provider's clusters lack a capability."""
        if capability not in self.provider.capabilities:
            pytest.skip(f"provider {self.provider.name} has no {capability.value}")


def _first_two(survey: Survey) -> dict[str, str]:
    """Two nodes of a cluster that exists; what profile they have is no concern of the kit."""
    usable = [each for each in survey.nodes if each.unusable is None]
    return {each.name: each.declared or "stock" for each in usable[:2]}


@pytest.fixture(scope="session")
def kit(request: pytest.FixtureRequest) -> Kit:
    return Kit(request.config)


@pytest.fixture(scope="session")
def cluster(kit: Kit) -> Iterator[Cluster]:
    """The cluster that the tests share: two nodes with different profiles."""
    with kit.up("kit-shared", *(node(name, profile) for name, profile in kit.nodes.items())) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def api(cluster: Cluster) -> Iterator[KubeApi]:
    client = KubeApi(cluster.info.kubeconfig, context=cluster.info.context)
    yield client
    client.close()
