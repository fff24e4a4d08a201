"""docs/cli.md shows the commands as they are, with every option, example and exit code."""

import re
from typing import Annotated

import pytest
import typer

from crashloop.cli.command import Command, Example, epilog
from tools.cli_reference import DOCUMENT, commands, main, to_markdown


def test_the_page_is_current() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == to_markdown(commands()), "python -m tools.cli_reference --write"


def test_a_page_that_differs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.cli_reference.HEAD", "# Another title\n")
    assert main([]) == 1


def test_every_command_has_a_section() -> None:
    titles = re.findall(r"^## (.+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert titles == [each.words for each in commands()]
    assert {"crashloop run", "crashloop observe", "crashloop profile check", "crashloop kind build-node-image"} <= {
        *titles
    }


def test_every_option_has_a_row() -> None:
    page = DOCUMENT.read_text(encoding="utf-8")
    for each in commands():
        section = page.partition(f"## {each.words}\n")[2].partition("\n## ")[0]
        names = {parameter.opts[0] for parameter in each.command.params if parameter.param_type_name == "option"}
        rows = re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)
        shown = {name.split(" ")[0] for row in rows for name in re.split(r", |/", row)}
        assert names - shown == set(), each.words


def test_a_group_is_a_table_an_example_a_console_and_exit_codes_a_sentence() -> None:
    def bake(
        cake: Annotated[str, typer.Argument(metavar="CAKE", help="Which cake.")],
        heat: Annotated[str, typer.Option(metavar="<low|high>", help="In <oven>.", rich_help_panel="The oven")] = "low",
        plain: Annotated[bool, typer.Option("--plain", help="Without icing.")] = False,
    ) -> None:
        """Bake a cake."""

    app = typer.Typer()
    about = epilog(Example("kitchen bake sponge", "a light one"), exit_codes="0 baked, 1 burnt")
    Command(bake, {"epilog": about}).add_to(app)
    app.command("wash", help="Wash up.")(lambda: None)
    first = to_markdown(commands(app)).partition("## crashloop bake\n")[2].partition("\n## ")[0]
    assert first.splitlines()[1:] == [
        "Bake a cake.",
        "",
        "```text",
        "crashloop bake [OPTIONS] {CAKE}",
        "```",
        "",
        "| Arguments | |",
        "|---|---|",
        "| `CAKE` | Which cake. [required] |",
        "",
        "| The oven | |",
        "|---|---|",
        "| `--heat <low\\|high>` | In &lt;oven>. [default: low] |",
        "",
        "| Options | |",
        "|---|---|",
        "| `--plain` | Without icing. |",
        "",
        "```console",
        "$ kitchen bake sponge  # a light one",
        "```",
        "",
        "Exit codes: 0 baked, 1 burnt.",
    ]
