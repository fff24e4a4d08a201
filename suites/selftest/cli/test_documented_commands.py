"""Every command that README and docs show is one that exists, with options that it has."""

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from crashloop.cli import app

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
TO_PYTEST = ("run",)
"""Commands that hand their options on to pytest."""


def shown(page: Path) -> Iterator[list[str]]:
    """The commands of a page's consoles, as words."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                words = shlex.split(line[2:], comments=True)
                yield words[3:] if words[:2] == ["taskset", "--cpu-list"] else words


COMMANDS = list(
    {f"{page.relative_to(ROOT)}: {' '.join(words)}": words for page in PAGES for words in shown(page)}.items()
)


def of(program: str) -> list[tuple[str, list[str]]]:
    return [(where, words[1:]) for where, words in COMMANDS if words[0].rpartition("/")[2] == program]


def test_pages_show_nothing_but_programs_of_this_project() -> None:
    programs = {words[0].rpartition("/")[2] for _, words in COMMANDS}
    assert programs <= {
        "crashloop",
        "pytest",
        "make",
        "python",
        "eval",
        "kubectl",
        "crictl",
        "docker",
        "pip",
        "promtool",
        "base-image",
    }
    assert {"crashloop", "pytest", "make"} <= programs


@pytest.mark.parametrize(("where", "words"), of("python"), ids=[where for where, _ in of("python")])
def test_a_module_that_is_run_is_one_of_this_project(where: str, words: list[str]) -> None:
    option, module, *_ = words
    assert option == "-m", where
    assert module.partition(".")[0] in ("tools", "quality", "bench", "mutants"), where
    assert importlib.util.find_spec(module) is not None, where


@pytest.mark.parametrize(("where", "words"), of("crashloop"), ids=[where for where, _ in of("crashloop")])
def test_a_command_that_is_shown_exists_and_takes_these_options(where: str, words: list[str]) -> None:
    words = list(words)
    command: Any = typer.main.get_command(app)
    context: Any = command.context_class(command)
    while hasattr(command, "get_command"):
        command = command.get_command(context, words.pop(0))
        assert command is not None, where
        context = command.context_class(command, parent=context)
    if command.name in TO_PYTEST:
        assert set(options(words)) - known_to_pytest() == set(), where
    else:
        command.make_parser(context).parse_args(words)


@pytest.mark.parametrize(("where", "words"), of("pytest"), ids=[where for where, _ in of("pytest")])
def test_pytest_is_shown_with_options_that_it_has(where: str, words: list[str]) -> None:
    assert set(options(words)) - known_to_pytest() == set(), where
    assert all((ROOT / word).exists() for word in words if word.startswith("suites/")), where


@pytest.mark.parametrize(("where", "words"), of("make"), ids=[where for where, _ in of("make")])
def test_make_is_shown_with_targets_that_it_has(where: str, words: list[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {word for word in words if re.fullmatch("[a-z-]+", word)} <= targets, where


NEEDS_NOTHING = ("predict", "profile", "list", "explain", "manifests", "status")
OF_A_CLUSTER = ("--from-cluster", "--costs")
RUNNABLE = {
    " ".join(words): list(takewhile(lambda word: word != ">", words))
    for _, words in COMMANDS
    if words[0] == "crashloop" and words[1] in NEEDS_NOTHING and not {*OF_A_CLUSTER} & {*words}
}


@pytest.mark.parametrize("words", RUNNABLE.values(), ids=list(RUNNABLE))
def test_what_a_page_shows_and_needs_nothing_answers(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("manifests").symlink_to(ROOT / "manifests")
    for name in ("kubelet.yaml", "own.yaml"):
        Path(name).write_text((ROOT / "manifests/kubelet/max-10s.yaml").read_text(encoding="utf-8"))
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == (1 if "manifests/kubelet/max-301s.yaml" in words else 0), (
        done.output
    )  # which no kubelet takes
    assert done.output.strip()


def options(words: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if re.match("--?[a-z]", word)]


def known_to_pytest() -> set[str]:
    """Every option of pytest with the conformance suite's own."""
    if not _KNOWN:
        command = [sys.executable, "-m", "pytest", "suites/conformance", "--help"]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        _KNOWN.update(re.findall(r"(?<![\w-])--?[a-z][\w-]*", told))
    return _KNOWN


_KNOWN: set[str] = set()
