"""How the load generator reaches an API server.

Where workers from other machines are awaited.
A run on many nodes may have as many files open as its host permits.
"""

import resource
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from crashloop.cluster.prerequisites import OPEN_FILES
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.stress.generator import Address, address_of, check_free, load_access
from crashloop.stress.run import StressOptions, allow_open_files, plan_stress


def kubeconfig(folder: Path, **cluster: Any) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "blue",
        "contexts": [{"name": "blue", "context": {"cluster": "blue", "user": "me"}}],
        "clusters": [{"name": "blue", "cluster": {"server": "https://192.0.2.7:6443", **cluster}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def test_the_address_and_the_header_of_each_request_are_those_of_the_kubeconfig(tmp_path: Path) -> None:
    access = load_access(kubeconfig(tmp_path))
    assert access.server == "https://192.0.2.7:6443"
    assert access.headers() == {"Authorization": "Bearer secret"}


@pytest.mark.parametrize(
    "cluster",
    [{"proxy-url": "http://192.0.2.8"}, {"tls-server-name": "api.example"}],
    ids=lambda each: next(iter(each)),
)
def test_what_the_load_generator_would_ignore_is_refused(tmp_path: Path, cluster: dict[str, str]) -> None:
    ((field, value),) = cluster.items()
    with pytest.raises(UsageError) as refused:
        load_access(kubeconfig(tmp_path, **cluster))
    assert f"its cluster has {field} {value!r}; the load generator cannot use it" in str(refused.value)


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


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """The limits of a process that may have 4096 files open, and has 1024 at first."""
    own = {"now": (1024, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: own["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: own.update(now=limits))
    return own


def test_the_soft_limit_is_raised_to_what_is_needed(limits: dict[str, tuple[int, int]]) -> None:
    allow_open_files(2000)
    assert limits["now"] == (2000 + OPEN_FILES, 4096)


def test_a_limit_that_is_enough_stays(limits: dict[str, tuple[int, int]]) -> None:
    allow_open_files(100)
    assert limits["now"] == (1024, 4096)


def test_more_than_the_hard_limit_is_refused(limits: dict[str, tuple[int, int]]) -> None:
    with pytest.raises(PrerequisiteError) as refused:
        allow_open_files(5000)
    assert limits["now"] == (1024, 4096)
    assert str(refused.value) == (
        "open files: 5256 are needed for histories and heartbeats; the hard limit of this process is 4096.\n"
        "Raise it (ulimit -Hn), or spread the load over fewer nodes."
    )
