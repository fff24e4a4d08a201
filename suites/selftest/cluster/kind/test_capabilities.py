"""docs/providers.md names the capabilities that a cluster of kind lacks, all of them and no other."""

import re
from pathlib import Path

from crashloop.cluster.kind.cluster import BEYOND, IN_REACH

DOCUMENT = Path(__file__).parents[4] / "docs" / "providers.md"
ROW = re.compile(r"^\| (?P<names>`[^|]+`) \| (?P<says>\w+)", re.MULTILINE)


def test_the_documentation_names_what_kind_lacks() -> None:
    _, _, rest = DOCUMENT.read_text(encoding="utf-8").partition("| Capability | on `kind` |")
    table, _, _ = rest.partition("\n\n")
    says = {name: row["says"] for row in ROW.finditer(table) for name in re.findall(r"`([\w-]+)`", row["names"])}
    assert {name for name, answer in says.items() if answer == "no"} == {each.value for each in BEYOND}
    assert {name for name, answer in says.items() if answer == "if"} == {each.value for each in IN_REACH}
