"""Chooses a cluster's node image: the named one, the official one, or one that crashloop builds."""

from pathlib import Path

from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.image_names import OWN, official_image, version_in_tag
from crashloop.cluster.kind.node_image import LABEL, ensure_own_image
from crashloop.cluster.kind.plan import Init, NodeImage
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.cluster.runner import CommandFailed
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.settings import Settings
from crashloop.spec.version import KubernetesVersion

PULL_S = 1800.0
"""Some 400 MB; the daemon itself gives up on a registry that does not answer after 15 s."""


class Choice:
    """Chooses the node image of one request, and gets it."""

    def __init__(self, docker: Docker, settings: Settings, progress: Progress) -> None:
        self._docker = docker
        self._settings = settings
        self._progress = progress

    def image(self, request: ClusterRequest) -> NodeImage:
        """The image for a request.

        Raises UsageError if it holds another version of Kubernetes than requested, PrerequisiteError if there is none.
        """
        if request.node_image == OWN or request.bin_dir is not None:
            name = self._own(request.kubernetes_version, request.bin_dir)
        elif request.node_image is not None:
            name = self._named(request.node_image)
        else:
            name = self._default(request.kubernetes_version)
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
                    f"--node-image {name}: Docker does not have it and cannot pull it ({_last_line(error)}).\n"
                    f"Pull or load it yourself, or give --node-image {OWN} for one that crashloop builds."
                ) from error
        return name

    def _default(self, version: str) -> str:
        official = official_image(version)
        if self._docker.image(official) is not None:
            return official
        try:
            self._pull(official)
        except CommandFailed as error:
            reason = _last_line(error).rpartition(": ")[2]
            instead = f"--node-image {OWN} takes its place"
            with self._progress.step(f"{official} cannot be pulled ({reason}); {instead}"):
                return self._own(version, None)
        return official

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
        image = self._docker.image(name)
        assert image is not None
        own = (image["Config"].get("Labels") or {}).get(LABEL)
        return NodeImage(
            name=name,
            kubernetes_version=str(KubernetesVersion.parse(own or self._version_in(name))),
            init=Init.SYSTEMD if own is None else Init.SERVICE,
            has_program_image=own is not None,
        )

    def _version_in(self, name: str) -> str:
        version = version_in_tag(name)
        if version is not None and name.partition("@")[0] == official_image(version):
            return version
        look = ("run", "--rm", "--network=none", "--entrypoint=cat", name, "/kind/version")
        try:
            found = self._docker.run(*look, describe=f"node image {name}").strip()
        except CommandFailed as error:
            raise UsageError(
                f"node image {name}: has no /kind/version ({_last_line(error)}).\nExpected an image made for `kind`."
            ) from error
        return found


def _last_line(error: CommandFailed) -> str:
    return (error.output.strip().splitlines() or ["it printed nothing"])[-1].rstrip(".")
