"""The user's own binaries: what cannot be used is refused at once, with the reason."""

from pathlib import Path

import pytest

from crashloop.cluster.binaries import versions
from crashloop.cluster.binaries.ensure import check_kubelet
from crashloop.cluster.binaries.versions import own_folder, own_kubelet
from crashloop.errors import UsageError
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.binaries_kit import write_program, write_programs


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def refusal(path: Path, api_server: str = "1.37.1") -> list[str]:
    with pytest.raises(UsageError) as caught:
        check_kubelet(path, api_server=api_server)
    return str(caught.value).splitlines()


def test_a_script_that_answers_as_a_kubelet_does_is_a_kubelet(tmp_path: Path) -> None:
    kubelet = write_program(tmp_path / "my-kubelet", "Kubernetes v1.36.3-dirty")
    assert own_kubelet(kubelet) == KubernetesVersion(1, 36, 3)


def test_a_kubelet_that_is_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kubelet"
    assert refusal(path) == [f"--kubelet-binary {path}: no such file; the path of a kubelet was expected."]


def test_a_folder_is_no_kubelet(tmp_path: Path) -> None:
    assert refusal(tmp_path) == [
        f"--kubelet-binary {tmp_path}: is a folder; the path of a kubelet was expected.",
        "For a folder use --bin-dir.",
    ]


def test_a_kubelet_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    path = write_program(tmp_path / "kubelet", "Kubernetes v1.37.1")
    path.chmod(0o644)
    assert refusal(path) == [f"--kubelet-binary {path}: is not executable.", f"Run: chmod +x {path}"]


def test_a_kubelet_for_another_machine_is_refused(tmp_path: Path) -> None:
    path = executable(tmp_path / "kubelet", "\x7fELF of something else")
    assert refusal(path) == [
        f"--kubelet-binary {path}: it cannot be started: Exec format error.",
        "Expected a kubelet that answers `--version`.",
    ]


def test_a_kubelet_that_crashes_is_refused_with_its_last_words(tmp_path: Path) -> None:
    path = executable(tmp_path / "kubelet", "#!/bin/sh\necho 'panic: no way' >&2\nexit 2\n")
    assert refusal(path) == [
        f"--kubelet-binary {path}: version of kubelet: `{path} --version` ended with exit code 2, expected exit code 0.",
        "Its last lines:",
        "  panic: no way",
        "Expected a kubelet that answers `--version`.",
    ]


def test_a_kubelet_that_never_answers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "ANSWER_S", 0.3)
    path = executable(tmp_path / "kubelet", "#!/bin/sh\nsleep 1000\n")
    assert refusal(path)[0] == (
        f"--kubelet-binary {path}: version of kubelet: `{path} --version` did not end within 0.3 s."
    )


def test_a_program_that_is_no_kubelet_is_refused(tmp_path: Path) -> None:
    path = write_program(tmp_path / "kubelet", "etcd Version: 3.7.0")
    assert refusal(path) == [
        f"--kubelet-binary {path}: to `--version` it answered 'etcd Version: 3.7.0'; expected `Kubernetes vX.Y.Z`.",
        "Expected a kubelet that answers `--version`.",
    ]


def test_a_kubelet_that_is_older_than_every_model_is_refused(tmp_path: Path) -> None:
    path = write_program(tmp_path / "kubelet", "Kubernetes v1.32.9")
    assert refusal(path) == [
        f"--kubelet-binary {path}: version is 1.32.9; the oldest release whose behaviour this suite knows is 1.33.",
        "Use that or a newer one.",
    ]


def test_a_build_of_the_next_release_is_taken_beside_the_newest_api_server_and_no_older_one(tmp_path: Path) -> None:
    path = write_program(tmp_path / "kubelet", "Kubernetes v1.38.0-alpha.1.23+0123456789abcd-dirty")
    assert check_kubelet(path, api_server="1.37.1") == KubernetesVersion(1, 38, 0)
    assert refusal(path, api_server="1.36.3")[0].startswith(
        f"--kubelet-binary {path}: version 1.38.0 is newer than the API server (1.36.3)"
    )


def test_a_kubelet_newer_than_the_api_server_is_refused(tmp_path: Path) -> None:
    path = write_program(tmp_path / "kubelet", "Kubernetes v1.37.1")
    assert refusal(path, api_server="1.36.3") == [
        f"--kubelet-binary {path}: version 1.37.1 is newer than the API server (1.36.3), which upstream does not support.",
        "Bring the cluster up with --kubernetes-version 1.37.1, or use an older kubelet.",
    ]


def test_a_kubelet_three_minor_versions_older_than_the_api_server_is_accepted_and_four_are_not(tmp_path: Path) -> None:
    three = write_program(tmp_path / "three", "Kubernetes v1.34.4")
    four = write_program(tmp_path / "four", "Kubernetes v1.33.13")
    assert check_kubelet(three, api_server="1.37.1") == KubernetesVersion(1, 34, 4)
    assert refusal(four) == [
        f"--kubelet-binary {four}: version 1.33.13 is 4 minor versions older than the API server (1.37.1); "
        "upstream supports at most 3.",
        "Bring the cluster up with an older --kubernetes-version, or use a newer kubelet.",
    ]


def test_a_folder_gives_the_programs_that_lie_in_it(tmp_path: Path) -> None:
    write_programs(tmp_path, "kubelet", "etcd")
    assert own_folder(tmp_path, ("kubelet", "kubectl", "etcd")) == {
        "kubelet": tmp_path / "kubelet",
        "etcd": tmp_path / "etcd",
    }


def test_a_folder_without_any_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme").touch()
    with pytest.raises(UsageError) as caught:
        own_folder(tmp_path, ("kubelet", "etcd"))
    assert str(caught.value) == f"--bin-dir {tmp_path}: holds none of the programs of a cluster (kubelet, etcd)."


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder; one with kubelet, kube-apiserver"):
        own_folder(tmp_path / "nowhere", ("kubelet",))


def test_a_program_in_the_folder_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    write_programs(tmp_path, "kubelet")
    (tmp_path / "kubelet").chmod(0o644)
    with pytest.raises(UsageError, match=r"kubelet is not executable\.\nRun: chmod \+x "):
        own_folder(tmp_path, ("kubelet",))


def test_a_program_without_a_loader_is_static_and_others_are_not(tmp_path: Path) -> None:
    def elf(*kinds: int) -> bytes:
        header = bytearray(64)
        header[:5] = b"\x7fELF\x02"
        header[32:40] = (64).to_bytes(8, "little")
        header[54:58] = (56).to_bytes(2, "little") + len(kinds).to_bytes(2, "little")
        return bytes(header) + b"".join(kind.to_bytes(4, "little") + bytes(52) for kind in kinds)

    load, interpreter = 1, 3
    for name, content in (("static", elf(load, load)), ("dynamic", elf(load, interpreter)), ("script", b"#!/bin/sh\n")):
        (tmp_path / name).write_bytes(content)
    assert [versions.is_static(tmp_path / name) for name in ("static", "dynamic", "script")] == [
        True,
        False,
        False,
    ]
