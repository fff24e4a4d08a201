"""Examines this host: one row per subject, with advice. `examine` gathers facts, everything else is pure."""

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from crashloop.cluster import processes
from crashloop.cluster.kind.prerequisites import DockerFacts, docker_facts, docker_problem
from crashloop.cluster.local.cgroups import cgroup_host
from crashloop.cluster.local.prerequisites import HostFacts, host_facts, problems, room
from crashloop.cluster.ownership import ClusterRecord, ClusterStore, list_clusters
from crashloop.cluster.prerequisites import CONTROL_PLANE_MEMORY, MIB, NODE_MEMORY
from crashloop.cluster.processes import process_start
from crashloop.settings import Settings, resolve_settings
from crashloop.spec.plan import Budgets
from crashloop.spec.requirement import Scope

State = Literal["ok", "warn", "fail"]

BUSY_PERCENT = 25.0
"""Share of time in which some process waited for a CPU, above which delays are late for the host's own reasons."""

CORE_S_PER_START_IN_PROCESS_STARTS = 262
"""CPU time of one container restart, as a multiple of the CPU time that starting and ending a process takes.

Measured: 110 pods at maxContainerRestartPeriod 1s saturated 2 cores at TWO_CORES_PER_S, on a host where a process
takes 0.78 ms, its parent's share included.
"""
TWO_CORES_PER_S = 9.8
CALM_SHARES = {Scope.QUICK: 0.6, Scope.FULL: 0.4, Scope.SOAK: 0.4, Scope.VERSIONS: 0.6}
"""Share of that rate at which delays stay undisturbed: the longest scenarios of a wide scope leave time for a calmer pace."""
MOST_NODES_PER_CORE = 6


class HostRow(msgspec.Struct, frozen=True, kw_only=True):
    """One subject: its state, and advice."""

    name: str
    state: State = "ok"
    value: str
    advice: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All rows, and the budgets that follow from them."""

    rows: tuple[HostRow, ...]
    budgets: Budgets

    @property
    def ok(self) -> bool:
        """Whether the provider `local` works here."""
        return all(row.state != "fail" for row in self.rows)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The gathered facts."""

    host: HostFacts
    kernel: str
    process_start_s: float
    """CPU time that starting and ending a process takes."""
    cpu_pressure: str
    """Text of /proc/pressure/cpu; empty if the kernel has none."""
    security_modules: str
    """Names of the kernel's security modules, with commas; empty if it does not show them."""
    selinux_enforces: bool
    forward_policy: str
    """Policy of the host's FORWARD chain; empty if it cannot be read."""
    docker: DockerFacts
    clusters: tuple[ClusterRecord, ...] | None
    """None if this user may not read the state folder."""


def examine(settings: Settings | None = None) -> Report:
    """Examine this host; takes less than a second."""
    paths = (settings or resolve_settings()).paths
    state_dir = paths.state_dir
    return report(
        Findings(
            host=host_facts(state_dir, paths.cache_dir),
            kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
            process_start_s=process_start().cpu_s,
            cpu_pressure=_text_of(Path("/proc/pressure/cpu")),
            security_modules=_text_of(Path("/sys/kernel/security/lsm")).strip(),
            selinux_enforces=_text_of(Path("/sys/fs/selinux/enforce")).strip() == "1",
            forward_policy=_forward_policy(),
            docker=docker_facts(),
            clusters=_clusters(state_dir),
        )
    )


def _text_of(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # no such file, or a kernel that was started without what it shows
        return ""


def _clusters(state_dir: Path) -> tuple[ClusterRecord, ...] | None:
    try:
        return list_clusters(ClusterStore(state_dir))
    except PermissionError:
        return None


def report(findings: Findings) -> Report:
    """Rows and budgets. Pure."""
    budgets = budgets_of(
        findings.host.cores, findings.host.memory_available, findings.process_start_s, CALM_SHARES[Scope.QUICK]
    )
    failed = {problem.subject: problem.text for problem in problems(findings.host, nodes=budgets.live_nodes)}
    rows = [
        *(row for row in _requirements(findings) if row.name not in failed),
        *(HostRow(name=subject, state="fail", value="missing", advice=text) for subject, text in failed.items()),
        *_circumstances(findings),
        HostRow(
            name="container starts",
            value=f"about {budgets.container_starts_per_s:g} per second leave delays undisturbed",
        ),
        HostRow(name="live nodes", value=f"{budgets.live_nodes} at once"),
        _docker(findings.docker),
    ]
    return Report(rows=tuple(rows), budgets=budgets)


def measured_budgets(scope: Scope) -> Budgets:
    """What this host can carry at once in a run of that scope; takes less than a tenth of a second."""
    return budgets_of(*room(cgroup_host()), process_start().cpu_s, CALM_SHARES[scope])


def budgets_elsewhere(scope: Scope, live_pods: int) -> Budgets:
    """Of nodes that exist already: nobody knows what else they carry, so that they are asked for no more than two cores can."""
    return Budgets(container_starts_per_s=round(TWO_CORES_PER_S * CALM_SHARES[scope], 1), live_pods=live_pods)


def budgets_of(cores: int, memory_available: int, process_start_s: float, share: float) -> Budgets:
    """The host's capacity: container starts by number and speed of its cores, nodes by memory in bytes. Pure."""
    saturated = cores / (CORE_S_PER_START_IN_PROCESS_STARTS * process_start_s)
    by_memory = (memory_available - CONTROL_PLANE_MEMORY) // NODE_MEMORY
    return Budgets(
        container_starts_per_s=max(round(saturated * share, 1), 0.1),
        live_nodes=max(min(by_memory, MOST_NODES_PER_CORE * cores), 1),
    )


def _requirements(findings: Findings) -> Iterator[HostRow]:
    host = findings.host
    yield HostRow(name="system", value=findings.kernel)
    yield HostRow(name="rights", value="root")
    missing = f"apt-get will install {', '.join(host.missing_tools)}" if host.missing_tools else "complete"
    yield HostRow(name="tools", value=missing)
    if host.root:  # nobody else can try
        yield HostRow(name="namespaces", value="can be made")
        yield HostRow(name="network links", value="can be made")
    yield HostRow(name="cache folder", value="programs run from it")
    yield HostRow(name="overlay", value="in the kernel, or a module of it")
    yield HostRow(name="state folder", value=f"on {host.state_filesystem or 'an unknown file system'}")
    yield HostRow(name="cgroups", value=f"v{host.cgroups.version}")
    yield HostRow(name="/dev/kmsg", value="there")
    yield HostRow(name="memory", value=f"{host.memory_available // MIB} MiB available")
    yield HostRow(name="disk", value=f"{host.state_free // MIB} MiB free")
    yield HostRow(name="inotify", value=f"{host.inotify.used} instances in use, {host.inotify.possible} possible")


def _circumstances(findings: Findings) -> Iterator[HostRow]:
    host = findings.host
    few = "Verdicts on delays are more reliable with 2 cores or more." if host.cores < 2 else ""
    yield HostRow(name="cores", state="warn" if few else "ok", value=str(host.cores), advice=few)
    yield _pressure(findings.cpu_pressure)
    if findings.selinux_enforces:
        yield HostRow(
            name="security modules",
            state="warn",
            value="SELinux enforces",
            advice="No run on such a host was seen. If containers do not start, try `setenforce 0` for the time of a run.",
        )
    elif findings.security_modules:
        yield HostRow(name="security modules", value=findings.security_modules)
    if findings.forward_policy == "DROP":
        yield HostRow(
            name="forwarding",
            value="iptables' FORWARD policy is DROP; it does not affect nodes of the provider local",
        )
    if findings.clusters is None:
        yield HostRow(
            name="clusters",
            state="warn",
            value="cannot be listed by this user",
            advice="Run as root, or set CRASHLOOP_STATE_DIR to a folder of your own.",
        )
    left = [each.name for each in findings.clusters or () if not each.owner_alive and not each.kept]
    if left:
        yield HostRow(
            name="clusters",
            state="warn",
            value=f"left behind: {', '.join(left)}",
            advice="The next start removes them, and so does `crashloop down --all`.",
        )


def _pressure(text: str) -> HostRow:
    for line in text.splitlines():
        kind, *fields = line.split()
        if kind == "some":
            waiting = float(dict(field.split("=") for field in fields)["avg10"])
            busy = waiting > BUSY_PERCENT
            advice = "Other programs take the CPU; late delays will be INCONCLUSIVE. End them, or wait." if busy else ""
            return HostRow(
                name="pressure",
                state="warn" if busy else "ok",
                value=f"{waiting:g} % of the last 10 s some process waited for a CPU",
                advice=advice,
            )
    return HostRow(
        name="pressure",
        state="warn",
        value="not reported by this kernel (no /proc/pressure/cpu)",
        advice="Only the recorder's heartbeat detects stalls of the host.",
    )


def _docker(facts: DockerFacts) -> HostRow:
    """For the provider `kind`; `local` needs no Docker."""
    problem = docker_problem(facts)
    if problem is None:
        return HostRow(name="docker", value=f"{facts.server} at {facts.address}, for --provider kind")
    return HostRow(name=problem.subject, state="warn", value="none for --provider kind", advice=problem.text)


def _forward_policy() -> str:
    if shutil.which("iptables") is None:
        return ""
    try:
        rules = processes.run(["iptables", "-S", "FORWARD"], describe="iptables -S FORWARD", timeout_s=10)
    except processes.CommandFailed:
        return ""
    return next((line.split()[-1] for line in rules.splitlines() if line.startswith("-P FORWARD")), "")
