"""A configuration matches a profile by its maximum delay and by every gate that bears on restarts."""

from typing import Any

import pytest

from crashloop.spec.profile import MAX_PERIOD_GATE, REDUCED_DECAY_GATE, KubeletProfile, matches_profile

ON = {MAX_PERIOD_GATE: True}
STOCK = KubeletProfile(name="stock")


def max_2s(gates: dict[str, bool]) -> KubeletProfile:
    return KubeletProfile(name="max-2s", config=configz("2s", gates))


def configz(maximum: str | None, gates: dict[str, bool] | None = None) -> dict[str, Any]:
    period = {} if maximum is None else {"crashLoopBackOff": {"maxContainerRestartPeriod": maximum}}
    return period | ({"featureGates": gates} if gates else {})


@pytest.mark.parametrize(
    ("effective", "matches"),
    [
        (configz("2s", ON), True),
        (configz("2000ms", ON | {"Other": False}), True),
        (configz("5m0s", ON), False),
        (configz("2s", {MAX_PERIOD_GATE: False}), False),
        (configz("2s"), None),
        (configz("2s", ON | {REDUCED_DECAY_GATE: True}), None),
        (configz(None, ON), False),
        (configz("two", ON), False),
    ],
    ids=[
        "as-set",
        "spelt-otherwise",
        "other-maximum",
        "other-gate",
        "silent-about-the-gate",
        "another-gate-of-restarts",
        "maximum-missing",
        "no-duration",
    ],
)
def test_a_configuration_matches_by_maximum_and_gates(effective: dict[str, Any], matches: bool | None) -> None:
    assert matches_profile(effective, max_2s(ON)) is matches


def test_a_profile_that_sets_nothing_is_upstream_s_default() -> None:
    assert matches_profile(configz("5m0s"), STOCK) is True
    assert matches_profile({}, STOCK) is True
    assert matches_profile(configz("10s"), STOCK) is False


@pytest.mark.parametrize(("default", "matches"), [(True, True), (False, False)], ids=["on", "off"])
def test_the_default_of_the_release_stands_for_a_gate_that_one_side_leaves_out(default: bool, matches: bool) -> None:
    defaults = {MAX_PERIOD_GATE: default}
    assert matches_profile(configz("2s"), max_2s(ON), defaults=defaults) is matches
    assert matches_profile(configz("2s", ON), max_2s({}), defaults=defaults) is matches


def test_a_gate_without_a_default_leaves_the_answer_open() -> None:
    assert matches_profile(configz("2s", ON), max_2s(ON | {"Other": True}), defaults=ON) is None
