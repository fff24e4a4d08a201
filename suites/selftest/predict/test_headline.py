"""The first sentence of a prediction names the change, the restarts, the requests, and the nearest limit.

What pages quote of predictions by the default costs is what the command says.
"""

from pathlib import Path

import msgspec
import pytest

from crashloop.model.config import DEFAULT_CURVE, REDUCED_CURVE, Curve
from crashloop.predict.costs import MEASURED
from crashloop.predict.kep import claims
from crashloop.predict.load import CrashLoad
from crashloop.predict.text import (
    by_load_rows,
    every_pod_sentence,
    fits_sentence,
    headline,
    limit_rows,
    limit_sentences,
    predictions,
)
from suites.selftest.kit.predict_kit import COSTS, ONE_SECOND

DRIVEN = msgspec.structs.replace(COSTS, sustained_per_s=9.0)
TEN_SECONDS = Curve(10.0, 10.0)
SIXTY_OF_500 = CrashLoad(nodes=60, pods=1, of_nodes=500, curve=TEN_SECONDS)


def test_a_lower_maximum_is_one_sentence() -> None:
    assert headline(predictions(SIXTY_OF_500, COSTS)) == (
        "Lowering 300 s to 10 s on 500 nodes with 60 crashing pods: 23.8 x the restarts (0.19 to 4.53 a second), "
        "+21.7 requests/s, 2.72 % of the nearest limit of the control plane (etcd, writes to its log)."
    )


@pytest.mark.parametrize(
    ("before", "now", "begin"),
    [
        (DEFAULT_CURVE, DEFAULT_CURVE, "A maximum of 300 s on 1 node with 5 crashing pods: 1 x the restarts"),
        (TEN_SECONDS, DEFAULT_CURVE, "Raising 10 s to 300 s on 1 node"),
        (DEFAULT_CURVE, REDUCED_CURVE, "Changing the curve from 10-300 s to 1-60 s on 1 node"),
        (REDUCED_CURVE, REDUCED_CURVE, "A maximum of 1-60 s on 1 node"),
    ],
)
def test_the_sentence_names_what_changes(before: Curve, now: Curve, begin: str) -> None:
    load = CrashLoad(nodes=1, pods=5, curve=now)
    assert headline(predictions(load, COSTS, before=before)).startswith(begin)


def test_a_higher_maximum_takes_requests_away() -> None:
    load = CrashLoad(nodes=1, pods=5, curve=DEFAULT_CURVE)
    assert ", -" in headline(predictions(load, COSTS, before=ONE_SECOND))


def test_beyond_the_knee_the_sentence_gives_bounds() -> None:
    text = headline(predictions(CrashLoad(nodes=1, pods=110, curve=ONE_SECOND), DRIVEN))
    assert ": ≤ " in text
    assert " to ≤ 9 a second)" in text


def test_the_worst_case_is_every_pod() -> None:
    load = msgspec.structs.replace(SIXTY_OF_500, of_pods=30)
    (text,) = every_pod_sentence(predictions(load, COSTS))
    assert text.startswith("If every pod crashes (15,000 crashing pods): 1,132 restarts/s")
    assert not list(every_pod_sentence(predictions(SIXTY_OF_500, COSTS)))


def test_rows_beyond_the_measured_rate_are_marked_as_extrapolated() -> None:
    few = predictions(SIXTY_OF_500, COSTS)
    many = predictions(msgspec.structs.replace(SIXTY_OF_500, nodes=500, pods=20), COSTS)
    assert not any("*" in cell for row in limit_rows(few) for cell in row)
    assert len(list(limit_sentences(few))) == 1
    marked = {row[0] for row in limit_rows(many) if "*" in row[2]}
    assert "etcd, writes to its log" in marked
    assert "client rate of a kubelet" not in marked
    assert "* Extrapolated" in list(limit_sentences(many))[1]
    assert "%* of the nearest limit" in headline(many)


def test_limits_that_kubernetes_does_not_set_have_no_headroom() -> None:
    rows = {row[0]: row for row in limit_rows(predictions(SIXTY_OF_500, COSTS))}
    assert rows["CPU of the API server"][3:5] == ("–", "–")
    assert rows["etcd, writes to its log"][3:5] == ("2.72 %", "36.8 x")


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
