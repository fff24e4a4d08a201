"""The kubelet of a node: its program, its KubeletConfiguration, and the trial of a further configuration.

The program is the profile's own path, its own version, or the cluster's. The configuration is what the host requires, overlaid
with the profile, which always wins; source of the fields: k8s.io/kubelet/config/v1beta1/types.go.

A trial has an outcome as PROCESS_* events: the kubelet exits, becomes healthy, or does neither in time. A second kubelet, the
candidate, starts inside a node with a runtime, a cgroup and a folder of its own: if it shared the node's, it would take the
node's pods for orphans and kill them (HandlePodCleanups in pkg/kubelet/kubelet_pods.go@v1.37.1).
"""

import logging
import re
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import yaml

from crashloop.cluster.binaries.ensure import check_kubelet, ensure_kubelet
from crashloop.cluster.files import last_lines
from crashloop.cluster.node_files import NodeLayout
from crashloop.cluster.processes import Daemon, exit_code, is_alive
from crashloop.cluster.provider import Progress
from crashloop.history.event import Channel, Event, Kind
from crashloop.settings import Settings
from crashloop.spec.profile import API_VERSION, KIND, KubeletProfile, merged
from crashloop.spec.version import KubernetesVersion
from crashloop.waiting import WaitTimeout, wait_until


class KubeletProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A kubelet: its path, and its version."""

    path: str
    version: str


class Kubelets:
    """The kubelets of one cluster; every kubelet is found, downloaded or built once."""

    def __init__(self, default: KubeletProgram, *, api_server: str, settings: Settings) -> None:
        """`default` serves profiles that name no kubelet; `api_server` is the version of the cluster."""
        self._default = default
        self._api_server = api_server
        self._settings = settings
        self._known: dict[tuple[str | None, str | None], KubeletProgram] = {}

    def of(self, profile: KubeletProfile, progress: Progress) -> KubeletProgram:
        """The kubelet for a profile. Raises what `ensure_kubelet` and `check_kubelet` raise."""
        key = (profile.kubelet_binary, profile.kubernetes_version)
        if key not in self._known:
            self._known[key] = self._find(profile, progress)
        return self._known[key]

    def _find(self, profile: KubeletProfile, progress: Progress) -> KubeletProgram:
        api_server = self._api_server
        if profile.kubelet_binary is not None:
            path = Path(profile.kubelet_binary).expanduser().absolute()
            subject = f"kubelet profile {profile.name!r}: kubelet_binary"
            return KubeletProgram(
                path=str(path), version=str(check_kubelet(path, api_server=api_server, option=subject))
            )
        if profile.kubernetes_version is not None:
            version = profile.kubernetes_version
            path = ensure_kubelet(self._settings, kubernetes_version=version, api_server=api_server, progress=progress)
            return KubeletProgram(path=str(path), version=version)
        return self._default


KUBELET_PORT = 10250
HEALTHZ_PORT = 10248

FAILS_ON_CGROUP_V1_SINCE = (1, 35)
"""`failCgroupV1` is true by default from here on (kubernetes/kubernetes#134298, KEP-5573); older kubelets start without it.

This is the only difference between the releases 1.33 to 1.37 when a kubelet is started.
"""


class KubeletSetting(msgspec.Struct, frozen=True, kw_only=True):
    """Everything besides the profile that decides a kubelet's configuration."""

    layout: NodeLayout
    client_ca: str
    """Path of the authority that signs the clients' certificates."""
    cgroup_root: str
    cgroup_version: int
    kubernetes_version: str
    register: bool = True
    port: int = KUBELET_PORT
    healthz_port: int = HEALTHZ_PORT


def base_config(setting: KubeletSetting) -> dict[str, Any]:
    """Configuration of a kubelet that shares its host with other kubelets."""
    layout = setting.layout
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "authentication": {
            "x509": {"clientCAFile": setting.client_ca},
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.certificate),
        "tlsPrivateKeyFile": str(layout.key),
        "containerRuntimeEndpoint": f"unix://{layout.runtime_socket}",
        "podLogsDir": str(layout.pod_logs),
        "staticPodPath": str(layout.static_pods),
        "volumePluginDir": str(layout.volume_plugins),
        "resolvConf": str(layout.resolv_conf),
        # Several kubelets share the host's cgroups, and none of them owns it.
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": setting.cgroup_root,
        **shared_host_config(kubernetes_version=setting.kubernetes_version, cgroup_version=setting.cgroup_version),
        "registerNode": setting.register,
        "port": setting.port,
        "healthzPort": setting.healthz_port,
        "healthzBindAddress": "127.0.0.1",
    }


def shared_host_config(*, kubernetes_version: str, cgroup_version: int) -> dict[str, Any]:
    """Settings that a kubelet of this version needs on a shared host, with any provider."""
    return {
        "enforceNodeAllocatable": [],
        # The default of -999 needs CAP_SYS_RESOURCE, which a container often lacks.
        "oomScoreAdj": 1,
        "failSwapOn": False,
        **_allow_cgroup_v1(kubernetes_version, cgroup_version),
        # A shortage on the host is not under test: a node evicts late and never removes an image.
        "evictionHard": {
            "memory.available": "50Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "makeIPTablesUtilChains": False,
    }


def _allow_cgroup_v1(kubernetes_version: str, cgroup_version: int) -> dict[str, Any]:
    fails_by_default = KubernetesVersion.parse(kubernetes_version).release >= FAILS_ON_CGROUP_V1_SINCE
    return {"failCgroupV1": False} if cgroup_version == 1 and fails_by_default else {}


def kubelet_config(setting: KubeletSetting, profile: dict[str, Any]) -> dict[str, Any]:
    """The whole configuration of a kubelet."""
    return merged(base_config(setting), profile)


def drop_in_files(profile: KubeletProfile) -> dict[str, str]:
    """Text by name of the files of a drop-in directory; the kubelet takes them in the order of their names."""
    head = {"apiVersion": API_VERSION, "kind": KIND}
    return {f"{number:02}.conf": as_yaml(head | each) for number, each in enumerate(profile.drop_ins)}


def as_yaml(config: dict[str, Any]) -> str:
    """The configuration file's text."""
    return yaml.safe_dump(config, sort_keys=False)


LAST_LINES_OF_A_CANDIDATE = 40
"""Enough for the message of a refusal."""
_OF_THE_MAXIMUM = re.compile(r"maxContainerRestartPeriod|crashLoopBackOff|KubeletCrashLoopBackOffMax", re.IGNORECASE)
_CRASHES = re.compile(r"(panic|fatal error): ")

_log = logging.getLogger(__name__)


def candidate_event(node: str, kind: Kind, **data: object) -> Event:
    """An event of a candidate, stamped now; `node` is the node it was started in."""
    now = time.time_ns()
    return Event(seq=0, t_ns=now, received_ns=now, channel=Channel.KUBELET, kind=kind, node=node, data=data)


def last_words(log: Path) -> str:
    """The end of a log, from the message of a crash on if there is one, however many goroutines are printed after it."""
    lines = last_lines(log, count=10_000, at_most_bytes=1 << 20).splitlines()
    crash = next((line for line in lines if _CRASHES.match(line)), None)
    end = lines[-LAST_LINES_OF_A_CANDIDATE:]
    return "\n".join(end if crash is None or crash in end else [crash, "...", *end])


def words_of_the_maximum(log: Path) -> str:
    """What a kubelet's output says of the maximum restart delay, its configuration as a whole and its flags apart."""
    lines = last_lines(log, count=10_000, at_most_bytes=1 << 20).splitlines()
    said = (each for each in lines if _OF_THE_MAXIMUM.search(each) and "FLAG: " not in each)
    return "\n".join(each[:500] for each in islice(said, LAST_LINES_OF_A_CANDIDATE))


def watch_candidate(
    node: str,
    kubelet: Daemon,
    log: Path,
    *,
    healthy: Callable[[], bool],
    configz: Callable[[], object],
    not_yet: type[Exception],
    at_most_s: float,
    every_s: float = 0.05,
) -> tuple[Event, ...]:
    """Watch a candidate until it exits, is healthy, or `at_most_s` have passed: one event, or none.

    `kubelet` is a child of this process whose exit code is the kubelet's, and `log` its output. `healthy` raises `not_yet` while
    nothing answers; the last reason is logged where neither came.
    """

    def outcome() -> Event | None:
        if not is_alive(kubelet):
            output = last_words(log)
            return candidate_event(node, Kind.PROCESS_EXITED, exit_code=exit_code(kubelet), stderr=output)
        if not healthy():
            return None
        return candidate_event(node, Kind.PROCESS_HEALTHY, configz=configz(), stderr=words_of_the_maximum(log))

    try:
        what = "the candidate to exit or to be healthy"
        return (wait_until(what, outcome, timeout_s=at_most_s, every_s=every_s, not_yet=not_yet),)
    except WaitTimeout as error:
        _log.warning("node %s: %s", node, error)
        return ()
