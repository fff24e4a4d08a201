"""The tests that name each requirement, read without importing them: neither pytest nor the suites are needed."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from crashloop.resources import SUITES

DECORATOR = "requirement"


class Citation(NamedTuple):
    """A test, an SLO row or a check of a stress run that names a requirement."""

    path: str
    """Of its file, from the folder that holds the suites."""
    test: str
    """Its name."""


def requirements_with_tests(suites: Path = SUITES) -> dict[str, tuple[Citation, ...]]:
    """The tests that name each requirement: `@requirement("CAP-3")` in suites/**/test_*.py, read without importing.

    Raises ValueError for a decorator whose id is no string literal.
    """
    found: dict[str, list[Citation]] = {}
    for path in sorted(suites.rglob("test_*.py")):
        shown = path.relative_to(suites.parent).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
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
