"""A blueprint of a kind cluster whose paths are placeholders, and programs that stand in for `docker` and `kind`."""

from pathlib import Path

from crashloop.cluster.kind.plan import Blueprint, Init, NodeImage, NodePlan, container_names
from crashloop.profiles import load_profile

IMAGE = NodeImage(
    name="localhost/crashloop/node:v1.37.1-0123456789ab",
    kubernetes_version="1.37.1",
    init=Init.SERVICE,
    has_program_image=True,
)
OFFICIAL = NodeImage(
    name="kindest/node:v1.35.4", kubernetes_version="1.35.4", init=Init.SYSTEMD, has_program_image=False
)


def blueprint(*profiles: str, image: NodeImage = IMAGE, cluster: str = "demo", **fields: object) -> Blueprint:
    """A cluster with a node for each profile, named after it."""
    first, *others = container_names(cluster, len(profiles))
    version = image.kubernetes_version
    nodes = [NodePlan(name=first, container=first, index=0, profile=None, kubelet_version=version)]
    for index, (name, container) in enumerate(zip(profiles, others, strict=True), start=1):
        profile = load_profile(name)
        nodes.append(NodePlan(name=name, container=container, index=index, profile=profile, kubelet_version=version))
    known = {
        "cluster": cluster,
        "state_folder": "<STATE>",
        "kind": "<BIN>/kind",
        "docker": {},
        "image": image,
        "program_image": "localhost/crashloop/program:1",
        "program_archive": "<CACHE>/images.tar",
        "cgroup_version": 2,
        "nodes": tuple(nodes),
    }
    return Blueprint(**(known | fields))  # type: ignore[arg-type]


def write_script(path: Path, body: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path
