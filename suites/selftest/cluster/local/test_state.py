"""What a local cluster writes into its state folder: ledger, keys, certificates, kubeconfigs."""

from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from crashloop.cluster.files import last_lines, write_file
from crashloop.cluster.local.credentials import (
    Authority,
    CertificatePlan,
    create_signing_key,
    self_contained_kubeconfig,
)
from crashloop.cluster.local.teardown import Cgroup, HostLink, Ledger, Process, Thing
from crashloop.cluster.processes import Daemon
from crashloop.kube.kubeconfig import DIRECT

THINGS: list[Thing] = [
    HostLink(name="crashloop101", alias="/state/demo"),
    Process(role="kubelet", node="one", daemon=Daemon(pid=10, started=1.5)),
    Cgroup(path="crashloop/demo/one"),
    Process(role="kubelet", node="one", daemon=Daemon(pid=12, started=2.5)),
    Process(role="kubelet", node="two", daemon=Daemon(pid=13, started=3.5)),
]


def test_a_ledger_gives_back_what_was_written(tmp_path: Path) -> None:
    assert Ledger(tmp_path).things() == []
    for thing in THINGS:
        Ledger(tmp_path).add(thing)
    assert Ledger(tmp_path).things() == THINGS


def test_a_last_line_cut_short_is_of_a_thing_that_was_never_made(tmp_path: Path) -> None:
    for thing in THINGS:
        Ledger(tmp_path).add(thing)
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(file.read_bytes()[:-5])
    assert Ledger(tmp_path).things() == THINGS[:-1]


def test_the_newest_process_of_a_role_is_the_one_that_runs(tmp_path: Path) -> None:
    for thing in THINGS:
        Ledger(tmp_path).add(thing)
    assert Ledger(tmp_path).daemon("kubelet", "one") == Daemon(pid=12, started=2.5)
    assert Ledger(tmp_path).daemon("containerd", "one") is None


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "ca.crt", tmp_path / "ca.key")


def test_keys_are_readable_by_their_owner_only(tmp_path: Path, authority: Authority) -> None:
    create_signing_key(tmp_path / "sa.key")
    authority.issue(certificate(tmp_path))
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("*.key")} == {
        "ca.key": 0o600,
        "sa.key": 0o600,
        "node.key": 0o600,
    }


def certificate(folder: Path) -> CertificatePlan:
    return CertificatePlan(
        certificate=str(folder / "node.crt"),
        key=str(folder / "node.key"),
        common_name="system:node:one",
        organizations=("system:nodes",),
        addresses=("10.101.0.10",),
        names=("one",),
    )


def test_a_certificate_says_who_it_is_for_and_is_signed_by_the_authority(tmp_path: Path, authority: Authority) -> None:
    authority.issue(certificate(tmp_path))
    issued = x509.load_pem_x509_certificate((tmp_path / "node.crt").read_bytes())
    ca = x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes())
    issued.verify_directly_issued_by(ca)
    assert issued.subject.rfc4514_string() == "CN=system:node:one,O=system:nodes"
    names = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["one"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["10.101.0.10"]


def test_an_authority_that_is_read_again_signs_as_before(tmp_path: Path, authority: Authority) -> None:
    Authority.load(tmp_path / "ca.crt", tmp_path / "ca.key").issue(certificate(tmp_path))
    issued = x509.load_pem_x509_certificate((tmp_path / "node.crt").read_bytes())
    issued.verify_directly_issued_by(x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes()))
    assert issued.issuer.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "crashloop-ca"


def test_a_kubeconfig_for_users_holds_all_it_needs() -> None:
    text = self_contained_kubeconfig(
        cluster="demo", server="https://10.101.0.1:6443", ca=b"a", certificate=b"b", key=b"c"
    )
    config = yaml.safe_load(text)
    assert config["current-context"] == config["contexts"][0]["name"] == "demo"
    assert config["clusters"][0]["cluster"] == {
        "server": "https://10.101.0.1:6443",
        "certificate-authority-data": "YQ==",
        "extensions": [DIRECT],
    }
    assert config["users"][0]["user"] == {"client-certificate-data": "Yg==", "client-key-data": "Yw=="}


def test_a_file_is_replaced_whole_with_the_mode_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    write_file(file, "new", mode=0o600)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_the_last_lines_of_a_log_are_shown_or_why_there_are_none(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_lines(log) == "(no log: No such file or directory)"
    log.write_text("")
    assert last_lines(log) == "(log is empty)"
    log.write_text("".join(f"{number}\n" for number in range(100)))
    assert last_lines(log, 2) == "98\n99"
