"""A cluster that is made below `taskset` keeps to its CPUs, and so do its containers."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

import psutil
import pytest

from crashloop.cluster.local.cgroups import cgroup_host, processes
from crashloop.cluster.provider import Capability
from crashloop.kube.client import KubeApi

from .conftest import Kit, node
from .pods import counting_pod

NAME = "kit-cpus"
NODE = "node-stock"


@pytest.fixture
def one_cpu() -> Iterator[int]:
    """The only CPU of this process and of all that it starts from here on."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    yield max(before)
    os.sched_setaffinity(0, before)


def affinities(ids: Iterable[int]) -> Iterator[tuple[str, list[int]]]:
    """By name and id; without processes that have ended."""
    for each in ids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(each)
            yield f"{process.name()} {each}", process.cpu_affinity()


def test_a_node_has_the_cpus_of_the_process_that_makes_it(kit: Kit, one_cpu: int) -> None:
    kit.needs(Capability.OWN_CPUS)
    with kit.up(NAME, node(NODE, "stock")) as cluster:
        api = KubeApi(cluster.info.kubeconfig)
        assert api.node(NODE)["status"]["capacity"]["cpu"] == "1"
        with counting_pod(api, cluster, node=NODE):
            ids = processes(cgroup_host(), f"crashloop/{cluster.info.name}/{NODE}")
            allowed = dict(affinities(ids))
        assert allowed
        assert all(found == [one_cpu] for found in allowed.values()), allowed
