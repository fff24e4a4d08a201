"""The Go module that builds Kubernetes: generated for any version, committed for the default one."""

import re

import pytest

from crashloop.cluster.binaries import components
from crashloop.cluster.binaries.go_build import (
    COMMITTED,
    TEMPLATES,
    etcd_version,
    generated_go_mod,
    staging_modules,
    version_flags,
)
from crashloop.settings import Versions
from crashloop.spec.version import KubernetesVersion

UPSTREAM = """\
module k8s.io/kubernetes

go 1.25.0

godebug default=go1.25

require (
	github.com/spf13/cobra v1.10.0
	go.etcd.io/etcd/api/v3 v3.6.4
	go.etcd.io/etcd/client/v3 v3.6.4
	k8s.io/api v0.0.0
	k8s.io/kubelet v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubelet => ./staging/src/k8s.io/kubelet
)
"""

GENERATED = """\
module kube

go 1.25.0

require (
	k8s.io/kubernetes v1.35.4
	go.etcd.io/etcd/server/v3 v3.6.4
)

replace (
	k8s.io/api => k8s.io/api v0.35.4
	k8s.io/kubelet => k8s.io/kubelet v0.35.4
)
"""


def test_staging_folders_are_replaced_by_their_published_modules() -> None:
    assert generated_go_mod(UPSTREAM, KubernetesVersion(1, 35, 4), with_etcd=True) == GENERATED


def test_a_kubelet_alone_does_without_the_etcd_server() -> None:
    assert "etcd" not in generated_go_mod(UPSTREAM, KubernetesVersion(1, 35, 4), with_etcd=False)


def test_etcd_is_of_the_release_that_kubernetes_was_built_against() -> None:
    assert etcd_version(UPSTREAM) == "3.6.4"
    assert etcd_version("module k8s.io/kubernetes") is None


def test_a_single_line_replacement_counts_as_staging_too() -> None:
    assert staging_modules("replace k8s.io/cri-api => ./staging/src/k8s.io/cri-api\n") == ("k8s.io/cri-api",)


def test_the_programs_know_their_version() -> None:
    flags = version_flags(KubernetesVersion(1, 35, 4)).split()
    for value in ("gitVersion=v1.35.4", "gitMajor=1", "gitMinor=35"):
        assert f"k8s.io/component-base/version.{value}" in flags
        assert f"k8s.io/client-go/pkg/version.{value}" in flags


def test_the_committed_module_is_of_the_default_versions() -> None:
    go_mod = (TEMPLATES / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{COMMITTED}\n" in go_mod
    assert f"go.etcd.io/etcd/server/v3 v{Versions().etcd}\n" in go_mod
    replaced = re.findall(r"^\tk8s\.io/\S+ => (\S+) (\S+)$", go_mod, re.MULTILINE)
    assert {version for _, version in replaced} == {f"v0.{COMMITTED.minor}.{COMMITTED.patch}"}


def test_the_committed_checksums_cover_the_committed_module() -> None:
    go_mod = (TEMPLATES / "go.mod").read_text()
    go_sum = (TEMPLATES / "go.sum").read_text()
    required = re.findall(r"^\s+(?!k8s\.io/)(\S+) (v\S+)(?: // indirect)?$", go_mod, re.MULTILINE)
    assert len(required) > 100
    assert [name for name, version in required if f"{name} {version}/go.mod h1:" not in go_sum] == []


@pytest.mark.parametrize("program", components.kubernetes("1.37.1").go_programs)
def test_every_program_that_is_built_has_its_source(program: str) -> None:
    source = (TEMPLATES / f"{program.replace('-', '_')}.go").read_text()
    assert f'programs["{program}"] = ' in source
