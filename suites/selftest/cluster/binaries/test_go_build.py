"""A Go build that cannot work says why: the version, the module, the connection or the client."""

from pathlib import Path

import pytest

from crashloop.cluster.binaries import components
from crashloop.cluster.binaries.components import NotAvailable
from crashloop.cluster.binaries.go_build import TEMPLATES, build_component
from crashloop.cluster.processes import CommandFailed
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.progress import SilentProgress
from crashloop.settings import Versions
from crashloop.spec.version import DEFAULT_VERSION

SILENT = SilentProgress()


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `go` on PATH that does what each test writes into it; it notes its arguments in `calls`."""
    folder = tmp_path / "go-bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder / "go"


def teach(go: Path, *cases: str, version: str = "go1.26.8") -> None:
    """Each case is a line of a shell `case` over the arguments."""
    lines = [
        "#!/bin/sh",
        f'echo "$*" >>{go.parent}/calls',
        'case "$*" in',
        f'"env GOVERSION") echo {version};;',
        *cases,
        "esac",
    ]
    go.write_text("\n".join(lines) + "\n")
    go.chmod(0o755)


def calls(go: Path) -> list[str]:
    return [line.split(" ")[0] for line in (go.parent / "calls").read_text().splitlines()]


def work_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "entry"
    folder.mkdir()
    return folder


def test_the_default_version_is_built_from_the_committed_module(go: Path, tmp_path: Path) -> None:
    teach(
        go,
        f'build*) cp go.mod go.sum main.go kubelet.go {tmp_path}; while [ "$1" != -o ]; do shift; done; echo >"$2";;',
    )
    folder = work_folder(tmp_path)
    build_component(components.kubernetes(DEFAULT_VERSION), folder, SILENT)
    assert calls(go) == ["env", "list", "build"]
    for name in ("go.mod", "go.sum", "main.go", "kubelet.go"):
        assert (tmp_path / name).read_bytes() == (TEMPLATES / name).read_bytes()
    links = {path.name: str(path.readlink()) for path in folder.iterdir() if path.is_symlink()}
    assert links == dict.fromkeys((*components.KUBERNETES_PROGRAMS, "etcd"), "kube")


def test_a_kubelet_alone_takes_only_its_own_source(go: Path, tmp_path: Path) -> None:
    teach(go, f'build*) ls >{tmp_path}/sources; while [ "$1" != -o ]; do shift; done; echo >"$2";;')
    folder = work_folder(tmp_path)
    build_component(components.kubernetes(DEFAULT_VERSION, ("kubelet",)), folder, SILENT)
    assert (tmp_path / "sources").read_text().split() == ["go.mod", "go.sum", "kubelet.go", "main.go"]
    assert sorted(path.name for path in folder.iterdir()) == ["kube", "kubelet"]


def test_another_version_gets_a_module_made_from_upstreams_own(go: Path, tmp_path: Path) -> None:
    upstream = tmp_path / "upstream.mod"
    upstream.write_text(
        "go 1.25.0\nrequire go.etcd.io/etcd/client/v3 v3.6.4\nreplace k8s.io/api => ./staging/src/k8s.io/api\n"
    )
    teach(
        go,
        f'mod\\ download*) echo \'{{"GoMod": "{upstream}"}}\';;',
        f'build*) cp go.mod {tmp_path}/used.mod; while [ "$1" != -o ]; do shift; done; echo >"$2";;',
    )
    build_component(components.kubernetes("1.35.4"), work_folder(tmp_path), SILENT)
    assert calls(go) == ["env", "mod", "mod", "list", "build"]
    used = (tmp_path / "used.mod").read_text()
    assert "k8s.io/kubernetes v1.35.4\n" in used
    assert "k8s.io/api => k8s.io/api v0.35.4\n" in used


def test_a_version_that_does_not_exist_is_refused_with_those_that_do(go: Path, tmp_path: Path) -> None:
    teach(
        go,
        'mod\\ download*) echo \'{"Error": "unknown revision"}\'; exit 1;;',
        'list*) echo \'{"Versions": ["v1.35.0-rc.1", "v1.35.3", "v1.35.4", "v1.36.0"]}\';;',
    )
    with pytest.raises(UsageError) as caught:
        build_component(components.kubernetes("1.35.99"), work_folder(tmp_path), SILENT)
    assert str(caught.value).splitlines() == [
        "Kubernetes version 1.35.99: the Go module proxy has no such release.",
        "Of 1.35 it has: v1.35.3, v1.35.4.",
    ]


def test_a_proxy_that_does_not_answer_is_not_taken_for_a_version_that_does_not_exist(go: Path, tmp_path: Path) -> None:
    teach(go, "mod\\ download*) exit 1;;", "list*) echo 'dial tcp: lookup proxy: no such host' >&2; exit 1;;")
    with pytest.raises(NotAvailable) as caught:
        build_component(components.kubernetes("1.35.4"), work_folder(tmp_path), SILENT)
    assert str(caught.value) == "the Go module proxy does not answer (dial tcp: lookup proxy: no such host)"


def test_a_connection_lost_during_the_download_of_modules_is_named(go: Path, tmp_path: Path) -> None:
    teach(go, "list*) echo 'golang.org/x/sys: Get: dial tcp 127.0.0.1:1: connection refused' >&2; exit 1;;")
    with pytest.raises(NotAvailable, match=r"does not answer: golang\.org/x/sys: Get: dial tcp 127\.0\.0\.1:1"):
        build_component(components.kubernetes(DEFAULT_VERSION), work_folder(tmp_path), SILENT)


def test_a_module_that_the_proxy_lacks_is_named_before_anything_is_compiled(go: Path, tmp_path: Path) -> None:
    line = "kubelet.go:9:2: no required module provides package k8s.io/cri-api/pkg/apis"
    teach(go, f"list*) echo '{line}' >&2; exit 1;;")
    with pytest.raises(PrerequisiteError) as caught:
        build_component(components.kubernetes(DEFAULT_VERSION), work_folder(tmp_path), SILENT)
    assert str(caught.value).splitlines() == [
        f"Go modules of kubernetes {DEFAULT_VERSION}: the Go module proxy does not serve what it needs: {line}",
        "Choose another patch release, or use --bin-dir or --kubelet-binary.",
    ]
    assert calls(go) == ["env", "list"]


def test_a_build_that_fails_shows_the_compilers_words(go: Path, tmp_path: Path) -> None:
    teach(go, "build*) echo './kubelet.go:13:2: undefined: app' >&2; exit 1;;")
    with pytest.raises(CommandFailed, match=r"ended with exit code 1(.|\n)*undefined: app"):
        build_component(components.kubernetes(DEFAULT_VERSION), work_folder(tmp_path), SILENT)


def test_a_go_too_old_to_fetch_a_newer_one_is_named(go: Path, tmp_path: Path) -> None:
    teach(go, version="go1.19.8")
    with pytest.raises(NotAvailable, match=r"^`go` on PATH is go1\.19\.8; 1\.26 or newer is needed"):
        build_component(components.kubernetes(DEFAULT_VERSION), work_folder(tmp_path), SILENT)


def test_an_older_containerd_is_built_as_a_dependency_since_its_module_excludes_another(
    go: Path, tmp_path: Path
) -> None:
    teach(go)
    folder = work_folder(tmp_path)
    build_component(components.containerd_1(Versions()), folder, SILENT)
    _, init, required, build = (go.parent / "calls").read_text().splitlines()
    assert init.startswith("mod init ")
    assert required == "mod edit -require=github.com/containerd/containerd@v1.7.35"
    assert build.startswith("build -mod=mod ")
    assert "-X github.com/containerd/containerd/version.Version=1.7.35 " in build
    assert f" -o {folder}/ github.com/containerd/containerd/cmd/containerd " in build


def test_kube_state_metrics_is_built_with_its_version(go: Path, tmp_path: Path) -> None:
    teach(go)
    build_component(components.state_metrics(Versions()), work_folder(tmp_path), SILENT)
    *_, required, build = (go.parent / "calls").read_text().splitlines()
    assert required == "mod edit -require=k8s.io/kube-state-metrics/v2@v2.15.0"
    assert "-X github.com/prometheus/common/version.Version=2.15.0 " in build
    assert build.endswith(" k8s.io/kube-state-metrics/v2")


def test_containerd_is_installed_with_its_version_and_without_what_needs_c_libraries(go: Path, tmp_path: Path) -> None:
    teach(go)
    build_component(components.containerd(Versions()), work_folder(tmp_path), SILENT)
    install = (go.parent / "calls").read_text().splitlines()[-1]
    assert "-tags no_btrfs no_devmapper no_zfs " in install
    assert "-X github.com/containerd/containerd/v2/version.Version=2.3.7 " in install
    assert install.endswith(
        "github.com/containerd/containerd/v2/cmd/containerd@v2.3.7 "
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2@v2.3.7 "
        "github.com/containerd/containerd/v2/cmd/ctr@v2.3.7"
    )
