"""The plan of a kind cluster. Pure data, written to its state folder, so that another process can attach to it."""

from enum import StrEnum
from pathlib import Path

import msgspec

from crashloop.cluster.kubelets import KubeletProgram
from crashloop.spec.profile import KubeletProfile

CONTROL_PLANE = "control-plane"


class Init(StrEnum):
    """The init system of a node."""

    SYSTEMD = "systemd"
    """kind's own images."""
    SERVICE = "service"
    """The script `node/service` of crashloop's own image."""


class NodeImage(msgspec.Struct, frozen=True, kw_only=True):
    """A node image that Docker has."""

    name: str
    kubernetes_version: str
    init: Init
    has_program_image: bool
    """Whether the image of container programs is baked in."""


class NodePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A node: a Docker container, known to Kubernetes by another name."""

    name: str
    """Name of the Node object."""
    container: str
    """Name that `kind` gives to the container."""
    index: int
    profile: KubeletProfile | None
    """None for the control plane's node, which carries no scenario."""
    kubelet: str | None = None
    """Path on this host of a kubelet that replaces the image's."""
    kubelet_version: str

    @property
    def label(self) -> str:
        """For messages."""
        return self.name if self.profile is None else f"{self.name} (profile {self.profile.name})"


class Blueprint(msgspec.Struct, frozen=True, kw_only=True):
    """blueprint.json."""

    cluster: str
    state_folder: str
    kind: str
    """Path of the program `kind`."""
    docker: dict[str, str]
    """Environment variables that select the Docker daemon."""
    image: NodeImage
    program_image: str
    program_archive: str
    cgroup_version: int
    feature_gates: dict[str, bool] = {}
    """Gates of the control plane."""
    nodes: tuple[NodePlan, ...] = ()
    """The control plane's node comes first."""

    @property
    def kind_name(self) -> str:
        """The cluster's name as `kind` knows it, and the name of its network."""
        return kind_name(self.cluster)

    @property
    def layout(self) -> "Layout":
        return Layout(Path(self.state_folder))

    @property
    def control_plane(self) -> NodePlan:
        return self.nodes[0]

    @property
    def workers(self) -> tuple[NodePlan, ...]:
        return self.nodes[1:]


IMAGES_OWN = "kubelet"
"""Path that stands for the kubelet of the node image."""


def mounted(kubelet: KubeletProgram) -> str | None:
    """Path on this host of the kubelet that replaces the node image's, or None."""
    return None if kubelet.path == IMAGES_OWN else kubelet.path


def kind_name(cluster: str) -> str:
    """A cluster's name as `kind` knows it."""
    return f"crashloop-{cluster}"


def container_names(cluster: str, workers: int) -> tuple[str, ...]:
    """Names that `kind` gives to the containers of a control plane and workers, in the order of its configuration.

    Source: MakeNodeNamer in pkg/cluster/internal/providers/common/namer.go of sigs.k8s.io/kind@v0.33.0.
    """
    stem = kind_name(cluster)
    numbers = ("", *(str(number) for number in range(2, workers + 1)))[:workers]
    return (f"{stem}-{CONTROL_PLANE}", *(f"{stem}-worker{number}" for number in numbers))


class Layout:
    """Paths of one cluster below its state folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kubeconfig = root / "kubeconfig"
        self.blueprint = root / "blueprint.json"
        self.config = root / "kind.yaml"
        self.nodes = root / "nodes"

    def node(self, name: str) -> Path:
        """Folder that a node sees as /crashloop."""
        return self.nodes / name

    def kubelet_log(self, name: str) -> Path:
        """The kubelet's log, written by a follower if the node's files cannot be read from here."""
        return self.root / f"{name}.kubelet.log"
