"""The curve that a test requires."""

from typing import Any

import pytest

from crashloop.errors import UsageError
from crashloop.model.config import Curve
from crashloop.pytest_plugin.curves import due_curve
from crashloop.spec.profile import MAX_PERIOD_GATE, REDUCED_DECAY_GATE


def test_a_kubelet_without_a_configuration_follows_upstreams_curve() -> None:
    assert due_curve("1.37.1") == Curve(10.0, 300.0)
    assert [due_curve("1.37.1").delay_s(restart) for restart in (1, 2, 3, 9)] == [0, 10, 20, 300]


def test_a_maximum_and_gates_are_a_configuration() -> None:
    assert due_curve("1.37.1", maximum="5s") == Curve(5.0, 5.0)
    assert due_curve("1.34.8", maximum="5s", gates={MAX_PERIOD_GATE: True}) == Curve(5.0, 5.0)
    assert due_curve("1.37.1", maximum="1m", gates={REDUCED_DECAY_GATE: True}) == Curve(1.0, 60.0)


def test_a_profile_is_one_too_and_takes_nothing_beside_it() -> None:
    assert due_curve("1.37.1", profile="max-2s") == due_curve("1.37.1", maximum="2s")
    with pytest.raises(UsageError, match="profile 'max-2s' has its own maximum and gates"):
        due_curve("1.37.1", profile="max-2s", maximum="3s")


def test_a_configuration_with_which_the_kubelet_does_not_start_has_no_curve() -> None:
    with pytest.raises(UsageError) as caught:
        due_curve("1.37.1", maximum="301s")
    assert "kubelet v1.37.1 does not start with that configuration" in str(caught.value)
    assert "must be set between 1s and 300s" in str(caught.value)


def test_a_misspelt_gate_is_no_configuration() -> None:
    with pytest.raises(
        UsageError, match="gate 'KubeletCrashloopBackOffMax' has no effect on restarts; expected one of Kubelet"
    ):
        due_curve("1.37.1", gates={"KubeletCrashloopBackOffMax": True})


@pytest.mark.parametrize("restart", [0, 1.5, 2.0, True, "3", None, float("nan")], ids=repr)
def test_a_restart_is_a_whole_number(restart: Any) -> None:
    with pytest.raises(ValueError, match="restarts are whole numbers from 1"):
        due_curve("1.37.1").delay_s(restart)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"version": 1.37}, "version is 1.37; expected text, in quotes"),
        ({"profile": 5}, "profile is 5; expected text"),
        ({"gates": {MAX_PERIOD_GATE: "false"}}, "expected True or False for each"),
        ({"gates": [MAX_PERIOD_GATE]}, "expected True or False for each"),
    ],
    ids=str,
)
def test_an_argument_of_another_type_is_no_configuration(arguments: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        due_curve(**arguments)
