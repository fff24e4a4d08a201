"""Fixtures for other people's tests of crashing pods (docs/pytest-plugin.md).

pytest loads this module wherever crashloop is installed. Until a test uses one of its fixtures it only registers two options,
so everything else is imported inside of the fixtures.
"""

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from crashloop.model.config import Curve
    from crashloop.pytest_plugin.access import ClusterLike
    from crashloop.pytest_plugin.clusters import Clusters, CrashloopManager
    from crashloop.pytest_plugin.restarts import Restarts
    from crashloop.pytest_plugin.watches import Watches


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("crashloop", "fixtures for tests of crashing pods")
    group.addoption(
        "--crashloop-provider",
        choices=("local", "kind"),
        help="What makes the clusters of crashloop_cluster. Default: kind with --k8s-provider kind, else local.",
    )
    group.addoption(
        "--crashloop-image",
        metavar="IMAGE",
        help="Image of crash_pod, with a POSIX shell. Default: that of the cluster, or busybox.",
    )


@pytest.fixture(scope="session")
def crashloop_curve() -> "Callable[..., Curve]":
    """The curve of a kubelet: `crashloop_curve("1.37.1", maximum="10s")`; see `due_curve`."""
    from crashloop.pytest_plugin.access import plain_errors
    from crashloop.pytest_plugin.curves import due_curve

    return plain_errors(due_curve)


@pytest.fixture
def restarts(request: pytest.FixtureRequest) -> "Watches":
    """Begin to watch the pods of a namespace: `restarts(cluster, namespace="default", context=None)`.

    `restarts.of("deploy/operator", cluster, namespace=…)` is one workload's, a selector's or a pod's; see `Workload`.
    """
    from crashloop.pytest_plugin.watches import Watches

    return Watches(request, watched_key)


@pytest.fixture
def crash(request: pytest.FixtureRequest) -> "Callable[..., None]":
    """End a container of a pod as a crash does: `crash("deploy/operator", exit=3)`, `signal="SIGKILL"` or `oom=True`."""
    from crashloop.pytest_plugin.watches import crash_of

    return crash_of(request)


watched_key: "pytest.StashKey[list[Restarts]]" = pytest.StashKey()
"""What a test watches; shown if it fails."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> "Generator[None, pytest.TestReport, pytest.TestReport]":
    """On a failed test: description, earlier logs and timeline of the pods that it asked about."""
    report = yield
    if call.when == "call" and report.failed:
        for watched in item.stash.get(watched_key, []):
            report.sections += [(f"crashloop: {title}", text) for title, text in watched.on_failure()]
    return report


@pytest.fixture
def crash_pod(request: pytest.FixtureRequest) -> Callable[..., str]:
    """Create a pod that crashes, until the test ends: `crash_pod("loop", cluster, exit_code=1, after_s=1.0)`; see `CrashPod`."""
    from crashloop.pytest_plugin.access import access_of, plain_errors
    from crashloop.pytest_plugin.watches import CrashPod

    @plain_errors
    def create(
        name: str,
        cluster: "ClusterLike | None" = None,
        *,
        namespace: str = "default",
        context: str | None = None,
        **crashes: Any,
    ) -> str:
        access = access_of(request, cluster, context)
        image = request.config.getoption("--crashloop-image") or getattr(cluster, "image", None)
        pod = CrashPod(access, namespace, name, image=image, **crashes)
        request.node.addfinalizer(pod.delete)
        return pod.create()

    return create


@pytest.fixture(scope="session")
def crashloop_cluster(request: pytest.FixtureRequest) -> "Iterator[Callable[..., CrashloopManager]]":
    """A cluster with one node per kubelet profile, for the whole session: `crashloop_cluster("stock", "max-2s")`."""
    from crashloop.pytest_plugin.access import plain_errors

    @plain_errors
    def begin() -> "Clusters":
        from crashloop.pytest_plugin.clusters import Clusters  # needs an extra

        return Clusters(request.config)

    clusters = begin()
    yield plain_errors(clusters.with_nodes)
    clusters.delete()
