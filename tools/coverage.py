"""Which requirements are judged, and by what: docs/coverage.md, written from the catalogue, the suites and the SLO rows.

python -m tools.coverage            counts, and what disagrees; exit code 1 if anything does
python -m tools.coverage --write    write docs/coverage.md
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from crashloop.requirements import CHECKED, SLO_ROWS, Topic, load_requirements, load_topics
from crashloop.run.planning import LONGEST_WATCH_S, Declared, scope_of
from crashloop.run.selection import Citation, requirements_with_tests
from crashloop.slo.row_faults import read_rows
from crashloop.spec.plan import Judgeable
from crashloop.spec.requirement import OLDEST_RELEASE, Basis, Bound, Requirement, State
from crashloop.verdict import VerdictMode
from fixtures.requirements import declared_in
from suites import conformance

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "coverage.md"

CHECKS = "crashloop/stress/checks.py"
EVERY_POD = "crashloop/checks/everywhere.py"

SOURCES = {
    "KEP-5593": "Configure the max CrashLoopBackOff delay: https://kep.k8s.io/5593",
    "KEP-4603": "Tune CrashLoopBackOff: https://kep.k8s.io/4603",
    "KEP-5307": "Container restart rules: https://kep.k8s.io/5307",
    "KEP-5532": "Restart all containers on container exits: https://kep.k8s.io/5532",
    "Pod Lifecycle": "Kubernetes documentation: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
    "Init Containers": "Kubernetes documentation: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
    "Sidecar Containers": "Kubernetes documentation: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
    "Kubernetes 1.4 documentation": "https://kubernetes-v1-4.github.io/docs/user-guide/pod-states/",
    "Back-off algorithm article": "a description, in Japanese, of the kubelet's backoff by its source code",
    "Liveness and CPU limit article": "M. Robbins, Kubernetes Liveness Probes and CPU Limit Risks Self-Reinforcing "
    "CrashLoopBackOff, 28 March 2023",
    "`path@version`": "a file of https://github.com/kubernetes/kubernetes (client-go: its own repository) at that tag",
}
"""What the sources of the catalogue abbreviate; the words in quotes after them name a section."""


def citations() -> dict[str, tuple[Citation, ...]]:
    """All that names a requirement, tests first."""
    tests, slos = requirements_with_tests(), requirements_with_slos()
    every_pod = {
        each.id: (Citation(EVERY_POD, "every pod"),) for each in load_requirements().values() if each.everywhere
    }
    found = (tests, every_pod, slos)
    return {name: tuple(each for names in found for each in names.get(name, ())) for name in chain(*found)}


def requirements_with_slos() -> dict[str, tuple[Citation, ...]]:
    """The rows of manifests/slo and the checks of a stress run that name each requirement."""
    found: dict[str, tuple[Citation, ...]] = {name: (Citation(CHECKS, check),) for check, name in CHECKED.items()}
    for path in sorted(SLO_ROWS.glob("*.yaml")):
        for row in read_rows(path.read_text(encoding="utf-8"), name=path.name).slos:
            if row.requirement is not None:
                cited = Citation(path.relative_to(ROOT).as_posix(), row.id)
                found[row.requirement] = (*found.get(row.requirement, ()), cited)
    return found


def disagreements(requirements: dict[str, Requirement], tests: dict[str, tuple[Citation, ...]]) -> tuple[str, ...]:
    """Where the catalogue and the suites contradict each other, one sentence each."""
    return tuple(_disagreements(requirements, tests))


def too_narrow(requirements: dict[str, Requirement], declarations: Iterable[Declared]) -> Iterator[str]:
    """Requirements whose scope in the catalogue has time for none of their scenarios, one sentence each."""
    shortest: dict[str, Judgeable] = {}
    for each in sorted(declarations, key=lambda each: each.scenario.longest_s):
        shortest.setdefault(each.requirement, each.scenario)
    for identifier, scenario in shortest.items():
        scope = requirements[identifier].scope
        if scope_of(requirements[identifier], scenario) is not scope:
            yield (
                f"{identifier}: the catalogue says scope {scope}, which watches for {LONGEST_WATCH_S[scope]:g} s at most; "
                f"the shortest of its scenarios is watched for {scenario.longest_s:g} s."
            )


NO_PROMISE, OURS = "no promise", "bound: ours"


def to_markdown(topics: Iterable[Topic], tests: dict[str, tuple[Citation, ...]]) -> str:
    """docs/coverage.md."""
    topics = tuple(topics)
    lines = [
        "# Coverage",
        "",
        "<!-- Written by `python -m tools.coverage --write` from crashloop/catalogue, suites/ and manifests/slo. -->",
        "",
        "Every promise about restarts that this suite knows, and what judges it. *Judged*: a test names it, or an SLO row or a",
        "check of stress runs does. *Planned*: it can be tested, and nothing does yet.",
        "*Untestable*: it cannot be tested as it is written.",
        "*Report only*: it can never fail a run, as a SHOULD, an observation, or the arithmetic of a text.",
        "*No promise*: only the kubelet's source says so, or an article about it.",
        "*Bound: ours*: no text names the number that it is judged by.",
        "",
        *_overview(topics),
        "",
        "## Sources",
        "",
        *(f"- **{name}**: {title}" for name, title in SOURCES.items()),
    ]
    for topic in topics:
        lines += ["", f"## {topic.topic}: {topic.title}", "", *_table(topic, tests)]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.coverage", description="Coverage of the requirements.")
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    options = parser.parse_args(arguments)
    tests = citations()
    text = to_markdown(load_topics(), tests)
    found = [
        *disagreements(load_requirements(), tests),
        *too_narrow(load_requirements(), declared_in(conformance)),
    ]
    if options.write:
        DOCUMENT.write_text(text, encoding="utf-8")
    elif not DOCUMENT.is_file() or DOCUMENT.read_text(encoding="utf-8") != text:
        found.append(f"{DOCUMENT.name} is out of date; write it with --write.")
    states = Counter(requirement.state for requirement in load_requirements().values())
    shown = report_only(load_requirements().values())
    counts = f"{states[State.JUDGED]} judged, of which {shown} report only, "
    counts += ", ".join(f"{states[state]} {state}" for state in State if state is not State.JUDGED)
    sys.stdout.writelines(f"{sentence}\n" for sentence in (*found, f"requirements: {counts}"))
    return 1 if found else 0


def _disagreements(requirements: dict[str, Requirement], tests: dict[str, tuple[Citation, ...]]) -> Iterator[str]:
    for identifier, citations in tests.items():
        if identifier not in requirements:
            yield f"{identifier}: {citations[0].path} names it, but the catalogue has no such requirement."
    for identifier, requirement in requirements.items():
        named = tests.get(identifier, ())
        if requirement.state is State.JUDGED and not named:
            yield f"{identifier}: the catalogue calls it judged, but no test and no SLO names it."
        elif requirement.state is not State.JUDGED and named:
            yield f"{identifier}: the catalogue calls it {requirement.state}, but {named[0].path} names it."


def _overview(topics: tuple[Topic, ...]) -> Iterator[str]:
    yield "| Topic | Judged | of which report only | Planned | Untestable | All |"
    yield "|---|--:|--:|--:|--:|--:|"
    for topic in topics:
        yield f"| {topic.topic}: {topic.title} | {_counts(topic.requirements)} |"
    yield f"| **All** | {_counts([each for topic in topics for each in topic.requirements])} |"


def _counts(requirements: Sequence[Requirement]) -> str:
    states = Counter(each.state for each in requirements)
    counts = (states[State.JUDGED], report_only(requirements), states[State.PLANNED], states[State.UNTESTABLE])
    return " | ".join(map(str, (*counts, states.total())))


def report_only(requirements: Iterable[Requirement]) -> int:
    """How many of the judged ones can never fail a run."""
    return sum(each.state is State.JUDGED and each.mode is not VerdictMode.GATE for each in requirements)


def _table(topic: Topic, tests: dict[str, tuple[Citation, ...]]) -> Iterator[str]:
    yield "| Id | Requirement | Source | Holds for | Least evidence | Judged by |"
    yield "|---|---|---|---|---|---|"
    for requirement in topic.requirements:
        cells = (
            requirement.id,
            f"{requirement.sentence} *{requirement.note}*" if requirement.note else requirement.sentence,
            _source(requirement),
            _holds_for(requirement),
            f"{requirement.evidence} ({requirement.scope})",
            _judged_by(requirement, tests.get(requirement.id, ())),
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _source(requirement: Requirement) -> str:
    apart = [
        text
        for text, holds in ((NO_PROMISE, requirement.basis is Basis.SOURCE), (OURS, requirement.bound is Bound.OURS))
        if holds
    ]
    return f"{requirement.source} ({', '.join(apart)})" if apart else requirement.source


def _holds_for(requirement: Requirement) -> str:
    since, until = requirement.since, requirement.until
    releases = f"{since} to {until}" if until else "every release" if since == OLDEST_RELEASE else f"{since} and newer"
    return ", ".join((releases, *requirement.gates))


def _judged_by(requirement: Requirement, citations: tuple[Citation, ...]) -> str:
    if requirement.state is not State.JUDGED:
        return f"{requirement.state}: {requirement.reason}"
    return ", ".join(f"[{each.test}](../{each.path})" for each in citations)


if __name__ == "__main__":
    sys.exit(main())
