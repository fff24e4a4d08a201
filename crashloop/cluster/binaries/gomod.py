"""The Go module that a build of Kubernetes needs, as text. Pure.

k8s.io/kubernetes is published as a module, but its own go.mod replaces the staging modules (k8s.io/api, ...) by folders; an
importer has to replace them by the published modules of the same release (v1.37.1 -> v0.37.1).
"""

import re

from crashloop.spec.version import KubernetesVersion

MODULE = "kube"
ETCD_MODULES = ("go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/client/v3")

_STAGING = re.compile(r"^\s*(?:replace\s+)?(k8s\.io/[a-z0-9.-]+) => \./staging/", re.MULTILINE)
_GO = re.compile(r"^go (\S+)$", re.MULTILINE)

VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


def staging_modules(upstream: str) -> tuple[str, ...]:
    """The staging modules that k8s.io/kubernetes' own go.mod replaces by folders."""
    return tuple(dict.fromkeys(_STAGING.findall(upstream)))


def etcd_version(upstream: str) -> str | None:
    """The etcd release (without `v`) whose modules k8s.io/kubernetes' own go.mod requires."""
    for module in ETCD_MODULES:
        match = re.search(rf"^\s*{re.escape(module)} v(\S+)", upstream, re.MULTILINE)
        if match:
            return match[1]
    return None


def generated_go_mod(upstream: str, version: KubernetesVersion, *, with_etcd: bool) -> str:
    """A go.mod for the programs of one Kubernetes version; `go mod tidy` completes it.

    `upstream` is the go.mod of k8s.io/kubernetes at that version.
    """
    go = _GO.search(upstream)
    requires = [f"k8s.io/kubernetes v{version}"]
    etcd = etcd_version(upstream)
    if with_etcd and etcd:
        requires.append(f"{ETCD_MODULES[0]} v{etcd}")
    staging = f"v0.{version.minor}.{version.patch}"
    lines = [
        f"module {MODULE}",
        "",
        f"go {go[1]}" if go else "",
        "",
        "require (",
        *(f"\t{required}" for required in requires),
        ")",
        "",
        "replace (",
        *(f"\t{module} => {module} {staging}" for module in staging_modules(upstream)),
        ")",
    ]
    return "\n".join(lines) + "\n"


def version_flags(version: KubernetesVersion) -> str:
    """Linker flags that make the programs report their version, as upstream's hack/lib/version.sh does.

    The module proxy does not know the commit; forty zeros keep its form.
    """
    values = {
        "gitVersion": f"v{version}",
        "gitMajor": str(version.major),
        "gitMinor": str(version.minor),
        "gitTreeState": "clean",
        "gitCommit": "0" * 40,
    }
    settings = [f"-X {package}.{name}={value}" for package in VERSION_PACKAGES for name, value in values.items()]
    return " ".join(["-s -w", *settings])
