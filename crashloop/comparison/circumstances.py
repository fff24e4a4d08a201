"""In what two runs differ before anything was judged: provider, versions, profiles, host."""

from collections.abc import Iterator

import msgspec

from crashloop.comparison.side import JudgedRun, key_of, node_facts, profiles_of
from crashloop.report.results import ProfileSummary, Results
from crashloop.report.view import config_yaml

ABSENT = "absent"


class Circumstance(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was not the same in both runs."""

    subject: str
    before: str
    after: str


def circumstances(before: JudgedRun, after: JudgedRun) -> tuple[Circumstance, ...]:
    """What may explain a change, the most telling first."""
    pairs = (
        *_versions(before, after),
        *_profiles(before.results, after.results),
        *_host(before.results, after.results),
    )
    return tuple(Circumstance(subject=subject, before=old, after=new) for subject, old, new in pairs if old != new)


def _versions(before: JudgedRun, after: JudgedRun) -> Iterator[tuple[str, str, str]]:
    old, new = before.results, after.results
    yield "provider", old.provider, new.provider
    yield "Kubernetes", old.kubernetes_version, new.kubernetes_version
    yield "kubelet", key_of(before).kubelet, key_of(after).kubelet
    yield "container runtime", _said(old, "container_runtime"), _said(new, "container_runtime")
    yield "suite", old.suite, new.suite
    yield "scope", old.scope, new.scope
    yield "crashloop", old.crashloop_version, new.crashloop_version


def _profiles(before: Results, after: Results) -> Iterator[tuple[str, str, str]]:
    old, new = profiles_of(before), profiles_of(after)
    for name in [*old, *(each for each in new if each not in old)]:
        yield f"profile {name}", _worded(old.get(name)), _worded(new.get(name))


def _worded(profile: ProfileSummary | None) -> str:
    """All of a profile that a kubelet follows, on one line."""
    if profile is None:
        return ABSENT
    config = "; ".join(line.strip() for line in config_yaml(profile).splitlines())
    version = f", kubelet {profile.kubernetes_version}" if profile.kubernetes_version else ""
    binary = f", kubelet from {profile.kubelet_binary}" if profile.kubelet_binary else ""
    curve = f" ({profile.curve})" if profile.curve else ""
    return f"{config}{curve}{version}{binary}"


def _host(before: Results, after: Results) -> Iterator[tuple[str, str, str]]:
    for fact in ("kernel", "machine", "cpus", "cgroup_version"):
        yield f"host {fact.replace('_', ' ')}", _host_fact(before, fact), _host_fact(after, fact)
    yield "operating system of the nodes", _said(before, "os_image"), _said(after, "os_image")


def _host_fact(results: Results, fact: str) -> str:
    host = results.environment.get("host")
    return str(host.get(fact, "unknown")) if isinstance(host, dict) else "unknown"


def _said(results: Results, fact: str) -> str:
    """What the nodes say, each answer once."""
    return " ".join(sorted({str(node[fact]) for node in node_facts(results) if fact in node})) or "unknown"
