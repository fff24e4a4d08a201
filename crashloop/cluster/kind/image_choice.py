"""Chooses a cluster's node image: the named one, the official one, or one that crashloop builds."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.node_image import LABEL, ensure_own_image
from crashloop.cluster.kind.plan import Init, NodeImage
from crashloop.cluster.processes import CommandFailed
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.settings import Settings
from crashloop.spec.version import KubernetesVersion

OFFICIAL = "kindest/node"
OWN = "own"
"""The value of --node-image for an image that crashloop builds from its binaries."""
_VERSION_IN_TAG = re.compile(r":v?(\d+\.\d+\.\d+)[^/@]*(?:@.*)?$")


def official_image(version: str) -> str:
    """kind's own image of a version; not every version has one."""
    return f"{OFFICIAL}:v{KubernetesVersion.parse(version)}"


def version_in_tag(image: str | None) -> str | None:
    """The Kubernetes version at the start of an image's tag, as in kind's own images; None without one."""
    match = _VERSION_IN_TAG.search(image or "")
    return match[1] if match else None


PULL_S = 1800.0
"""Some 400 MB; the daemon itself gives up on a registry that does not answer after 15 s."""
NEEDS_CGROUP_V2 = 256
"""The first systemd that refuses to boot on cgroup v1 (NEWS of systemd 256); kind's images have 257 since kind v0.32."""


class Choice:
    """Chooses the node image of one request, and gets it."""

    def __init__(
        self, docker: Docker, settings: Settings, progress: Progress, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._docker = docker
        self._settings = settings
        self._progress = progress
        self._in_ci = environment.get("CI", "").lower() not in ("", "0", "false")

    def image(self, request: ClusterRequest) -> NodeImage:
        """The image for a request.

        Raises UsageError if it holds another version of Kubernetes than requested, PrerequisiteError if there is none, if it
        cannot boot on this host, or if crashloop's own would replace kind's under CI without having been asked for.
        """
        if request.node_image == OWN or request.bin_dir is not None:
            name = self._own(request.kubernetes_version, request.bin_dir)
        elif request.node_image is not None:
            name = self._named(request.node_image)
        else:
            name = self._default(request.kubernetes_version, may_replace=request.any_node_image or not self._in_ci)
        image = self._described(name)
        asked = str(KubernetesVersion.parse(request.kubernetes_version))
        if image.kubernetes_version != asked:
            raise UsageError(
                f"node image {image.name}: holds Kubernetes {image.kubernetes_version}, {asked} was requested.\n"
                f"Add --kubernetes-version {image.kubernetes_version}, or choose another --node-image."
            )
        return image

    def _named(self, name: str) -> str:
        if self._docker.image(name) is None:
            try:
                self._pull(name)
            except CommandFailed as error:
                raise PrerequisiteError(
                    f"--node-image {name}: Docker does not have it and cannot pull it ({_last_line_printed(error)}).\n"
                    f"Pull or load it yourself, or give --node-image {OWN} for one that crashloop builds."
                ) from error
        reason = self._cannot_boot(name)
        if reason is not None:
            raise PrerequisiteError(
                f"--node-image {name}: {reason}.\n"
                "Boot the host with cgroup v2 (kernel argument systemd.unified_cgroup_hierarchy=1), "
                f"or give --node-image {OWN} for one that crashloop builds."
            )
        return name

    def _default(self, version: str, *, may_replace: bool) -> str:
        official = official_image(version)
        reason = self._unusable(official)
        if reason is None:
            return official
        if not may_replace:
            raise PrerequisiteError(
                f"node image {official}: {reason}; under CI no other image replaces it unasked.\n"
                f"Give --node-image {OWN} for one that crashloop builds, or name one that kind has published."
            )
        with self._progress.step(f"WARNING: {official}: {reason}; --node-image {OWN} takes its place"):
            return self._own(version, None)

    def _unusable(self, official: str) -> str | None:
        """Why the official image cannot be used, after an attempt to pull it."""
        if self._docker.image(official) is None:
            try:
                self._pull(official)
            except CommandFailed as error:
                return f"it cannot be pulled ({_last_line_printed(error).rpartition(': ')[2]})"
        return self._cannot_boot(official)

    def _cannot_boot(self, name: str) -> str | None:
        """Why an image cannot boot on Docker's host, if it cannot."""
        if self._own_version(name) is not None or self._docker.cgroup_version() != 1:
            return None
        match = re.match(r"systemd (\d+)", self._look(name, "systemctl", "--version"))
        if match is None or int(match[1]) < NEEDS_CGROUP_V2:
            return None
        return f"its systemd {match[1]} boots on cgroup v2 only, and the host of this Docker has v1"

    def _own(self, version: str, bin_dir: str | None) -> str:
        binaries = ensure_binaries(
            self._settings,
            kubernetes_version=version,
            bin_dir=None if bin_dir is None else Path(bin_dir),
            progress=self._progress,
        )
        return ensure_own_image(self._docker, binaries, self._settings, self._progress)

    def _pull(self, name: str) -> None:
        with self._progress.step(f"pulling {name}"):
            self._docker.run("pull", "--quiet", name, describe=f"image {name}", timeout_s=PULL_S)

    def _described(self, name: str) -> NodeImage:
        own = self._own_version(name)
        return NodeImage(
            name=name,
            kubernetes_version=str(KubernetesVersion.parse(own or self._version_in(name))),
            init=Init.SYSTEMD if own is None else Init.SERVICE,
            has_program_image=own is not None,
        )

    def _own_version(self, name: str) -> str | None:
        """The Kubernetes version of an image that crashloop has built; None for any other."""
        image = self._docker.image(name)
        assert image is not None
        return (image["Config"].get("Labels") or {}).get(LABEL)

    def _version_in(self, name: str) -> str:
        version = version_in_tag(name)
        if version is not None and name.partition("@")[0] == official_image(version):
            return version
        return self._look(name, "cat", "/kind/version").strip()

    def _look(self, name: str, program: str, argument: str) -> str:
        """What a program of an image prints. Raises UsageError if it does not work: every image for `kind` has these."""
        look = ("run", "--rm", "--network=none", f"--entrypoint={program}", name, argument)
        try:
            return self._docker.run(*look, describe=f"node image {name}")
        except CommandFailed as error:
            raise UsageError(
                f"node image {name}: `{program} {argument}` does not work in it ({_last_line_printed(error)}).\n"
                "Expected an image made for `kind`."
            ) from error


def _last_line_printed(error: CommandFailed) -> str:
    return (error.output.strip().splitlines() or ["it printed nothing"])[-1].rstrip(".")
