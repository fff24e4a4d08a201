"""Circumstances in which two runs differ: provider, versions, profiles, host."""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.comparison.side import JudgedRun, RunKey, key_of, profiles_of
from crashloop.report.results import ProfileSummary, Results, RunResults
from crashloop.report.text import config_yaml, node_facts

ABSENT = "absent"

Pair = tuple[str, str, str]
"""A subject, and its value in either run."""


class Circumstance(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between both runs."""

    subject: str
    before: str
    after: str


def circumstances(before: JudgedRun, after: JudgedRun) -> tuple[Circumstance, ...]:
    """Possible explanations of a change, the likeliest first."""
    old, new = before.results, after.results
    return differing(
        (
            *of_versions(old, new, (key_of(before), key_of(after))),
            ("suite", old.suite, new.suite),
            ("scope", old.scope, new.scope),
            *_profiles(old, new),
            *of_host(old, new),
        )
    )


def differing(pairs: Iterable[Pair]) -> tuple[Circumstance, ...]:
    """The subjects that differ."""
    return tuple(Circumstance(subject=subject, before=old, after=new) for subject, old, new in pairs if old != new)


def of_versions(before: RunResults, after: RunResults, keys: tuple[RunKey, RunKey]) -> Iterator[Pair]:
    """What ran."""
    yield "provider", before.provider, after.provider
    yield "Kubernetes", before.kubernetes_version, after.kubernetes_version
    yield "kubelet", keys[0].kubelet, keys[1].kubelet
    yield "container runtime", _said(before, "container_runtime"), _said(after, "container_runtime")
    yield "crashloop", before.crashloop_version, after.crashloop_version


def _profiles(before: Results, after: Results) -> Iterator[Pair]:
    old, new = profiles_of(before), profiles_of(after)
    for name in [*old, *(each for each in new if each not in old)]:
        yield f"profile {name}", profile_in_words(old.get(name)), profile_in_words(new.get(name))


def profile_in_words(profile: ProfileSummary | None) -> str:
    """The settings of a profile, on one line."""
    if profile is None:
        return ABSENT
    config = "; ".join(line.strip() for line in config_yaml(profile.config).splitlines())
    version = f", kubelet {profile.kubernetes_version}" if profile.kubernetes_version else ""
    binary = f", kubelet from {profile.kubelet_binary}" if profile.kubelet_binary else ""
    curve = f" ({profile.curve})" if profile.curve else ""
    return f"{config}{curve}{version}{binary}"


def of_host(before: RunResults, after: RunResults) -> Iterator[Pair]:
    """The host and nodes of a run."""
    for fact in ("kernel", "machine", "cpus", "cgroup_version"):
        yield f"host {fact.replace('_', ' ')}", _host_fact(before, fact), _host_fact(after, fact)
    yield "operating system of the nodes", _said(before, "os_image"), _said(after, "os_image")


def _host_fact(run: RunResults, fact: str) -> str:
    host = run.environment.get("host")
    return str(host.get(fact, "unknown")) if isinstance(host, dict) else "unknown"


def _said(run: RunResults, fact: str) -> str:
    """The nodes' values, without repetition."""
    return " ".join(sorted({str(node[fact]) for node in node_facts(run.environment) if fact in node})) or "unknown"
