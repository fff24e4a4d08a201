"""Credentials with the permissions of the project's own manifests, on a cluster that is up."""

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from crashloop.kube.answers import ApiRefusal
from crashloop.kube.client import KubeApi

MANIFESTS = Path(__file__).parents[2] / "manifests" / "rbac"

_PLURALS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ResourceQuota": "/api/v1/namespaces/{namespace}/resourcequotas",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}

Json = dict[str, Any]


def manifest(name: str) -> list[Json]:
    """The objects of a file of manifests/rbac."""
    return list(yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text()))


def apply(api: KubeApi, objects: Iterable[Json]) -> None:
    """Create objects, or replace those that are there."""
    for each in objects:
        meta = each["metadata"]
        path = _PLURALS[each["kind"]].format(namespace=meta.get("namespace"))
        try:
            api.call(f"create {each['kind']} {meta['name']}", "POST", path, body=each)
        except ApiRefusal as error:
            if error.code != 409:
                raise
            if each["kind"] not in ("Namespace", "ServiceAccount"):
                api.call(f"replace {each['kind']} {meta['name']}", "PUT", f"{path}/{meta['name']}", body=each)


def remove(api: KubeApi, objects: Iterable[Json]) -> None:
    """Delete objects, and wait for nothing."""
    for each in objects:
        meta = each["metadata"]
        path = _PLURALS[each["kind"]].format(namespace=meta.get("namespace"))
        try:
            api.call(f"delete {each['kind']} {meta['name']}", "DELETE", f"{path}/{meta['name']}")
        except ApiRefusal as error:
            if error.code not in (404, 409):
                raise


def without(objects: list[Json], role: str, resource: str, verb: str) -> list[Json]:
    """The same objects with one verb less in a role."""
    for each in objects:
        for rule in each.get("rules", ()) if each["metadata"]["name"] == role else ():
            if resource in rule["resources"]:
                rule["verbs"] = [known for known in rule["verbs"] if known != verb]
        if "rules" in each:
            each["rules"] = [rule for rule in each["rules"] if rule["verbs"]]
    return objects


def kubeconfig_of(api: KubeApi, admin: str, account: str, folder: Path, *, namespace: str = "crashloop") -> str:
    """A kubeconfig for a ServiceAccount, with a token of its own; the path."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = api.call("ask for a token", "POST", path, body=asked)["status"]["token"]
    (cluster,) = yaml.safe_load(Path(admin).read_text())["clusters"]
    return write_kubeconfig(folder / f"{account}.kubeconfig", cluster["cluster"], {"token": token})


def write_kubeconfig(path: Path, cluster: Json, user: Json) -> str:
    """A kubeconfig with one context, `x`."""
    if "certificate-authority" in cluster:
        authority = Path(cluster["certificate-authority"]).read_bytes()
        cluster = {"server": cluster["server"], "certificate-authority-data": base64.b64encode(authority).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)
