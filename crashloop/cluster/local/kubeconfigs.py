"""Kubeconfigs of a local cluster. Pure texts."""

import base64

import yaml


def kubeconfig(*, cluster: str, server: str, ca: str, certificate: str, key: str) -> str:
    """A kubeconfig that names its certificates by path, for the cluster's own components."""
    return _render(
        cluster, {"server": server, "certificate-authority": ca}, {"client-certificate": certificate, "client-key": key}
    )


def self_contained_kubeconfig(*, cluster: str, server: str, ca: bytes, certificate: bytes, key: bytes) -> str:
    """A kubeconfig that works wherever it is copied to."""
    return _render(
        cluster,
        {"server": server, "certificate-authority-data": _base64(ca)},
        {"client-certificate-data": _base64(certificate), "client-key-data": _base64(key)},
    )


def _render(cluster: str, server: dict[str, str], user: dict[str, str]) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": cluster, "user": user}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        },
        sort_keys=False,
    )


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
