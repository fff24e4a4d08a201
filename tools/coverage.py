"""Which requirements a test judges: docs/coverage.md, written from the catalogue and the suites.

python -m tools.coverage            counts, and what disagrees; exit code 1 if anything does
python -m tools.coverage --write    write docs/coverage.md
"""

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from crashloop.requirements import Topic, load_requirements, load_topics
from crashloop.spec.requirement import OLDEST_RELEASE, Requirement, Scope, State

ROOT = Path(__file__).parents[1]
SUITES = ROOT / "suites"
DOCUMENT = ROOT / "docs" / "coverage.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- coverage -->", "<!-- end of coverage -->"
"""What the overview stands between in the README."""

DECORATOR = "requirement"
_SCOPES = tuple(Scope)

SOURCES = {
    "KEP-5593": "Configure the max CrashLoopBackOff delay: https://kep.k8s.io/5593",
    "KEP-4603": "Tune CrashLoopBackOff: https://kep.k8s.io/4603",
    "KEP-5307": "Container restart rules: https://kep.k8s.io/5307",
    "KEP-5532": "Restart all containers on container exits: https://kep.k8s.io/5532",
    "Pod Lifecycle": "Kubernetes documentation: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
    "Kubernetes 1.4 documentation": "https://kubernetes-v1-4.github.io/docs/user-guide/pod-states/",
    "Back-off algorithm article": "a description, in Japanese, of the kubelet's backoff by its source code",
    "Liveness and CPU limit article": "M. Robbins, Kubernetes Liveness Probes and CPU Limit Risks Self-Reinforcing "
    "CrashLoopBackOff, 28 March 2023",
    "`path@version`": "a file of https://github.com/kubernetes/kubernetes (client-go: its own repository) at that tag",
}
"""What the sources of the catalogue abbreviate; the words in quotes after them name a section."""


class Citation(NamedTuple):
    """A test that names a requirement."""

    path: str
    """Of the test's file, from the folder that holds the suites."""
    test: str
    scope: Scope


def requirements_with_tests(suites: Path = SUITES) -> dict[str, tuple[Citation, ...]]:
    """The tests that name each requirement: `@requirement("CAP-3", ...)` in suites/**/test_*.py, read without importing.

    Raises ValueError for a decorator whose id is no string literal.
    """
    found: dict[str, list[Citation]] = {}
    for path in sorted(suites.rglob("test_*.py")):
        shown = path.relative_to(suites.parent).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
            if isinstance(node, ast.FunctionDef):
                for call in _declarations(node):
                    found.setdefault(_identifier(call, shown), []).append(Citation(shown, node.name, _scope(call)))
    return {identifier: tuple(citations) for identifier, citations in found.items()}


def disagreements(requirements: dict[str, Requirement], tests: dict[str, tuple[Citation, ...]]) -> tuple[str, ...]:
    """Where the catalogue and the suites contradict each other, one sentence each."""
    return tuple(_disagreements(requirements, tests))


def to_markdown(topics: Iterable[Topic], tests: dict[str, tuple[Citation, ...]]) -> str:
    """docs/coverage.md."""
    topics = tuple(topics)
    lines = [
        "# Coverage",
        "",
        "<!-- Written by `python -m tools.coverage --write` from crashloop/catalogue and suites/. -->",
        "",
        "Every promise about restarts that this suite knows, and the tests that judge it. *Judged*: a test names it.",
        "*Planned*: it can be tested, and no test does yet. *Untestable*: it cannot be tested as it is written.",
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


def in_readme(readme: str, topics: Iterable[Topic]) -> str:
    """The README with the overview as it is now. Raises ValueError if its two marks are missing."""
    before, _, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md: expected {BEGIN} and, after it, {END}")
    return "\n".join((f"{before}{BEGIN}", *_overview(tuple(topics)), f"{END}{after}"))


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.coverage", description="Coverage of the requirements.")
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md and the README's table")
    options = parser.parse_args(arguments)
    tests = requirements_with_tests()
    readme = README.read_text(encoding="utf-8")
    pages = {DOCUMENT: to_markdown(load_topics(), tests), README: in_readme(readme, load_topics())}
    found = list(disagreements(load_requirements(), tests))
    for path, text in pages.items():
        if options.write:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            found.append(f"{path.name} is out of date; write it with --write.")
    states = Counter(requirement.state for requirement in load_requirements().values())
    counts = ", ".join(f"{states[state]} {state}" for state in State)
    sys.stdout.writelines(f"{sentence}\n" for sentence in (*found, f"requirements: {counts}"))
    return 1 if found else 0


def _declarations(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call):
            named = decorator.func
            name = named.id if isinstance(named, ast.Name) else getattr(named, "attr", None)
            if name == DECORATOR:
                yield decorator


def _identifier(call: ast.Call, path: str) -> str:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    raise ValueError(f"{path}:{call.lineno}: @{DECORATOR} begins with the requirement's id as a string literal.")


def _scope(call: ast.Call) -> Scope:
    for keyword in call.keywords:
        if keyword.arg == "scope" and isinstance(keyword.value, ast.Constant):
            return Scope(str(keyword.value.value))
    return Scope.QUICK


def _disagreements(requirements: dict[str, Requirement], tests: dict[str, tuple[Citation, ...]]) -> Iterator[str]:
    for identifier, citations in tests.items():
        if identifier not in requirements:
            yield f"{identifier}: {citations[0].path} names it, but the catalogue has no such requirement."
    for identifier, requirement in requirements.items():
        named = tests.get(identifier, ())
        if requirement.state is State.JUDGED and not named:
            yield f"{identifier}: the catalogue calls it judged, but no test names it."
        elif requirement.state is not State.JUDGED and named:
            yield f"{identifier}: the catalogue calls it {requirement.state}, but {named[0].path} names it."
        elif named:
            smallest = min((each.scope for each in named), key=_SCOPES.index)
            if smallest is not requirement.scope:
                yield f"{identifier}: the catalogue says scope {requirement.scope}, its tests say {smallest}."


def _overview(topics: tuple[Topic, ...]) -> Iterator[str]:
    yield "| Topic | Judged | Planned | Untestable | All |"
    yield "|---|--:|--:|--:|--:|"
    everything: Counter[State] = Counter()
    for topic in topics:
        states = Counter(requirement.state for requirement in topic.requirements)
        everything += states
        yield f"| {topic.topic}: {topic.title} | {_counts(states)} |"
    yield f"| **All** | {_counts(everything)} |"


def _counts(states: Counter[State]) -> str:
    return " | ".join(str(count) for count in (*(states[state] for state in State), states.total()))


def _table(topic: Topic, tests: dict[str, tuple[Citation, ...]]) -> Iterator[str]:
    yield "| Id | Requirement | Source | Holds for | Least evidence | Judged by |"
    yield "|---|---|---|---|---|---|"
    for requirement in topic.requirements:
        cells = (
            requirement.id,
            f"{requirement.sentence} *{requirement.note}*" if requirement.note else requirement.sentence,
            requirement.source,
            _holds_for(requirement),
            f"{requirement.evidence} ({requirement.scope})",
            _judged_by(requirement, tests.get(requirement.id, ())),
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


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
