"""Which cluster a fixture works on: a kubeconfig, an object of pytest-kubernetes or pytest-kind, or by default that of kubectl.

Without one it is the cluster that a test has from `k8s`, that of pytest-kubernetes' options, or $KUBECONFIG.

Of 0.9.0: `--k8s-kubeconfig` is dropped without a word beside a provider that makes clusters, and with
`--k8s-kubeconfig-override` such a provider deletes the file.
"""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, Protocol, Self, TypeVar

import pytest

from crashloop.errors import CrashloopError, PrerequisiteError, UsageError, missing
from crashloop.kube.kubeconfig import default_kubeconfig, read_context
from crashloop.kube.objects import SUBDOMAIN
from crashloop.model.config import Curve
from crashloop.spec.pod import LABEL

P = ParamSpec("P")
T = TypeVar("T")


_ANOTHER = "Set KUBECONFIG, name one with --k8s-kubeconfig of pytest-kubernetes, or give the fixture a cluster."


def plain_errors(function: Callable[P, T]) -> Callable[P, T]:
    """The function, without the frames of crashloop in an error that names fault and remedy."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except CrashloopError as error:
            raise error.with_traceback(None) from None
        except ModuleNotFoundError as error:
            raise PrerequisiteError(missing(error, needed_by="this fixture")) from None

    return called


def check_whole(name: str, value: object, *, least: int) -> None:
    """Raises UsageError for what is no whole number, or for a smaller one, which every test would pass."""
    if type(value) is not int or value < least:
        raise UsageError(f"{name} is {value!r}; expected a whole number of at least {least}.")


def check_seconds(name: str, value: object) -> None:
    """Raises UsageError for what is no time; 0 is now."""
    if not ((type(value) is int or type(value) is float) and value >= 0):
        raise UsageError(f"{name} is {value!r}; expected seconds, 0 or more.")


def check_name(what: str, value: object) -> None:
    """Raises UsageError for what is no name of a pod; a workload is for `restarts.of`."""
    if not isinstance(value, str) or not SUBDOMAIN.fullmatch(value):
        raise UsageError(f"{what} is {value!r}; expected the name of a pod. For a workload there is restarts.of(...).")


def check_namespace(value: object) -> None:
    """Raises UsageError for what no namespace is called."""
    if not isinstance(value, str) or not LABEL.fullmatch(value):
        raise UsageError(f"namespace is {value!r}; expected 1 to 63 lower-case letters, digits and dashes, in quotes.")


def check_curve(name: str, value: object) -> None:
    """Raises UsageError for what is neither a curve nor nothing."""
    if value is not None and not isinstance(value, Curve):
        raise UsageError(f"{name} is {value!r}; expected a curve, such as crashloop_curve(maximum='10s').")


EXTERNAL = "external"
DEFAULT_NAME = "pytest"


class K8sOptions(NamedTuple):
    """Their values; None if they are not given."""

    cluster_name: str | None = None
    provider: str | None = None
    version: str | None = None
    provider_config: str | None = None
    kubeconfig: str | None = None
    kubeconfig_override: str | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """All None without pytest-kubernetes."""
        found = cls(*(config.getoption(f"k8s_{name}", None) for name in cls._fields))
        return found._replace(cluster_name=None) if found.cluster_name == DEFAULT_NAME else found

    @property
    def given(self) -> dict[str, str]:
        """Values by option."""
        return {f"--k8s-{name.replace('_', '-')}": value for name, value in self._asdict().items() if value is not None}

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self._existing and self.provider is not None and self.provider.lower() != EXTERNAL:
            raise UsageError(
                f"{self._existing} names a cluster that exists, and --k8s-provider {self.provider} makes one.\nGive one of them."
            )

    def check_for_run(self) -> None:
        """Raise UsageError for any of them: runs of crashloop take none."""
        for option, value in self.given.items():
            raise UsageError(
                f"{option} {value}: an option of pytest-kubernetes, for its fixture `k8s`, which no test here uses.\n"
                "Use --provider, and with --provider existing --kubeconfig."
            )

    def provider_for_profiles(self, chosen: str | None) -> str:
        """What makes the nodes of `crashloop_cluster`: by --crashloop-provider, else by these. Raises UsageError."""
        refused: dict[str, Any] = {key: value for key, value in self.given.items() if key in _OF_OTHER_CLUSTERS}
        for option, value in refused.items():
            raise UsageError(
                f"{option} {value}: crashloop_cluster makes a cluster of its own, by kubelet profiles.\n"
                "Leave the option out, or use the fixture `k8s`."
            )
        if chosen is not None or self.provider is None:
            return chosen or "local"
        if self.provider.lower() == "kind":
            return "kind"
        raise UsageError(
            f"--k8s-provider {self.provider}: it makes no nodes with kubelet profiles; only local and kind do.\n"
            "Choose with --crashloop-provider."
        )

    @property
    def _existing(self) -> str:
        if self.kubeconfig_override is not None:
            return f"--k8s-kubeconfig-override {self.kubeconfig_override}"
        return f"--k8s-kubeconfig {self.kubeconfig}" if self.kubeconfig is not None else ""


_OF_OTHER_CLUSTERS = ("--k8s-kubeconfig", "--k8s-kubeconfig-override", "--k8s-provider-config")


class Manager(Protocol):
    """What is used of a manager of pytest-kubernetes. pytest-kind's cluster has `kubeconfig_path`, and no context."""

    @property
    def kubeconfig(self) -> Path | None: ...


class KindCluster(Protocol):
    """What is used of the fixture `kind_cluster` of pytest-kind."""

    kubeconfig_path: Path


ClusterLike = str | Path | Manager | KindCluster
"""The path of a kubeconfig, or an object of another plugin that has one."""


class Access(NamedTuple):
    """A kubeconfig and one of its contexts; None: its current one."""

    kubeconfig: str
    context: str | None


def access_of(request: pytest.FixtureRequest, cluster: ClusterLike | None, context: str | None) -> Access:
    """`cluster` is a path or an object with a kubeconfig. Raises UsageError for one without a cluster."""
    chosen = _default(request) if cluster is None else cluster
    if isinstance(chosen, str | Path):
        return _readable(str(chosen), context)
    if not (hasattr(chosen, "kubeconfig") or hasattr(chosen, "kubeconfig_path")):
        raise UsageError(
            f"a cluster is given as {type(chosen).__name__}, which has no kubeconfig.\n"
            "Give the path of one, or an object of pytest-kubernetes or pytest-kind."
        )
    found = getattr(chosen, "kubeconfig", None) or getattr(chosen, "kubeconfig_path", None)
    if found is None or not Path(found).exists():
        name = getattr(chosen, "cluster_name", None) or getattr(chosen, "name", "")
        raise UsageError(f"{type(chosen).__name__} {name!r}: it has no cluster yet.\nCall its create() first.")
    return _readable(str(found), context or getattr(chosen, "context", None))


def _readable(kubeconfig: str, context: str | None) -> Access:
    """Raises UsageError, with the remedies that a test has, for what holds no such context."""
    read_context(kubeconfig, context, remedy=_ANOTHER)
    return Access(kubeconfig, context)


def _default(request: pytest.FixtureRequest) -> ClusterLike:
    if "k8s" in request.fixturenames and request.config.pluginmanager.hasplugin("pytest-kubernetes"):
        manager: Manager = request.getfixturevalue("k8s")
        keep_kubeconfig(manager)
        return manager
    options = K8sOptions.of(request.config)
    options.check()
    return options.kubeconfig_override or options.kubeconfig or default_kubeconfig(None, os.environ, remedy=_ANOTHER)


def keep_kubeconfig(manager: Any) -> None:
    """Keep a manager of a cluster that is not its own from deleting the user's kubeconfig.

    pytest-kubernetes 0.9.0 takes every cluster for its own until create() has found it ready; delete() then unlinks the file.
    """
    from pytest_kubernetes.providers.external import ExternalManagerBase

    if isinstance(manager, ExternalManagerBase):
        manager._created = False
