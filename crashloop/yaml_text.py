"""Files and documents that users have: read to their end if they have one, as JSON or YAML, within limits.

Theory of operation. A regular file or a pipe has an end; a device has none. JSON comes first: it may be indented with tabs, and
its parser is the faster one. YAML is resolved as sigs.k8s.io/yaml does for kubectl and kubelets. What aliases multiply, and what
is nested too deep for any object of Kubernetes, is refused before somebody walks through it. libyaml is used where PyYAML has it:
it is ten times as fast, and ends the process where a text is nested too deep. The collector of cycles rests meanwhile: it would
walk through every value again and again, and take most of the time.
"""

import base64
import codecs
import gc
import json
import math
import os
import re
import select
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email import message_from_string
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote_to_bytes

import yaml

Json = dict[str, Any]
"""An object of Kubernetes as plain data."""

MOST_BYTES = 64 * 1024 * 1024
"""All pods of 5,000 nodes are no longer."""
MOST_OF_YAML = 16 * 1024 * 1024
"""Characters. YAML takes ten times as long as JSON: so many take some 6 s."""
MOST_DEEP = 200
"""Levels of nesting; a CustomResourceDefinition has some 40."""
MOST_DIGITS = 308
"""Of a whole number; more no float surely holds."""
SILENT_S = 30.0
"""How long a pipe may have a writer that writes nothing."""


_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz", b"BZh": "bzip2"}
_TAR_AT, _TAR = 257, b"ustar"
"""POSIX.1-2001, pax, ustar interchange format."""
_LOGS = re.compile(r"^==== START logs .*?(?:^==== END logs [^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
"""Between the objects that `kubectl cluster-info dump` prints."""


class Unreadable(ValueError):
    """A file or text that cannot be taken. The message has the reason, and needs a subject."""


def text_of(path: str | Path) -> str:
    """The text of a regular file or pipe, without a byte order mark. Raises Unreadable."""
    try:
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode) or str(path) == os.devnull):
            raise Unreadable("it is no regular file and no pipe")
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            first = file.raw.read(1)  # None: there is a writer, and nothing to read yet
            if first is None and not select.select([file], [], [], SILENT_S)[0]:
                raise Unreadable(f"nothing came out of this pipe for {SILENT_S:g} s")
            os.set_blocking(file.fileno(), True)
            return text_from(file, first or b"")
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    except ValueError as error:
        raise error if isinstance(error, Unreadable) else Unreadable(f"{error}") from error


def text_from(file: BinaryIO, first: bytes = b"") -> str:
    """The same of an open file, such as standard input, of which some bytes may have been read. Raises Unreadable."""
    data = first + file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Unreadable(f"it is longer than {MOST_BYTES // 1024**2} MiB")
    packed = next((name for sign, name in _PACKED.items() if data.startswith(sign)), None)
    if data[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        packed = "tar"
    if packed is not None:
        raise Unreadable(f"it is packed ({packed}); unpack it first")
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("it is no text in UTF-8") from error
    if "\0" in text:
        raise Unreadable("it has zero bytes, so it is no text in UTF-8: UTF-16 without its mark, or cut by a full disk")
    return text


_IN_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4}\s*){6,}(?:[A-Za-z0-9+/=]{4})?\s*")
_MOST_CARRIED = 1024 * 1024
"""Bytes; no Secret is longer."""
_DATA_URL = re.compile(r"data:[^,]{0,200},")


def text_carried(value: Any) -> str:
    """The text that a value of a document stands for: itself, or what it has in a data URL (RFC 2397), in base64, or gzipped.

    As Ignition, cloud-init and Secrets keep files. Empty for what stands for no text.
    """
    if isinstance(value, str):
        head = _DATA_URL.match(value)
        data = unquote_to_bytes(value[head.end() :]) if head else value.encode(errors="replace")
        is_base64 = head[0].endswith(";base64,") if head else _IN_BASE64.fullmatch(value) is not None
    else:
        data, is_base64 = value if isinstance(value, bytes) else b"", False
    try:
        data = base64.b64decode(data) if is_base64 else data
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MOST_CARRIED)
        return data.decode()
    except (ValueError, zlib.error):
        return ""


def parts_of(text: str) -> list[str]:
    """The parts of a MIME message, as user data of machines is; another text is its own only part."""
    if not re.match(r"(MIME-Version|Content-Type):", text, re.IGNORECASE):
        return [text]
    parts = message_from_string(text).walk()
    return [text_carried(each.get_payload(decode=True)) for each in parts if not each.is_multipart()]


class _AsInGo(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Dates, times of day and `=` stay text, and an exponent makes a number."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._tags: dict[tuple[str, tuple[bool, bool]], Any] = {}

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """A text that was seen before has the tag that it had: most keys and many values recur."""
        if kind is not yaml.ScalarNode:
            return super().resolve(kind, value, implicit)
        if (value, implicit) not in self._tags:
            self._tags[value, implicit] = super().resolve(kind, value, implicit)
        return self._tags[value, implicit]

    def flatten_mapping(self, node: Any) -> None:
        """Merge keys, each key once: mappings that merge mappings would multiply."""
        before = node.value
        super().flatten_mapping(node)
        if node.value is not before:
            keyed = {
                (key.tag, key.value if isinstance(key.value, str) else id(key)): (key, each) for key, each in node.value
            }
            node.value = list(keyed.values())


_NO_TEXT = {"bool", "null", "merge"}
_AsInGo.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0].rpartition(":")[2] in _NO_TEXT]
    for first, resolvers in _AsInGo.yaml_implicit_resolvers.items()
}
_AsInGo.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(0[bB][0-1_]+|0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]*|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_AsInGo.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"([-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"),
    list("-+.0123456789"),
)


def _whole(_: _AsInGo, node: Any) -> int | str:
    """Prefixes of the base may be capitals, and that of base 8 is 0 or 0o. What is too large for a float stays text."""
    text = node.value.replace("_", "").lower().replace("0o", "0")
    if len(text) > MOST_DIGITS:
        return str(node.value)
    return int(text.replace("0", "0o", 1), 0) if re.fullmatch("[-+]?0[0-7]+", text) else int(text, 0)


def _number(loader: _AsInGo, node: Any) -> int | float | str:
    """JSON has one kind of number; what is too large for a float stays text, as in Go."""
    number: float = loader.construct_yaml_float(node)
    if not math.isfinite(number):
        return number if node.value.lstrip("+-").lower() in (".inf", ".nan") else str(node.value)
    return int(number) if number.is_integer() else number


_WORDS: dict[str, dict[str, bool | None]] = {
    "bool": {**dict.fromkeys(("y", "yes", "true", "on"), True), **dict.fromkeys(("n", "no", "false", "off"), False)},
    "null": dict.fromkeys(("", "~", "null")),
}


def _word(_: _AsInGo, node: Any) -> bool | None:
    kind = node.tag.rpartition(":")[2]
    if node.value.lower() not in _WORDS[kind]:
        raise Unreadable(f"line {node.start_mark.line + 1}: {node.value!r} is no !!{kind}")
    return _WORDS[kind][node.value.lower()]


def _bytes(loader: _AsInGo, node: Any) -> str | bytes:
    """The text that they are, if they are one."""
    data: bytes = loader.construct_yaml_binary(node)
    with suppress(UnicodeDecodeError):
        return data.decode()
    return data


def _as_written(loader: _AsInGo, node: Any) -> Any:
    """Also what a tag that nobody knows is about, and `<<`, which merges as a key only."""
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    return loader.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else str(node.value)


for _tag, _constructor in {
    **dict.fromkeys(("map", "seq", "str", "set", "omap", "pairs", "merge", "timestamp"), _as_written),
    "int": _whole,
    "float": _number,
    "bool": _word,
    "null": _word,
    "binary": _bytes,
}.items():
    _AsInGo.add_constructor(f"tag:yaml.org,2002:{_tag}", _constructor)
_AsInGo.add_constructor(None, _as_written)
_AsInGo.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))


class _Strict(_AsInGo):
    """Refuses a key that is given twice; the words are those of kubectl."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) and not key.tag.endswith(":merge") else None
            if name is not None and name in seen:
                raise Unreadable(f'line {key.start_mark.line + 1}: key "{name}" already set in map')
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


def read_yaml(text: str, *, is_strict: bool = False) -> Any:
    """The only document of a text, as plain data. Raises Unreadable."""
    read = documents(text, is_strict=is_strict)
    if len(read) > 1:
        raise Unreadable(f"it is {len(read)} documents; expected one")
    return read[0] if read else None


def documents(text: str, *, is_strict: bool = False) -> list[Any]:
    """The documents of a text: JSON, or YAML; keys are text, as they are in JSON. Raises Unreadable.

    Of a key that is given twice the last value counts, as for a kubelet that reads its configuration and for kubectl that reads
    a kubeconfig; `is_strict` refuses it, as kubectl does in a manifest.
    """
    with _no_collection():
        try:
            read, is_json = list(_json_values(text, _unique if is_strict else None)), True
        except _GivenTwice:
            raise
        except (ValueError, RecursionError):
            read, is_json = _yaml_documents(text, _Strict if is_strict else _AsInGo), False
        _check_size(read, len(text))
        return read if is_json and "\\ud" not in text.lower() else [_keyed(each) for each in read]


@contextmanager
def _no_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _json_values(text: str, hook: Callable[[list[tuple[str, Any]]], Any] | None) -> Iterator[Any]:
    """The values of a text: one, or several objects as kubectl prints them one after the other. Raises ValueError."""
    decoder = json.JSONDecoder(object_pairs_hook=hook, parse_constant=_finite, parse_float=_finite, parse_int=_integer)
    if not text.lstrip().startswith("{"):
        yield decoder.decode(text)
        return
    rest, end = _LOGS.sub("", text), 0
    while end < len(rest.rstrip()):
        value, end = decoder.raw_decode(rest, _SPACE.match(rest, end).end())  # type: ignore[union-attr]  # may be empty
        yield value


def _finite(word: str) -> float:
    """A number of JSON; YAML may read one that no float holds, and NaN, which JSON has not, as text. Raises ValueError."""
    if not math.isfinite(number := float(word)):
        raise ValueError(f"{word} is no number of JSON")
    return number


def _integer(word: str) -> int:
    """Likewise."""
    if len(word) > MOST_DIGITS:
        raise ValueError(f"{word[:9]}... is too long")
    return int(word)


_SPACE = re.compile(r"[ \t\r\n]*")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _GivenTwice(f'key "{twice}" already set in map')
    return found


class _GivenTwice(Unreadable):
    """A key, in JSON."""


def _yaml_documents(text: str, loader: type[_AsInGo]) -> list[Any]:
    if len(text) > MOST_OF_YAML:
        raise Unreadable(
            f"it is no whole JSON, and as YAML it is longer than {MOST_OF_YAML // 1024**2} MiB; give it as JSON, or in parts"
        )
    try:
        _check_depth(text)
        return list(yaml.load_all(text, Loader=loader))
    except Unreadable:
        raise
    except RecursionError as error:
        raise Unreadable(f"it is nested deeper than {MOST_DEEP} levels") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        is_at_end = mark is not None and mark.line >= text.rstrip().count("\n")
        is_at_end = is_at_end and _CUT.search(problem) is not None
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        where += "; it may have been cut off" if is_at_end else "; render the template first" if "{{" in text else ""
        raise Unreadable(f"it is neither JSON nor YAML: {problem}{where}") from error


_CUT = re.compile("end of stream|stream end|node content|expected ':'|expected ',' or")
"""What YAML lacks where a text ends too early; other faults at its end are no cuts."""


def _check_depth(text: str) -> None:
    """By the parser's events, which need no stack, where signs of nesting are as many."""
    in_a_line = max((line.count("- ") + line.count("? ") for line in text.splitlines()), default=0)
    in_brackets = text.count("[") + text.count("{") - text.count("[]") - text.count("{}")
    if in_brackets + in_a_line <= MOST_DEEP:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_AsInGo):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEEP:
            raise Unreadable(f"it is nested deeper than {MOST_DEEP} levels")


def _check_size(read: list[Any], length: int) -> None:
    """Level by level: without aliases no level has more values than the text has letters."""
    level: list[Any] = [read]
    for _ in range(MOST_DEEP + 1):
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        if not inner:
            return
        if sum(map(len, inner)) > length + 1:
            raise Unreadable("its aliases multiply what they stand for")
        level = [value for some in inner for value in some]
    raise Unreadable(f"it is nested deeper than {MOST_DEEP} levels")


def _keyed(value: Any) -> Any:
    """With keys of text, and without halves of surrogate pairs, which no output can show."""
    if isinstance(value, dict):
        return {
            _keyed(key) if isinstance(key, str) else json.dumps(key, default=str): _keyed(each)
            for key, each in value.items()
        }
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return [_keyed(each) for each in value] if isinstance(value, list) else value


class _BlockDumper(yaml.SafeDumper):
    """Writes multi-line strings as YAML blocks, so that embedded documents stay readable."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_BlockDumper.add_representer(str, _represent_text)


def block_yaml(value: Any) -> str:
    """Plain data as YAML that people read."""
    return yaml.dump(value, Dumper=_BlockDumper, sort_keys=False, width=1000)
