"""Where workers from other machines are awaited."""

import socket

import pytest

from crashloop.errors import UsageError
from crashloop.stress.generator import Address, address_of, check_free
from crashloop.stress.run import StressOptions, plan_stress


@pytest.mark.parametrize(
    ("text", "address", "shown"),
    [
        ("192.0.2.7", Address("192.0.2.7", 5557), "192.0.2.7:5557"),
        ("load.example:7000", Address("load.example", 7000), "load.example:7000"),
        ("[2001:db8::7]", Address("2001:db8::7", 5557), "[2001:db8::7]:5557"),
        ("[2001:db8::7]:7000", Address("2001:db8::7", 7000), "[2001:db8::7]:7000"),
    ],
)
def test_an_address_has_the_port_of_locust_unless_it_names_another(text: str, address: Address, shown: str) -> None:
    assert address_of(text, option="--listen") == address
    assert str(address) == shown


@pytest.mark.parametrize("text", ["", ":5557", "host:", "host:0", "host:65536", "2001:db8::7", "a b", "host:port"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        address_of(text, option="--master")
    assert str(refused.value) == f"--master {text!r}: expected HOST or HOST:PORT, such as 192.0.2.7:5557."


def test_a_port_that_is_taken_is_refused_before_a_cluster_is_made() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as refused:
            plan_stress(StressOptions(profile="quick", workers=1, listen=f"127.0.0.1:{port}"))
    assert str(refused.value) == (
        f"--listen 127.0.0.1:{port}: this host cannot listen there (Address already in use).\n"
        "Name an address of this host and a free port."
    )


def test_an_address_of_another_host_is_refused() -> None:
    with pytest.raises(UsageError, match=r"cannot listen there \(Cannot assign requested address\)"):
        check_free(Address("192.0.2.7", 5557), option="--listen")


def test_a_load_without_workers_has_nobody_to_wait_for() -> None:
    with pytest.raises(UsageError) as refused:
        plan_stress(StressOptions(profile="quick", workers=0, listen="127.0.0.1"))
    assert str(refused.value) == "--listen 127.0.0.1: no worker is expected.\nGive their number with --workers."
