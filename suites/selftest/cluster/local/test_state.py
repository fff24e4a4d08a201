"""What a local cluster writes into its state folder: ledger, keys, certificates, kubeconfigs.

Networks of local clusters stay out of the way of what the host has, and of each other.
"""

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from crashloop.cluster.files import last_lines, write_file
from crashloop.cluster.local.credentials import (
    Authority,
    CertificatePlan,
    create_signing_key,
    self_contained_kubeconfig,
)
from crashloop.cluster.local.plan import MOST_NODES, SERVICE_RANGE, free_network
from crashloop.cluster.local.teardown import Cgroup, HostLink, Ledger, Process, Thing
from crashloop.cluster.processes import Daemon
from crashloop.errors import PrerequisiteError
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


LONGEST_LINK_NAME = 15
"""IFNAMSIZ of linux/if.h, without the closing NUL."""


def test_a_vpn_that_takes_a_whole_private_range_leaves_others() -> None:
    assert free_network([IPv4Network("10.0.0.0/8")]).prefix == "198.18"


def test_the_first_network_is_taken_where_nothing_is_in_use() -> None:
    assert free_network([IPv4Network("192.0.2.0/24")]).prefix == "10.101"


def test_a_network_that_a_route_or_an_address_overlaps_is_left_out() -> None:
    in_use: list[IPv4Network | IPv4Address] = [
        IPv4Network("10.101.7.0/24"),
        IPv4Address("10.102.0.1"),
        IPv4Network("10.103.0.0/16"),
    ]
    assert free_network(in_use).prefix == "10.104"


def test_a_host_without_a_free_network_reads_what_to_do() -> None:
    with pytest.raises(PrerequisiteError, match=r"crashloop down --all"):
        free_network([IPv4Network("0.0.0.0/1"), IPv4Network("128.0.0.0/1")])


@given(st.integers(0, MOST_NODES - 1), st.integers(0, MOST_NODES - 1))
def test_no_two_nodes_share_an_address_or_the_range_of_their_pods(one: int, other: int) -> None:
    network = free_network([])
    ranges = [IPv4Network(network.pods(each)) for each in (one, other)]
    addresses = [IPv4Address(network.node(each)) for each in (one, other)]
    assert all(each.subnet_of(network.all) for each in ranges)
    assert all(address in IPv4Network(f"{network.hub}/24", strict=False) for address in addresses)
    assert (one == other) == (addresses[0] == addresses[1]) == ranges[0].overlaps(ranges[1])
    assert network.hub not in map(str, addresses)
    assert network.host not in map(str, addresses)


def test_no_network_overlaps_the_range_of_services() -> None:
    taken: list[IPv4Network] = []
    for _ in range(73):
        network = free_network(taken)
        taken.append(network.all)
        assert len(network.host_link) <= LONGEST_LINK_NAME
    assert not any(each.overlaps(IPv4Network(SERVICE_RANGE)) for each in taken)
