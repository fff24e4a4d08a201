"""The wrapper in the place of a kubelet: what it gives the kubelet, what it shows instead, and how it ends."""

import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from crashloop.waiting import wait_until
from quality.arguments import value_of, with_value
from quality.configuration import Config, declared_configz, delays_s, real_config
from quality.connection import RequestHead
from quality.executable import write_executable
from quality.fault import PASSES_ON, Fault
from quality.faults import (
    COUNTS_ONE_MORE_AGAIN,
    LATE_TWICE,
    LONG_20_PERCENT,
    OTHER_CONFIGURATION,
    PANICS,
    TRUE_BEHIND_HELPERS,
)
from quality.lies import Lie
from quality.wrapper import meddling_of
from suites.selftest.kit.pids import has_ended

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


def test_configz_is_stated_as_declared() -> None:
    really = real_config(
        DECLARED,
        really={"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}},
        runtime_endpoint="unix:///s/0.cri",
        fronted=True,
    )
    effective = {"kubeletconfig": really | {"syncFrequency": "1m0s"}}
    assert declared_configz(effective, DECLARED) == {"kubeletconfig": DECLARED | {"syncFrequency": "1m0s"}}


def test_configz_is_stated_with_upstreams_maximum_where_none_is_declared() -> None:
    effective = {"kubeletconfig": {"crashLoopBackOff": {"maxContainerRestartPeriod": "4s"}}}
    assert declared_configz(effective, {}) == {
        "kubeletconfig": {"crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"}}
    }


@pytest.mark.parametrize(
    ("declared", "due_s"),
    [
        pytest.param({}, (0, 10, 20, 40, 80, 160, 300), id="stock"),
        pytest.param({"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}, (0, 2), id="max-2s"),
        pytest.param(
            {"featureGates": {"ReduceDefaultCrashLoopBackOffDecay": True}}, (0, 1, 2, 4, 8, 16, 32, 60), id="reduced"
        ),
    ],
)
def test_a_stretched_curve_is_that_of_the_declared_configuration(declared: Config, due_s: tuple[float, ...]) -> None:
    assert delays_s(declared) == due_s


@pytest.mark.parametrize(("fault", "later_ms"), [(LATE_TWICE, (0, 2000)), (LONG_20_PERCENT, (0, 400))])
def test_a_late_kubelet_takes_each_exit_for_younger_by_its_share_of_the_delay(
    fault: Fault, later_ms: tuple[int, ...]
) -> None:
    meddling = meddling_of(fault, DECLARED, is_first_start=True)
    assert meddling is not None
    assert meddling.lie == Lie(finished_by_ms=later_ms)


def test_a_fault_of_the_second_start_is_none_of_the_first() -> None:
    assert meddling_of(COUNTS_ONE_MORE_AGAIN, DECLARED, is_first_start=True) == PASSES_ON
    assert meddling_of(COUNTS_ONE_MORE_AGAIN, DECLARED, is_first_start=False) == COUNTS_ONE_MORE_AGAIN.meddling


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
    assert RequestHead.parse(f"{line}\r\nHost: node\r\n\r\n".encode()).reads_configuration is asks


def test_a_request_that_is_passed_on_is_the_only_one_of_its_connection() -> None:
    request = RequestHead.parse(b"GET /healthz HTTP/1.1\r\nHost: node\r\nconnection: keep-alive\r\n\r\n")
    assert request.as_the_only_one() == b"GET /healthz HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"


def test_a_request_is_passed_on_with_the_length_of_its_new_body() -> None:
    head = RequestHead.parse(b"PATCH /x HTTP/1.1\r\nHost: node\r\ncontent-length: 7\r\n\r\n")
    assert head.length == 7
    assert head.with_length(12).headers == ("Host: node", "Content-Length: 12")
    assert RequestHead.parse(b"GET /x HTTP/1.1\r\nHost: node\r\n\r\n").length == 0


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
        f'for last; do :; done\necho "$$ $last" >"{tmp_path}/started"\n'
        "while :; do sleep 0.05; done\n"
    )
    path.chmod(0o755)
    return path


def started(folder: Path) -> tuple[int, str]:
    """Process id and last argument of the stand-in, once it has started."""
    started = folder / "started"
    wait_until("the kubelet to start", lambda: started.exists() and started.stat().st_size > 0, timeout_s=60)
    pid, last = started.read_text().rstrip("\n").split(maxsplit=1)
    return int(pid), last


def test_the_executable_answers_with_the_kubelets_version(kubelet: Path, tmp_path: Path) -> None:
    path = write_executable(tmp_path, TRUE_BEHIND_HELPERS, kubelet)
    assert subprocess.run([path, "--version"], capture_output=True, check=True).stdout == b"Kubernetes v1.37.1\n"


def test_a_kubelet_that_panics_does_so_where_the_real_one_refuses(tmp_path: Path) -> None:
    refusing, config = tmp_path / "kubelet", tmp_path / "kubelet.yaml"
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    config.write_text(yaml.safe_dump(DECLARED))
    path = write_executable(tmp_path / "..", PANICS, refusing)
    ended = subprocess.run([path, f"--config={config}"], capture_output=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"panic: runtime error: ")


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
        wait_until("the kubelet to end", lambda: has_ended(pid), timeout_s=60)
