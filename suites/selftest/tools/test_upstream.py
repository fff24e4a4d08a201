"""The pages for upstream: they are of today's data, and say of a verdict what its run has shown."""

import shutil
from datetime import date
from pathlib import Path

import msgspec
import pytest

from crashloop.report.standing import Standing
from tools import upstream
from tools.upstream import Kep, Question, Seen, load_keps, main, pages

KEP = Kep(5593, "The maximum", (Question("Scalability", "It\n  scales.", ("CAP-3", "RESET-4", "LOAD-7"), "It does."),))


def seen(standing: Standing, deviation: str | None = None) -> Seen:
    return Seen(standing, deviation, "a-run", "1.37.1", "local", date(2026, 11, 27))


def test_the_pages_are_those_of_their_data() -> None:
    assert main([]) == 0


def test_a_page_that_is_not_is_named_with_what_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "upstream"
    shutil.copytree(upstream.FOLDER, folder)
    monkeypatch.setattr(upstream, "FOLDER", folder)
    with (folder / "kep-5593.md").open("a", encoding="utf-8") as page:
        page.write("\n")
    assert main([]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "docs/upstream: not of today's data: kep-5593.md.",
        "`python -m tools.upstream --write` writes them.",
    ]


def test_a_question_has_its_verdicts_with_the_page_of_a_finding_and_the_commands() -> None:
    known = {
        "CAP-3": seen(Standing.PASS),
        "RESET-4": seen(Standing.DEVIATION, "counter-collected-while-waiting"),
    }
    page = pages([KEP], known)["kep-5593.md"]
    told = page[page.index("## Scalability") :].splitlines()
    assert told == [
        "## Scalability",
        "",
        "> It scales.",
        "",
        "It does.",
        "",
        "| Requirement | Verdict | Run |",
        "|---|---|---|",
        "| CAP-3: A maximum below 10 s MUST lower the initial delay to that maximum. | PASS | `a-run` |",
        "| RESET-4: A container that ran for less than 10 min MUST NOT begin the curve again. | "
        "[KNOWN DEVIATION](../findings/short-run-resets.md) | `a-run` |",
        "| LOAD-7: The growth of API requests and of the kubelet's CPU at a maximum of 1 s SHOULD be reported. | "
        "not judged in these runs | |",
        "",
        "```console",
        "$ crashloop run --requirement CAP-3",
        "$ crashloop run --scope full --requirement RESET-4",
        "$ make stress-judged stress-soak",
        "```",
    ]


@pytest.mark.parametrize(
    ("standing", "numbers"),
    [
        (Standing.PASS, "1 | 1 | 0 | 0 | 0"),
        (Standing.DEVIATION, "1 | 0 | 1 | 0 | 0"),
        (Standing.INCONCLUSIVE, "1 | 0 | 0 | 1 | 0"),
    ],
)
def test_the_index_counts_a_question_by_its_worst_verdict(standing: Standing, numbers: str) -> None:
    known = {"CAP-3": seen(Standing.PASS), "RESET-4": seen(standing)}
    assert numbers in pages([KEP], known)["README.md"]


def test_a_question_names_a_requirement_or_says_why_none_answers_it() -> None:
    assert all(each.answered_by or each.answer for kep in load_keps() for each in kep.questions)


def test_a_requirement_that_the_catalogue_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "questions.yaml"
    asked = {"in": "Scalability", "asks": "It scales.", "answered_by": ["CAP-99"]}
    path.write_bytes(msgspec.yaml.encode({"keps": [{"number": 1, "title": "One", "questions": [asked]}]}))
    with pytest.raises(ValueError, match=r"questions\.yaml: the catalogue has no CAP-99\."):
        load_keps(path)
