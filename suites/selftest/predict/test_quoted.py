"""What pages quote of predictions by the default costs is what the command says."""

from pathlib import Path

import pytest

from crashloop.model.config import Curve
from crashloop.predict.costs import MEASURED
from crashloop.predict.kep import claims
from crashloop.predict.load import CrashLoad
from crashloop.predict.text import by_load_rows, fits_sentence, headline, predictions

ROOT = Path(__file__).parents[3]
COMMAND = "$ crashloop predict --max 10s --from 300s --nodes 500 --crashing-pods 60\n"
LOAD = CrashLoad(nodes=60, pods=1, of_nodes=500, curve=Curve(10.0, 10.0))


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/slo.md"])
def test_the_sentence_below_the_command_is_how_it_begins(page: str) -> None:
    below = " ".join(read(page).partition(COMMAND)[2].split())
    found = predictions(LOAD, MEASURED)
    assert below.startswith(f"{fits_sentence(found)} {headline(found)}")


def test_the_table_of_the_default_costs_is_that_of_the_command() -> None:
    table = read("docs/slo.md").partition("| Maximum, crashing pods |")[2].partition("\n\n")[0].splitlines()[2:]
    shown = [tuple(cell.strip() for cell in line.split("|")[2:-1]) for line in table]
    rates, _, _, *costs = zip(*by_load_rows(MEASURED), strict=True)
    assert shown == [rates, *costs]


def test_the_table_of_the_keps_claims_quotes_the_arithmetic_at_measured_costs() -> None:
    measured = {claim.id: claim.measured for claim in claims(MEASURED)}
    pod, node = measured["one-second-requests-pod"], measured["rapid-at-cap"]
    assert pod is not None
    assert node is not None
    page = read("docs/benchmark.md")
    assert f"by `crashloop predict --kep` {round(pod, -1):,.0f} for one alone" in page
    assert f"{round(node, -1):,.0f} by `crashloop predict --kep`" in page
