"""Makes the cluster of a blueprint with `kind`, until its nodes are Ready; ends early if a kubelet refuses its profile.

`kind` is run by pytest-kubernetes' KindManager, adapted to clusters of several nodes; only KindProgram knows its peculiarities.
Of 0.9.0: it passes no `--image` together with a configuration (so every node names its image), forces the prefix `pytest-`
on names from outside of the configuration (so it always has a `name:`), runs a shell, changes this process's environment, hides
the output of `kind`, checks readiness with `kubectl` on PATH, and sleeps before every check.
"""

import contextlib
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pytest_kubernetes.options import ClusterOptions
from pytest_kubernetes.providers.kind import KindManagerBase

from crashloop.cluster.files import write_file
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.plan import DIALECTS, KUBELET, Blueprint, NodePlan, cluster_config, node_files
from crashloop.cluster.processes import STATE_MARK, CommandFailed, kill_until_gone, marked_processes, run, slowness
from crashloop.errors import ClusterError, PrerequisiteError
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.waiting import WaitTimeout, wait_until

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


LOOK_AFTER_S = 12.0
"""No kubelet starts earlier, and a look costs one process per node."""
LOOK_EVERY_S = 4.0
BOOTED = re.compile(r"Reached target .*Multi-User System|detected cgroup v1")
"""What a node prints before the first `docker exec` in it: earlier, on cgroup v2, the process would be in the root cgroup, and
systemd could not hand controllers down (pkg/cluster/internal/providers/common/cgroups.go of sigs.k8s.io/kind@v0.33.0)."""
READY_S = 120.0
LAST_LINES = 12


class BringUp:
    """Brings up one cluster."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._docker = Docker(blueprint.docker)
        self._dialect = DIALECTS[blueprint.image.init]
        self._state = blueprint.layout.root
        self._booted: set[str] = set()

    def write_files(self) -> None:
        """Write the files for `kind` and for the nodes."""
        blueprint, layout = self._blueprint, self._blueprint.layout
        write_file(layout.config, cluster_config(blueprint))
        for node in blueprint.nodes:
            for name, text in node_files(blueprint, node).items():
                path = layout.node(node.name) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, text)

    def require_sight(self) -> None:
        """Raise PrerequisiteError if Docker sees other files at the paths that nodes mount."""
        config = self._blueprint.layout.config
        if not self._docker.sees(config, self._blueprint.image.name):
            raise PrerequisiteError(
                f"cluster {self._blueprint.cluster}: its Docker does not see {config}, and nodes mount files beside it.\n"
                "Docker runs on another host than crashloop, or crashloop runs in a container with Docker's socket.\n"
                "Run crashloop where Docker runs, or set CRASHLOOP_STATE_DIR to a folder that has one path for both."
            )

    def create(self) -> None:
        """Make the containers and let kubeadm make a cluster of them; give its nodes the image of container programs.

        Raises ClusterError naming the node whose kubelet does not start, CommandFailed with what `kind` printed.
        """
        kind = kind_of(self._blueprint)
        with ThreadPoolExecutor(1, thread_name_prefix="kind") as pool:
            making = pool.submit(kind.create_cluster)
            try:
                for delay_s in (LOOK_AFTER_S, *([LOOK_EVERY_S] * 1000)):
                    with contextlib.suppress(WaitTimeout):
                        wait_until("kind to end", making.done, timeout_s=delay_s, every_s=0.1)
                        break
                    self._require_kubelets()
            except BaseException:
                self._end_kind()
                raise
            try:
                making.result()
            except CommandFailed:
                self._require_kubelets()
                raise
        if not self._blueprint.image.has_program_image:
            kind.load_archive(Path(self._blueprint.program_archive))

    def wait_until_ready(self) -> None:
        """Return when every node is Ready. Raises ClusterError with the last lines of the kubelet's log."""
        api = KubeApi(str(self._blueprint.layout.kubeconfig))
        try:
            for node in self._blueprint.nodes:
                self._wait_until_ready(api, node)
        finally:
            api.close()

    def _wait_until_ready(self, api: KubeApi, node: NodePlan) -> None:
        try:
            ready = partial(api.is_ready, node.name)
            wait_until("its Node object to be Ready", ready, timeout_s=READY_S * slowness(), not_yet=KubeError)
        except WaitTimeout as error:
            self._require_kubelets()
            raise ClusterError(f"node {node.label}: {error}\n{self.log_excerpt(node)}") from error

    def _require_kubelets(self) -> None:
        """Raise ClusterError if a kubelet has ended by itself: none does while its cluster is made."""
        for node in self._blueprint.nodes:
            code = self._first_exit(node)
            if code is not None:
                raise ClusterError(
                    f"node {node.label}: {KUBELET} ended with exit code {code} while it was starting.\n"
                    f"{self.log_excerpt(node)}"
                )

    def _first_exit(self, node: NodePlan) -> str | None:
        try:
            if not self._has_booted(node):
                return None
            exits = self._docker.execute(
                node.container, *self._dialect.argv(self._dialect.exits, KUBELET), describe=f"kubelet of {node.name}"
            ).split()
        except CommandFailed:  # there is no such container yet
            return None
        return next((code for code in exits if code != "0"), None)

    def _has_booted(self, node: NodePlan) -> bool:
        """Whether commands may run in a node. Raises CommandFailed if there is no such container yet."""
        if node.container not in self._booted and BOOTED.search(self._docker.console(node.container)):
            self._booted.add(node.container)
        return node.container in self._booted

    def log_excerpt(self, node: NodePlan) -> str:
        """The last lines of a node's kubelet's log, introduced."""
        try:
            text = self._docker.execute(
                node.container, *self._dialect.argv(self._dialect.log, KUBELET), describe=f"kubelet log of {node.name}"
            )
        except CommandFailed as error:
            return f"Its log cannot be read: {error}"
        lines = "\n".join(f"  {line[:400]}" for line in text.splitlines()[-LAST_LINES:])
        return f"Last lines of kubelet.log:\n{lines}"

    def _end_kind(self) -> None:
        kill_until_gone(lambda: marked_processes(self._state), describe="kind to end")


def kind_of(blueprint: Blueprint) -> KindProgram:
    """`kind` for a cluster; its process and its children carry the cluster's mark."""
    layout = blueprint.layout
    environment = {
        **blueprint.docker,
        STATE_MARK: str(layout.root),
        "KIND_EXPERIMENTAL_PROVIDER": "docker",
        # The cluster's own network is removed with it; kind's shared network would stay.
        "KIND_EXPERIMENTAL_DOCKER_NETWORK": blueprint.kind_name,
    }
    return KindProgram(Path(blueprint.kind), environment, config=layout.config, kubeconfig=layout.kubeconfig)
