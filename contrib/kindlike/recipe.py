"""What the image consists of, beyond Debian's packages. Data, and pure functions of it."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from crashloop.cluster.binaries.components import CNI_PLUGINS
from crashloop.cluster.files import File, Member
from crashloop.cluster.kind.node_image import programs

NODE_FILES = Path(__file__).parent / "node"
"""Files of the node, at their paths in it."""
INSTALL = Path(__file__).parent / "install"
REPOSITORY = "localhost/kindlike"
PACKAGES = (
    "conntrack",
    "ethtool",
    "iproute2",
    "iptables",
    "jq",
    "kmod",
    "libseccomp2",
    "nftables",
    "pigz",
    "procps",
    "systemd",
    "systemd-sysv",
)
"""Debian packages, of those in kind's own base (images/base/Dockerfile of sigs.k8s.io/kind@v0.33.0)."""
PLACES = {
    "usr/bin": ("kubelet", "kubeadm", "kubectl"),
    "usr/local/bin": ("containerd", "ctr", "containerd-shim-runc-v2", "crictl"),
    "usr/local/sbin": ("runc",),
    "opt/cni/bin": CNI_PLUGINS,
}
"""Where kind has the programs."""
PAUSE = "registry.k8s.io/pause:3.10"
"""The sandboxes' image, by kind's name."""
CRICTL = "sigs.k8s.io/cri-tools@v1.36.0"
"""Go module of crictl, which `kind export logs` needs."""
IMAGE = (
    "ENV container=docker",
    "STOPSIGNAL SIGRTMIN+3",
    'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]',
)
"""What https://systemd.io/CONTAINER_INTERFACE/ wants of an image; docker commit --change."""


def base_name() -> str:
    """Name of the image with the packages alone."""
    return f"{REPOSITORY}/base:{_digest(PACKAGES)}"


def image_name(kubernetes_version: str, files: Mapping[str, Path]) -> str:
    """Name of the image; `files` are its programs. Other programs, packages or files give another name."""
    facts = (f"{name} {path.resolve()} {path.stat().st_size}" for name, path in sorted(files.items()))
    own = (path for path in (*sorted(NODE_FILES.rglob("*")), INSTALL, Path(__file__)) if path.is_file())
    return f"{REPOSITORY}:v{kubernetes_version}-{_digest((*PACKAGES, *facts, *(path.read_text() for path in own)))}"


def node_members(kubernetes_version: str, files: Mapping[str, Path]) -> Iterator[Member]:
    """Everything that is unpacked over the packages; `files` are the programs' files."""
    for path in sorted(NODE_FILES.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(NODE_FILES))
            yield File(
                name=name, content=path, mode=0o755 if name.startswith(("usr/local/bin/", "kind/bin/")) else 0o644
            )
    yield File(name="kind/version", content=f"v{kubernetes_version}\n".encode())
    for folder, names in PLACES.items():
        yield from programs(names, dict(files), folder=folder)


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
