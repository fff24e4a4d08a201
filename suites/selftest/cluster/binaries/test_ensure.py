"""A cluster's programs come from the first place that has them, and it is said which."""

from pathlib import Path

import pytest

from crashloop.cluster.binaries.components import (
    BUSYBOX,
    KUBERNETES_PROGRAMS,
    BinarySource,
    architecture,
    containerd,
    kubernetes,
    runc,
)
from crashloop.cluster.binaries.ensure import PROGRAMS, ensure_binaries, ensure_kubelet, require_kubelet
from crashloop.cluster.binaries.provision import Provision, entry_name
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.progress import SilentProgress
from crashloop.settings import Settings, Versions
from suites.selftest.kit.binaries_kit import NOWHERE, release_site, settings_for, write_program, write_programs

SILENT = SilentProgress()
OTHERS = tuple(program for program in PROGRAMS if program not in KUBERNETES_PROGRAMS)


@pytest.fixture
def bare_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with a shell and nothing else on PATH: no Go, no apt, no runc, no busybox."""
    folder = tmp_path / "bare"
    folder.mkdir()
    for tool in ("sh", "cat"):
        (folder / tool).symlink_to(Path("/bin") / tool)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path / "cache")


def test_a_folder_with_everything_needs_no_cache_and_no_network(
    bare_host: Path, settings: Settings, tmp_path: Path
) -> None:
    own = write_programs(tmp_path / "own", *PROGRAMS)
    binaries = ensure_binaries(settings, kubernetes_version="1.37.1", bin_dir=own, progress=SILENT)
    assert binaries.kube_apiserver == own / "kube-apiserver"
    assert (binaries.shim_dir, binaries.cni_dir) == (own, own)
    assert set(binaries.source.values()) == {BinarySource.BIN_DIR}
    assert binaries.versions["kubelet"] == "1.37.1"
    assert not settings.paths.cache_dir.exists()


def test_the_users_kubelet_beats_the_one_in_the_folder(bare_host: Path, settings: Settings, tmp_path: Path) -> None:
    own = write_programs(tmp_path / "own", *PROGRAMS)
    kubelet = write_program(tmp_path / "my-kubelet", "Kubernetes v1.36.3")
    binaries = ensure_binaries(
        settings, kubernetes_version="1.37.1", bin_dir=own, kubelet_binary=kubelet, progress=SILENT
    )
    assert binaries.kubelet == kubelet
    assert (binaries.source["kubelet"], binaries.versions["kubelet"]) == (BinarySource.USER, "1.36.3")
    assert binaries.source["kube-proxy"] is BinarySource.BIN_DIR


def test_what_the_folder_lacks_is_downloaded_once(bare_host: Path, tmp_path: Path) -> None:
    own = write_programs(tmp_path / "own", "kube-scheduler", *OTHERS)
    with release_site() as site:
        site.publish_kubernetes("1.37.1")
        settings = settings_for(tmp_path / "cache", release_url=site.url)
        first = ensure_binaries(settings, kubernetes_version="1.37.1", bin_dir=own, progress=SILENT)
    again = ensure_binaries(settings, kubernetes_version="1.37.1", bin_dir=own, progress=SILENT)
    assert again == first
    assert first.source["kubelet"] is BinarySource.DOWNLOAD
    assert first.source["kube-scheduler"] is BinarySource.BIN_DIR
    assert first.kubelet.is_relative_to(settings.paths.cache_dir)
    assert len(site.asked) == 2 * len(KUBERNETES_PROGRAMS)


def test_the_folders_api_server_decides_the_clusters_version(bare_host: Path, tmp_path: Path) -> None:
    own = write_programs(tmp_path / "own", "kube-apiserver", *OTHERS, kubernetes="1.36.3")
    with release_site() as site:
        site.publish_kubernetes("1.36.3")
        settings = settings_for(tmp_path / "cache", release_url=site.url)
        binaries = ensure_binaries(settings, kubernetes_version="1.37.1", bin_dir=own, progress=SILENT)
    assert binaries.kubernetes_version == "1.36.3"
    assert binaries.versions["kube-controller-manager"] == "1.36.3"


def test_cni_plugins_are_taken_from_the_folder_only_together(
    bare_host: Path, settings: Settings, tmp_path: Path
) -> None:
    own = write_programs(tmp_path / "own", *(program for program in PROGRAMS if program != "loopback"))
    with pytest.raises(PrerequisiteError, match=r"^cni-plugins 1\.9\.1: not in the cache"):
        ensure_binaries(settings, kubernetes_version="1.37.1", bin_dir=own, progress=SILENT)


def test_the_hosts_runc_is_used_and_its_dynamic_busybox_is_not(
    bare_host: Path, settings: Settings, tmp_path: Path
) -> None:
    write_programs(bare_host, "runc", "busybox")
    own = write_programs(tmp_path / "own", *(program for program in PROGRAMS if program not in ("runc", "busybox")))
    with pytest.raises(PrerequisiteError, match=r"^busybox: not in the cache"):
        ensure_binaries(settings, kubernetes_version="1.37.1", bin_dir=own, progress=SILENT)
    write_programs(own, "busybox")
    binaries = ensure_binaries(settings, kubernetes_version="1.37.1", bin_dir=own, progress=SILENT)
    assert (binaries.runc, binaries.source["runc"]) == (bare_host / "runc", BinarySource.HOST)


def test_a_host_that_has_no_way_shows_all_ways(bare_host: Path, settings: Settings) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        ensure_binaries(settings, kubernetes_version="1.37.1", progress=SILENT)
    names = ", ".join(KUBERNETES_PROGRAMS)
    assert str(caught.value).splitlines() == [
        f"kubernetes 1.37.1: not in the cache ({settings.paths.cache_dir}/binaries), and no source has it.",
        f"  official release: {NOWHERE}: [Errno 111] Connection refused.",
        "  build with Go: no `go` on PATH.",
        "Any one of these helps:",
        f"  a connection to {NOWHERE}, or a mirror of it: CRASHLOOP_RELEASE_URL.",
        "  Go 1.26 or newer on PATH, with a connection to a Go module proxy (`go env GOPROXY`).",
        f"  a folder with your own {names}: --bin-dir.",
    ]


def test_a_download_with_a_wrong_checksum_never_becomes_an_entry(bare_host: Path, tmp_path: Path) -> None:
    with release_site() as site:
        site.publish_kubernetes("1.37.1")
        path = f"release/v1.37.1/bin/linux/{architecture()}/kubectl"
        site.publish(path, b"something else", sha256="0" * 64)
        settings = settings_for(tmp_path / "cache", release_url=site.url)
        with pytest.raises(PrerequisiteError, match=rf"kubectl: its sha256 is \w+, published is {'0' * 64}"):
            ensure_binaries(settings, kubernetes_version="1.37.1", progress=SILENT)
    assert Provision(settings, SILENT).cached(kubernetes("1.37.1")) is None
    assert list((settings.paths.cache_dir / "binaries" / ".partial").iterdir()) == []


def test_a_download_that_does_not_run_here_is_not_taken(bare_host: Path, tmp_path: Path) -> None:
    with release_site() as site:
        site.publish_kubernetes("1.37.1")
        path = f"release/v1.37.1/bin/linux/{architecture()}/kubelet"
        site.publish(path, b"#!/bin/sh\necho 'no such library' >&2\nexit 127\n")
        settings = settings_for(tmp_path / "cache", release_url=site.url)
        with pytest.raises(PrerequisiteError, match=r"official release: kubelet does not run on this host") as caught:
            ensure_binaries(settings, kubernetes_version="1.37.1", progress=SILENT)
    assert "no such library" in str(caught.value)


def test_a_cluster_that_is_older_than_every_model_is_refused(settings: Settings) -> None:
    with pytest.raises(UsageError, match=r"^--kubernetes-version: version is 1\.32\.0; the oldest release"):
        ensure_binaries(settings, kubernetes_version="1.32.0", progress=SILENT)


def test_a_scheduler_newer_than_the_api_server_is_refused(bare_host: Path, settings: Settings, tmp_path: Path) -> None:
    own = write_programs(tmp_path / "own", *PROGRAMS, kubernetes="1.36.3")
    write_program(own / "kube-scheduler", "Kubernetes v1.37.1")
    with pytest.raises(UsageError, match=r"kube-scheduler: version 1\.37\.1 is newer than the API server \(1\.36\.3\)"):
        ensure_binaries(settings, kubernetes_version="1.36.3", bin_dir=own, progress=SILENT)


def test_a_skewed_nodes_kubelet_is_fetched_alone(bare_host: Path, tmp_path: Path) -> None:
    with release_site() as site:
        site.publish_kubernetes("1.34.4")
        settings = settings_for(tmp_path / "cache", release_url=site.url)
        kubelet = ensure_kubelet(settings, kubernetes_version="1.34.4", api_server="1.37.1", progress=SILENT)
    assert kubelet.name == "kubelet"
    assert {path.rpartition("/")[2] for path in site.asked} == {"kubelet", "kubelet.sha256"}


def test_a_skewed_nodes_kubelet_comes_from_a_whole_set_where_there_is_one(bare_host: Path, tmp_path: Path) -> None:
    own = write_programs(tmp_path / "own", *OTHERS)
    with release_site() as site:
        site.publish_kubernetes("1.36.3")
        settings = settings_for(tmp_path / "cache", release_url=site.url)
        whole = ensure_binaries(settings, kubernetes_version="1.36.3", bin_dir=own, progress=SILENT)
    assert ensure_kubelet(settings, kubernetes_version="1.36.3", api_server="1.37.1", progress=SILENT) == whole.kubelet


def test_a_kubelet_too_old_for_the_api_server_is_refused_before_anything_is_fetched(settings: Settings) -> None:
    with pytest.raises(UsageError, match=r"^kubelet 1\.33\.13: version 1\.33\.13 is 4 minor versions older"):
        ensure_kubelet(settings, kubernetes_version="1.33.13", api_server="1.37.1", progress=SILENT)


def test_a_kubelet_that_can_be_had_is_not_fetched_yet(bare_host: Path, tmp_path: Path) -> None:
    with release_site() as site:
        site.publish_kubernetes("1.34.4")
        require_kubelet(
            settings_for(tmp_path / "cache", release_url=site.url), kubernetes_version="1.34.4", progress=SILENT
        )
    assert {path.rpartition("/")[2] for path in site.asked} == {"kubelet.sha256"}


def test_a_kubelet_in_the_cache_is_not_asked_for(bare_host: Path, tmp_path: Path) -> None:
    with release_site() as site:
        site.publish_kubernetes("1.34.4")
        online = settings_for(tmp_path / "cache", release_url=site.url)
        ensure_kubelet(online, kubernetes_version="1.34.4", api_server="1.37.1", progress=SILENT)
    require_kubelet(settings_for(tmp_path / "cache"), kubernetes_version="1.34.4", progress=SILENT)


def test_a_kubelet_that_nobody_has_is_refused_with_every_reason(bare_host: Path, settings: Settings) -> None:
    with pytest.raises(PrerequisiteError, match=r"^kubelet 1\.34\.4: not in the cache") as caught:
        require_kubelet(settings, kubernetes_version="1.34.4", progress=SILENT)
    assert f"official release: {NOWHERE}" in str(caught.value)
    assert "build with Go: no `go` on PATH." in str(caught.value)


def test_another_recipe_is_another_entry() -> None:
    whole, alone = kubernetes("1.37.1"), kubernetes("1.37.1", ("kubelet",))
    assert entry_name(whole, "amd64").startswith("kubernetes-1.37.1-linux-amd64-")
    assert len({entry_name(whole, "amd64"), entry_name(whole, "arm64"), entry_name(alone, "amd64")}) == 3


def test_sources_are_tried_in_the_promised_order() -> None:
    versions = Versions()
    assert kubernetes("1.37.1").sources == (BinarySource.DOWNLOAD, BinarySource.BUILD)
    assert containerd(versions).sources == (BinarySource.DOWNLOAD, BinarySource.BUILD)
    assert runc(versions).sources == (BinarySource.DOWNLOAD, BinarySource.PACKAGE)
    assert BUSYBOX.sources == (BinarySource.PACKAGE,)
