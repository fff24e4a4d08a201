"""Documents and files that users have: what ends is read as kubectl reads it, and what does not end is refused."""

import gc
import os
import re
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.yaml_text import MOST_BYTES, MOST_OF_YAML, Unreadable, documents, read_yaml, text_of


def refused(text: str) -> str:
    with pytest.raises(Unreadable) as why:
        documents(text)
    return str(why.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10:30", "10:30"),
        ("=", "="),
        ("2026-01-02", "2026-01-02"),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        ("0x10", 16),
        ("0XAF", 175),
        ("-017", -15),
        ("0o17", 15),
        ("017", 15),
        ("0", 0),
        ("y", True),
        ("N", False),
        ("<<", "<<"),
        ("1_000", 1000),
        ("yes", True),
        ("~", None),
        ("1.2.3", "1.2.3"),
        ("-", [None]),
        ('"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        ('"\\ud83d"', "\N{REPLACEMENT CHARACTER}"),
        ("!!binary aGk=", "hi"),
        ("!!set {a, b}", {"a": None, "b": None}),
        ("!!omap [a: 1]", [{"a": 1}]),
        ("!!str {a: b}", {"a": "b"}),
        ("!Sub 5", "5"),
        ("!Ref {a: [5]}", {"a": [5]}),
        ("1e400", "1e400"),
        ("[1e400]", ["1e400"]),
        ("[NaN]", ["NaN"]),
        ("[9" + "9" * 400 + "]", ["9" + "9" * 400]),
        (f"[-{'9' * 5000}]", ["-" + "9" * 5000]),
        ("0x" + "f" * 900, "0x" + "f" * 900),
        (".5", 0.5),
    ],
)
def test_a_value_is_what_it_is_for_kubectl(text: str, value: object) -> None:
    assert documents(text) == [value]


def test_a_value_that_is_not_what_its_tag_says_is_refused() -> None:
    assert refused("a: !!null x") == "line 1: 'x' is no !!null"
    assert refused("a: !!bool x") == "line 1: 'x' is no !!bool"


def test_json_may_have_tabs_and_yaml_several_documents() -> None:
    assert documents('{\n\t"a": 1\n}') == [{"a": 1}]
    assert documents("a: 1\n---\n1: b\n") == [{"a": 1}, {"1": "b"}]
    assert documents("") == []
    with pytest.raises(Unreadable, match="it is 2 documents; expected one"):
        read_yaml("a: 1\n---\nb: 2\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb:\n  - c: 1\n    d: 2\n    c: 3\n", 'line 5: key "c" already set in map'),
        ("'a': 1\na: 2\n", 'line 2: key "a" already set in map'),
        ("1: a\n'1': b\n", 'line 2: key "1" already set in map'),
        ("---\na: 1\n---\na: 1\na: 2\n", 'line 5: key "a" already set in map'),
        ('{"a": {"b": 1,\n\t"b": 2}}', 'key "b" already set in map'),
    ],
    ids=["nested", "quoted", "number", "second document", "json"],
)
def test_a_key_that_is_given_twice_is_refused_where_kubectl_refuses_it(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(said)):
        documents(text, is_strict=True)
    assert documents(text), "the last value counts elsewhere"


def test_a_key_that_replaces_a_merged_one_is_given_once() -> None:
    text = "base: &b {a: 1, c: 1}\nx: {<<: *b, a: 2}\ny: {<<: *b, <<: *b}\n"
    assert documents(text, is_strict=True) == documents(text)


@pytest.mark.parametrize(
    "text",
    ["[package]\nname = 'x'\n", "a: b: c", "# T\n```\na: 1\n```\n", "a: 1\n}"],
    ids=["toml", "colons", "fence", "brace"],
)
def test_another_language_is_not_called_cut_off(text: str) -> None:
    assert "cut off" not in refused(text)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[" * 50 + "\n"])
def test_what_is_nested_too_deep_neither_ends_the_process_nor_has_a_traceback(opening: str) -> None:
    assert refused(opening * 100_000) == "it is nested deeper than 200 levels"


def test_what_is_nested_too_deep_by_its_indentation_is_refused() -> None:
    assert refused("\n".join(" " * level + "a:" for level in range(4000))) == "it is nested deeper than 200 levels"


def test_json_that_is_nested_too_deep_is_refused_too() -> None:
    assert refused("[" * 300 + "]" * 300) == "it is nested deeper than 200 levels"


def test_an_alias_of_itself_and_aliases_that_multiply_are_refused() -> None:
    assert refused("a: &a [*a]").endswith("recursive node (line 1, column 4)")
    names = "abcdefghij"
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{one}'] * 9)}]" for one, name in pairwise(names)]
    assert refused("\n".join(lines)) == "its aliases multiply what they stand for"


def test_mappings_that_merge_mappings_stay_as_small_as_their_keys() -> None:
    names = "abcdefghij"
    lines = ["a: &a {x: 1}"]
    lines += [f"{name}: &{name} {{<<: [{', '.join([f'*{one}'] * 9)}]}}" for one, name in pairwise(names)]
    assert documents("\n".join(lines)) == [{name: {"x": 1} for name in names}]
    assert documents("a: &a {x: 1, z: 2}\nb: {x: 3, <<: *a}\n")[0]["b"] == {"x": 3, "z": 2}


def test_the_place_of_a_fault_is_named() -> None:
    assert refused("a: b: c\nd: e\n") == (
        "it is neither JSON nor YAML: mapping values are not allowed in this context (line 1, column 5)"
    )
    assert refused('{"a": [{').endswith("; it may have been cut off")


@given(st.text() | st.text("[]{}:,&*!|>-? \n\tab<\"'"))
def test_any_text_is_documents_or_is_refused(text: str) -> None:
    with suppress(Unreadable):
        documents(text)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_of_another_editor_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "own.yaml").write_text("a: ü\r\n", encoding=encoding)
    assert documents(text_of(tmp_path / "own.yaml")) == [{"a": "ü"}]


def test_a_pipe_is_read_to_its_end_if_somebody_writes_to_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert text_of(tmp_path / "pipe") == ""
    code = "import sys; open(sys.argv[1], 'w').write('a: 1')"
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        subprocess.run([sys.executable, "-c", code, tmp_path / "pipe"], check=True, timeout=30)
        assert text_of(f"/dev/fd/{reader}") == "a: 1"
    finally:
        os.close(reader)


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/full", "/dev/random"])
def test_a_device_has_no_end(file: str) -> None:
    with pytest.raises(Unreadable, match="it is no regular file and no pipe"):
        text_of(file)


def test_an_empty_device_is_an_empty_file() -> None:
    assert text_of("/dev/null") == ""


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "long").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(Unreadable, match="it is longer than 64 MiB"):
        text_of(tmp_path / "long")


def test_a_path_that_no_system_has_is_refused() -> None:
    for path in ("x" * 5000, "a\0b"):
        with pytest.raises(Unreadable):
            text_of(path)


def test_a_long_text_is_taken_as_json_only() -> None:
    """A pod list of 20 MB is no JSON any more once a line stands before it."""
    rest = " " * MOST_OF_YAML
    assert documents(f'{{"a": 1}}{rest}') == [{"a": 1}]
    assert "as YAML it is longer than 16 MiB" in refused(f'Warning: x\n{{"a": 1}}{rest}')


def test_the_collector_of_cycles_is_as_it_was_before() -> None:
    assert gc.isenabled()
    documents("a: 1")
    with suppress(Unreadable):
        documents("a: [")
    assert gc.isenabled()


def test_empty_brackets_nest_nothing() -> None:
    assert documents("\n".join(f"k{number}: {{}}" for number in range(300)))[0]["k7"] == {}
