"""The images of the registry: those of container programs, which differ by a variable of their environment. Pure.

Blobs and manifests as in https://github.com/opencontainers/image-spec (image manifest, v1.1).
"""

import hashlib

import msgspec

from crashloop.cluster.images import image_config
from crashloop.cluster.registry_server import MANIFEST
from crashloop.spec.dependency import VERSION_VARIABLE, VERSIONS


class RegistryImages(msgspec.Struct, frozen=True, kw_only=True):
    """All content by its sha256 in hexadecimal, and which of it is the manifest of a version."""

    blobs: dict[str, bytes]
    manifests: dict[int, str]


def registry_images(layer: bytes, *, arch: str) -> RegistryImages:
    """An image for each version; `layer` is an uncompressed tar, `arch` as in GOARCH."""
    blobs: dict[str, bytes] = {}

    def stored(content: bytes, media: str) -> dict[str, str | int]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}

    layers = [stored(layer, "application/vnd.oci.image.layer.v1.tar")]
    diff = str(layers[0]["digest"]).removeprefix("sha256:")
    manifests = {}
    for version in VERSIONS:
        process = {"Env": ["PATH=/bin", f"{VERSION_VARIABLE}={version}"], "Cmd": ["/bin/sh"]}
        config = stored(image_config(process, diff, arch=arch), "application/vnd.oci.image.config.v1+json")
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        stated = stored(msgspec.json.encode(manifest, order="sorted"), MANIFEST)
        manifests[version] = str(stated["digest"]).removeprefix("sha256:")
    return RegistryImages(blobs=blobs, manifests=manifests)
