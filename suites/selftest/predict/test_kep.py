"""The KEPs' load arithmetic is computed again; where they contradict themselves that is named."""

import msgspec
import pytest

from crashloop.predict.costs import MEASURED
from crashloop.predict.kep import claims
from crashloop.predict.load import EVENT_RECORD_QPS, KUBE_API_QPS
from crashloop.predict.text import claim_rows

CLAIMS = {claim.id: claim for claim in claims()}


@pytest.mark.parametrize(
    ("name", "said", "computed"),
    [
        ("default-first-10s", 550, 550),
        ("one-second-10s", 5500, 5500),
        ("one-second-first-5min", 305, 296),
        ("one-second-each-5min", 310, 299),
        ("one-second-requests-pod", 1550, 1495),
        ("one-second-requests-node", 170_500, 164_450),
        ("one-second-requests-node-10s", 568, 170_500 / 30),
        ("default-first-10s-4603", 110, 110),
        ("reduced-first-10s", 330, 330),
        ("requests-per-restart", 1, 5),
        ("reduced-extra", 3, 3),
        ("reduced-extra-first-10s", 2, 2),
        ("quarter-extra", 5, 5),
        ("very-fast-extra", 7, 8),
        ("rapid-first-10s", 440, 550),
        ("rapid-at-cap", 440, 440),
        ("rapid-at-cap-rate", 1.4, 440 / 300),
        ("every-10s-5min", 4, 5),
        ("every-10s-30min", 10, 10),
    ],
)
def test_each_number_beside_its_own_assumptions(name: str, said: float, computed: float) -> None:
    assert CLAIMS[name].said == said
    assert CLAIMS[name].computed == pytest.approx(computed)


def test_a_number_agrees_if_and_only_if_no_contradiction_is_named() -> None:
    for claim in CLAIMS.values():
        rounded_down = int(10 * claim.computed) / 10
        assert claim.agrees == (claim.said in (claim.computed, rounded_down)), claim.id


def test_the_contradictions_are_those_of_the_checklist() -> None:
    named = {claim.contradiction[:2] for claim in CLAIMS.values() if not claim.agrees}
    assert named == {"Z5", "Z6", "Z7", "Z9"}


def test_the_maximum_of_one_second_is_tenfold() -> None:
    assert CLAIMS["one-second-10s"].computed == 10 * CLAIMS["default-first-10s"].computed


COSTS = msgspec.structs.replace(
    MEASURED, cores=2.0, api_requests=6.0, overhead_s=0.75, sustained_per_s=20.0, by_load=()
)
AT_COSTS = {claim.id: claim.measured for claim in claims(COSTS)}


def test_without_costs_nothing_is_measured() -> None:
    assert {claim.measured for claim in claims()} == {None}


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("requests-per-restart", 6),
        ("one-second-each-5min", 300 / 2 - 300 / 315.75),
        ("one-second-requests-pod", 6 * (300 / 2 - 300 / 315.75)),
        # A full node is held down by its CPU (20 restarts/s), and sends 100 requests/s of the 120.
        ("one-second-requests-node", 300 * (100 - 110 * 6 / 315.75)),
        ("one-second-requests-node-10s", 10 * (100 - 110 * 6 / 315.75)),
        # 110 free restarts in 10 s, after 0.75 s each or as the CPU allows.
        ("default-first-10s", 110 * 6),
        ("default-first-10s-4603", 110 * 6),
        # 0.75 s, then every 2 s on average: 150 by 300 s; today 4.75 by then.
        ("one-second-first-5min", 150 - 5),
        ("every-10s-5min", 5),
    ],
)
def test_measured_is_what_a_node_gives_at_those_costs(name: str, measured: float) -> None:
    assert AT_COSTS[name] == pytest.approx(measured, rel=0.002)


def test_what_the_cpu_of_a_full_node_limits_is_an_upper_bound() -> None:
    bound = {claim.id for claim in claims(COSTS) if claim.is_bound}
    assert "one-second-requests-node" in bound
    assert not bound & {"requests-per-restart", "one-second-each-5min", "every-10s-5min"}
    shown = {row[1]: row[4] for row in claim_rows(claims(COSTS))}
    assert shown["API requests of a full node with a maximum of 1 s"].startswith("≤")


def test_no_full_node_sends_more_than_its_client_rate_limits_let_through() -> None:
    for claim in claims(COSTS):
        if claim.unit == "requests/10 s":
            assert claim.measured is not None
            assert claim.measured <= 10 * (KUBE_API_QPS + EVENT_RECORD_QPS)
