"""Which requirements a run judges, and the tests that name each, read without importing them."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, Self

from crashloop.errors import UsageError
from crashloop.resources import SUITES
from crashloop.spec.requirement import Requirement, State


class Selection(NamedTuple):
    """Ids and topics, all of them known."""

    requirements: frozenset[str]
    topics: frozenset[str]
    """With no requirement and no topic, everything is selected."""
    skipped: frozenset[str]

    @classmethod
    def of(
        cls,
        catalogue: Mapping[str, Requirement],
        *,
        requirements: Iterable[str] = (),
        topics: Iterable[str] = (),
        skipped: Iterable[str] = (),
    ) -> Self:
        """The selection that the options make.

        Raises UsageError for an id or a topic that the catalogue does not have, and for a requirement that no test judges.
        """
        known_topics = {each.topic for each in catalogue.values()}
        chosen = frozenset(_known("--requirement", requirements, catalogue))
        for identifier in sorted(chosen):
            if catalogue[identifier].state is not State.JUDGED:
                raise UsageError(
                    f"--requirement {identifier}: no test judges it; it is {catalogue[identifier].state}.\n"
                    f"`crashloop explain {identifier}` has the reason."
                )
        return cls(
            chosen,
            frozenset(_known("--topic", topics, known_topics)),
            frozenset(_known("--skip", skipped, {*catalogue, *known_topics})),
        )

    def has(self, requirement: Requirement) -> bool:
        """Whether the requirement is selected."""
        names = {requirement.id, requirement.topic}
        wanted = not (self.requirements or self.topics) or bool(names & (self.requirements | self.topics))
        return wanted and not names & self.skipped


def _known(option: str, names: Iterable[str], known: Iterable[str]) -> Iterable[str]:
    """The names in the catalogue's spelling, or a refusal that suggests one."""
    for name in names:
        spelled = name.strip().upper()
        if spelled not in known:
            close = get_close_matches(spelled, known, n=1, cutoff=0.6)
            hint = f"did you mean {close[0]}?" if close else "`crashloop list` shows what there is."
            if "," in spelled:
                hint = f"give {option} once for each name."
            elif option == "--requirement" and any(each.startswith(f"{spelled}-") for each in known):
                hint = f"it is a topic: --topic {spelled}."
            raise UsageError(f"{option} {name!r}: the catalogue has none of that name; {hint}")
        yield spelled


DECORATOR = "requirement"


class Citation(NamedTuple):
    """A test, an SLO row or a check of a stress run that names a requirement."""

    path: str
    """Of its file, from the folder that holds the suites."""
    test: str
    """Its name."""


def requirements_with_tests(suites: Path = SUITES, *, text: str = f"@{DECORATOR}(") -> dict[str, tuple[Citation, ...]]:
    """The tests that name each requirement: `@requirement("CAP-3")` in suites/**/test_*.py, read without importing.

    Only files with that text are parsed, which takes longest: of one requirement, those that name it.
    Raises ValueError for a decorator whose id is no string literal.
    """
    found: dict[str, list[Citation]] = {}
    for path in sorted(suites.rglob("test_*.py")):
        written, shown = path.read_text(encoding="utf-8"), path.relative_to(suites.parent).as_posix()
        if text not in written:
            continue
        for node in ast.parse(written, filename=str(path)).body:
            if isinstance(node, ast.FunctionDef):
                for call in _declarations(node):
                    found.setdefault(_identifier(call, shown), []).append(Citation(shown, node.name))
    return {identifier: tuple(citations) for identifier, citations in found.items()}


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
