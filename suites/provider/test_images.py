"""Images that are put onto the nodes of a cluster that is up."""

import io
import tarfile
from pathlib import Path

from crashloop.cluster.binaries.ensure import ensure_busybox
from crashloop.cluster.images import PROGRAM_IMAGE, archive_of
from crashloop.cluster.provider import Capability, Cluster
from crashloop.kube.client import KubeApi
from crashloop.progress import SilentProgress
from crashloop.settings import resolve_settings

from .conftest import Kit
from .pods import counting_pod

IMAGE = "localhost/theirs/counting:1"


def archive_of_theirs(folder: Path) -> Path:
    """The archive of our own images, under a name that no node has."""
    settings = resolve_settings()
    own = archive_of(ensure_busybox(settings, SilentProgress()), settings).path
    with tarfile.open(own) as given, tarfile.open(folder / "theirs.tar", "w") as made:
        for member in given:
            content = given.extractfile(member)
            assert content is not None
            text = content.read().replace(PROGRAM_IMAGE.encode(), IMAGE.encode())
            member.size = len(text)
            made.addfile(member, io.BytesIO(text))
    return folder / "theirs.tar"


def test_every_node_runs_an_image_that_it_was_given(kit: Kit, cluster: Cluster, api: KubeApi, tmp_path: Path) -> None:
    kit.needs(Capability.KUBELET_PROFILES)
    cluster.load_images(archive_of_theirs(tmp_path))
    for node in kit.nodes:
        with counting_pod(api, cluster, node=node, image=IMAGE) as pod:
            pod.count_beyond(1)
