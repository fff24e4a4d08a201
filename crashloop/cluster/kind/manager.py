"""pytest-kubernetes' KindManager, adapted to clusters of several nodes; the only module that knows its peculiarities.

Of 0.9.0: it passes no `--image` together with a configuration (so every node names its image), forces the prefix `pytest-`
on names from outside of the configuration (so it always has a `name:`), runs a shell, changes this process's environment, hides
the output of `kind`, checks readiness with `kubectl` on PATH, and sleeps before every check.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from pytest_kubernetes.options import ClusterOptions
from pytest_kubernetes.providers.kind import KindManagerBase

from crashloop.cluster.runner import run

CREATE_S = 600
"""kubeadm itself gives up after four minutes without a kubelet or an API server."""


class KindProgram(KindManagerBase):  # type: ignore[misc]
    """`kind` for one cluster. Every method raises CommandFailed with what `kind` printed."""

    def __init__(self, program: Path, environment: Mapping[str, str], *, config: Path, kubeconfig: Path) -> None:
        self._program = program
        self._environment = dict(environment)
        super().__init__(provider_config=str(config), kubeconfig=kubeconfig)
        self._cluster_options.cluster_timeout = CREATE_S

    def create_cluster(self) -> None:
        """Make the cluster of the configuration; its parts stay if that fails."""
        self.create(ClusterOptions(cluster_timeout=CREATE_S), options=["--retain"])

    def load_archive(self, archive: Path) -> None:
        """Give every node the images of an archive."""
        self._exec(["load", "image-archive", str(archive), "--name", self.cluster_name])

    def export_logs(self, destination: Path) -> None:
        """Write `kind`'s collection of logs into a folder; needs crictl and journalctl in the nodes."""
        self._exec(["export", "logs", str(destination), "--name", self.cluster_name])

    @property
    def _exec_path(self) -> Path:
        return self._program

    def _exec(
        self,
        arguments: list[str],
        additional_env: Mapping[str, str] | None = None,
        timeout: int | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        printed = run(
            [self._program, *arguments],
            describe=f"kind cluster {self.cluster_name}",
            timeout_s=timeout or CREATE_S,
            env={**self._environment, **(additional_env or {})},
        )
        return subprocess.CompletedProcess(arguments, 0, printed, "")

    def ready(self, timeout: int = 20) -> bool:  # noqa: ARG002
        """Whether the API server exists: `kind` writes the kubeconfig then. Another module waits for the nodes."""
        return self.kubeconfig is not None and self.kubeconfig.exists()
