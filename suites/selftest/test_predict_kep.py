"""The KEPs' load arithmetic is computed again; where they contradict themselves that is named."""

import pytest

from crashloop.predict.kep import claims

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
