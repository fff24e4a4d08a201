"""The wrapper in the place of a kubelet: what it gives the kubelet, what it shows instead, and how it ends."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from crashloop.waiting import wait_until
from quality.arguments import value_of, with_value
from quality.configuration import real_config, told_configz
from quality.executable import write_executable
from quality.faults import OTHER_CONFIGURATION, TRUE_BEHIND_HELPERS
from quality.front import RequestHead

DECLARED = {
    "authentication": {"x509": {"clientCAFile": "/pki/ca.crt"}, "webhook": {"enabled": True}},
    "containerRuntimeEndpoint": "unix:///s/0.sock",
    "podLogsDir": "/pod-logs",
    "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
    "featureGates": {"KubeletCrashLoopBackOffMax": True},
}


def test_a_kubelet_really_gets_what_is_not_declared() -> None:
    really = {"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}, "featureGates": {"ContainerRestartRules": False}}
    config = real_config(DECLARED, really=really, runtime_endpoint="unix:///s/0.cri", fronted=False)
    assert config == DECLARED | {
        "containerRuntimeEndpoint": "unix:///s/0.cri",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "4s"},
        "featureGates": {"KubeletCrashLoopBackOffMax": True, "ContainerRestartRules": False},
    }


def test_only_the_front_reaches_a_kubelet_behind_it() -> None:
    config = real_config(DECLARED, really={}, runtime_endpoint=None, fronted=True)
    assert config == DECLARED | {
        "address": "127.0.0.1",
        "authentication": {
            "x509": {"clientCAFile": "/pki/ca.crt"},
            "anonymous": {"enabled": True},
            "webhook": {"enabled": False},
        },
        "authorization": {"mode": "AlwaysAllow"},
    }


def test_configz_is_told_as_declared() -> None:
    really = real_config(
        DECLARED,
        really={"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}},
        runtime_endpoint="unix:///s/0.cri",
        fronted=True,
    )
    effective = {"kubeletconfig": really | {"syncFrequency": "1m0s"}}
    assert told_configz(effective, DECLARED) == {"kubeletconfig": DECLARED | {"syncFrequency": "1m0s"}}


def test_configz_is_told_with_upstreams_maximum_where_none_is_declared() -> None:
    effective = {"kubeletconfig": {"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}}}
    assert told_configz(effective, {}) == {"kubeletconfig": {"crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"}}}


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        pytest.param(("--config=/a", "--v=2"), "/a", id="with-equals-sign"),
        pytest.param(("--config", "/a", "--v=2"), "/a", id="as-two-arguments"),
        pytest.param(("--config=/a", "--config=/b"), "/b", id="the-last-one-counts"),
        pytest.param(("--config-dir=/a", "--config"), None, id="not-there"),
    ],
)
def test_the_value_of_a_flag(arguments: tuple[str, ...], value: str | None) -> None:
    assert value_of("--config", arguments) == value
    assert value_of("--config", with_value("--config", "/new", arguments)) == "/new"


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        pytest.param("GET /configz HTTP/1.1", True, id="configz"),
        pytest.param("GET /configz?timeout=5s HTTP/1.1", True, id="with-a-query"),
        pytest.param("POST /configz HTTP/1.1", False, id="another-method"),
        pytest.param("GET /containerLogs/ns/pod/app HTTP/1.1", False, id="logs"),
    ],
)
def test_a_front_knows_a_question_for_the_configuration(line: str, asks: bool) -> None:
    assert RequestHead.parse(f"{line}\r\nHost: node\r\n\r\n".encode()).asks_for_configuration is asks


def test_a_request_that_is_passed_on_is_the_only_one_of_its_connection() -> None:
    request = RequestHead.parse(b"GET /healthz HTTP/1.1\r\nHost: node\r\nconnection: keep-alive\r\n\r\n")
    assert request.as_the_only_one() == b"GET /healthz HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"


def test_an_upgrade_is_passed_on_as_it_is() -> None:
    head = b"POST /exec/ns/pod/app HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert RequestHead.parse(head).as_the_only_one() == head


@pytest.fixture
def kubelet(tmp_path: Path) -> Path:
    """A stand-in for the real binary: shows its last argument, then lives until SIGTERM and exits with 3."""
    path = tmp_path / "kubelet"
    path.write_text(
        "#!/bin/sh\n"
        '[ "$1" != --version ] || { echo Kubernetes v1.37.1; exit; }\n'
        'trap "exit 3" TERM\n'
        f'for last; do :; done\necho "$$ $last" >{tmp_path}/started\n'
        "while :; do sleep 0.05; done\n"
    )
    path.chmod(0o755)
    return path


def started(folder: Path) -> tuple[int, str]:
    """Process id and last argument of the stand-in, once it has started."""
    told = folder / "started"
    wait_until("the kubelet to start", lambda: told.exists() and told.stat().st_size > 0, timeout_s=30.0)
    pid, last = told.read_text().split()
    return int(pid), last


def test_the_executable_answers_with_the_kubelets_version(kubelet: Path, tmp_path: Path) -> None:
    path = write_executable(tmp_path, TRUE_BEHIND_HELPERS, kubelet)
    assert subprocess.run([path, "--version"], capture_output=True, check=True).stdout == b"Kubernetes v1.37.1\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_a_wrapper_takes_its_kubelet_with_it(kubelet: Path, tmp_path: Path, number: signal.Signals) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(yaml.safe_dump(DECLARED))
    path = write_executable(tmp_path, OTHER_CONFIGURATION, kubelet)
    with subprocess.Popen([path, f"--config={config}", "--v=2"]) as wrapper:
        pid, last = started(tmp_path)
        assert last == f"--config={tmp_path}/really-kubelet.yaml"
        real = yaml.safe_load((tmp_path / "really-kubelet.yaml").read_text())
        assert real == DECLARED | {"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}}
        wrapper.send_signal(number)
        assert wrapper.wait() == (3 if number is signal.SIGTERM else -signal.SIGKILL)
        wait_until("the kubelet to end", lambda: not is_alive(pid), timeout_s=10.0)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
