"""Which node image a cluster is made from, with a `docker` that has what the test says."""

from pathlib import Path

import pytest

from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.node_image import Choice, version_in_tag
from crashloop.cluster.kind.plan import Init, NodeImage
from crashloop.cluster.provider import ClusterRequest
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.progress import default_progress
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import fake_docker

OWN = '[{"Config": {"Labels": {"dev.crashloop.node-image": "1.36.3"}}}]'
FOREIGN = '[{"Config": {"Labels": null}}]'


def choose(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cases: str,
    *,
    cgroups: int = 2,
    ci: str = "",
    **options: str | bool,
) -> NodeImage:
    """The choice for Kubernetes 1.37.1 unless `options` say otherwise; `cases` says how `docker ARGUMENTS` answers."""
    fake_docker(tmp_path, monkeypatch, f"{cases}\n'info --format {{{{.CgroupVersion}}}}') echo {cgroups} ;;")
    fields = {"kubernetes_version": "1.37.1", **options}
    request = ClusterRequest(name="demo", nodes=(), **fields)  # type: ignore[arg-type]
    return Choice(Docker(), settings_for(tmp_path / "cache"), default_progress(), {"CI": ci}).image(request)


def test_an_official_image_that_is_there_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = choose(tmp_path, monkeypatch, f"'image inspect kindest/node:v1.37.1') echo '{FOREIGN}' ;;")
    assert image == NodeImage(
        name="kindest/node:v1.37.1", kubernetes_version="1.37.1", init=Init.SYSTEMD, has_program_image=False
    )


def test_an_official_image_is_pulled_even_where_there_is_one_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled = tmp_path / "pulled"
    cases = f"""
'image inspect kindest/node:v1.37.1') [ -e {pulled} ] || {{ echo 'No such image' >&2; exit 1; }}; echo '{FOREIGN}' ;;
'images --quiet'*) echo 0123456789ab ;;
'pull --quiet kindest/node:v1.37.1') touch {pulled} ;;"""
    assert choose(tmp_path, monkeypatch, cases).name == "kindest/node:v1.37.1"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Versions that an image was built of."""
    versions: list[str] = []

    def build(_: Choice, version: str, bin_dir: str | None) -> str:
        versions.append(version)
        return "crashloop/node:1"

    monkeypatch.setattr(Choice, "_own", build)
    return versions


def test_our_own_image_is_built_where_it_is_wanted_even_if_there_is_an_official_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str]
) -> None:
    cases = f"'image inspect crashloop/node:1') echo '{OWN}' ;;\n'image inspect kindest'*) echo '{FOREIGN}' ;;"
    image = choose(tmp_path, monkeypatch, cases, node_image="own", kubernetes_version="1.36.3")
    assert (image.name, image.init, image.has_program_image) == ("crashloop/node:1", Init.SERVICE, True)
    assert built == ["1.36.3"]


def test_an_official_image_that_cannot_be_pulled_is_replaced_in_so_many_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    cases = f"""
'image inspect crashloop/node:1') echo '{OWN}' ;;
'pull --quiet kindest/node:v1.36.3') echo 'error from registry: manifest unknown' >&2; exit 1 ;;"""
    image = choose(tmp_path, monkeypatch, cases, kubernetes_version="1.36.3")
    assert (image.name, built) == ("crashloop/node:1", ["1.36.3"])
    said = "WARNING: kindest/node:v1.36.3: it cannot be pulled (manifest unknown); --node-image own takes its place"
    assert said in capsys.readouterr().err


def test_under_ci_an_official_image_that_cannot_be_pulled_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str]
) -> None:
    cases = "'pull --quiet kindest/node:v1.37.1') echo 'error from registry: manifest unknown' >&2; exit 1 ;;"
    with pytest.raises(PrerequisiteError) as caught:
        choose(tmp_path, monkeypatch, cases, ci="true")
    assert str(caught.value) == (
        "node image kindest/node:v1.37.1: it cannot be pulled (manifest unknown); "
        "under CI no other image replaces it unasked.\n"
        "Give --node-image own for one that crashloop builds, or name one that kind has published."
    )
    assert built == []


def test_under_ci_our_own_image_is_built_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str]
) -> None:
    cases = f"'image inspect crashloop/node:1') echo '{OWN}' ;;"
    image = choose(tmp_path, monkeypatch, cases, ci="true", node_image="own", kubernetes_version="1.36.3")
    assert (image.name, built) == ("crashloop/node:1", ["1.36.3"])


def test_under_ci_our_own_image_replaces_an_official_one_where_any_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str]
) -> None:
    cases = f"""
'image inspect crashloop/node:1') echo '{OWN}' ;;
'pull --quiet kindest/node:v1.36.3') echo 'error from registry: manifest unknown' >&2; exit 1 ;;"""
    choose(tmp_path, monkeypatch, cases, ci="true", kubernetes_version="1.36.3", any_node_image=True)
    assert built == ["1.36.3"]


def of_systemd(version: int) -> str:
    """How Docker answers if it has an image of kind's with such a systemd."""
    return f"""
'image inspect kindest'*) echo '{FOREIGN}' ;;
'image inspect crashloop/node:1') echo '{OWN}' ;;
'run '*'--entrypoint=systemctl kindest/node:v1.36.3 --version') echo 'systemd {version} ({version}.9-1~deb13u1)' ;;"""


def test_an_image_that_cannot_boot_on_cgroup_v1_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        choose(tmp_path, monkeypatch, of_systemd(257), cgroups=1, node_image="kindest/node:v1.36.3")
    assert str(caught.value) == (
        "--node-image kindest/node:v1.36.3: its systemd 257 boots on cgroup v2 only, and the host of this Docker has v1.\n"
        "Boot the host with cgroup v2 (kernel argument systemd.unified_cgroup_hierarchy=1), "
        "or give --node-image own for one that crashloop builds."
    )


def test_an_official_image_that_cannot_boot_on_cgroup_v1_is_replaced_in_so_many_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    choose(tmp_path, monkeypatch, of_systemd(257), cgroups=1, kubernetes_version="1.36.3")
    assert built == ["1.36.3"]
    said = "WARNING: kindest/node:v1.36.3: its systemd 257 boots on cgroup v2 only"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("systemd", "cgroups"), [(252, 1), (257, 2)])
def test_an_image_that_can_boot_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, systemd: int, cgroups: int
) -> None:
    image = choose(tmp_path, monkeypatch, of_systemd(systemd), cgroups=cgroups, kubernetes_version="1.36.3")
    assert image.name == "kindest/node:v1.36.3"


def test_an_image_that_was_named_and_is_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError) as caught:
        choose(tmp_path, monkeypatch, f"'image inspect mine:1') echo '{OWN}' ;;", node_image="mine:1")
    assert str(caught.value) == (
        "node image mine:1: holds Kubernetes 1.36.3, 1.37.1 was requested.\n"
        "Add --kubernetes-version 1.36.3, or choose another --node-image."
    )


@pytest.mark.parametrize(
    ("version", "tag"), [("1.37", "v1.37.0"), ("v1.37.1", "v1.37.1"), ("1.38.0", "v1.38.0-alpha.1")]
)
def test_versions_are_compared_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, tag: str
) -> None:
    cases = f"'image inspect kindest/node:{tag}') echo '{FOREIGN}' ;;\n'run --rm '*) echo {tag} ;;"
    image = choose(tmp_path, monkeypatch, cases, node_image=f"kindest/node:{tag}", kubernetes_version=version)
    assert image.kubernetes_version == str(KubernetesVersion.parse(version))


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("kindest/node:v1.36.3", "1.36.3"),
        ("kindest/node:v1.36.3@sha256:0123", "1.36.3"),
        ("localhost:5000/crashloop/node:v1.37.1-0123456789ab", "1.37.1"),
        ("my/node:1.35.4", "1.35.4"),
        ("kindest/node:v1.38.0-alpha.1", "1.38.0"),
        ("my/node:latest", None),
        ("localhost:1.36.3/node", None),
        ("node@sha256:0123", None),
        (None, None),
    ],
)
def test_a_version_is_read_in_a_tag_that_begins_with_one(image: str | None, version: str | None) -> None:
    assert version_in_tag(image) == version


def test_the_version_of_any_other_image_is_read_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = f"'image inspect mine:1') echo '{FOREIGN}' ;;\n'run --rm '*' mine:1 /kind/version') echo v1.37.1 ;;"
    image = choose(tmp_path, monkeypatch, cases, node_image="mine:1")
    assert (image.kubernetes_version, image.init) == ("1.37.1", Init.SYSTEMD)


def test_an_image_that_is_none_for_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = f"'image inspect mine:1') echo '{FOREIGN}' ;;\n'run '*) echo \"cat: no such file.\" >&2; exit 1 ;;"
    with pytest.raises(
        UsageError, match=r"node image mine:1: `cat /kind/version` does not work in it \(cat: no such file\)"
    ):
        choose(tmp_path, monkeypatch, cases, node_image="mine:1")


def test_an_image_that_is_nowhere_is_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = "'pull --quiet mine:1') echo 'lookup registry: no such host' >&2; exit 1 ;;"
    with pytest.raises(PrerequisiteError) as caught:
        choose(tmp_path, monkeypatch, cases, node_image="mine:1")
    assert str(caught.value) == (
        "--node-image mine:1: Docker does not have it and cannot pull it (lookup registry: no such host).\n"
        "Pull or load it yourself, or give --node-image own for one that crashloop builds."
    )
