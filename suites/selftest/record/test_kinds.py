"""The recorder knows every kind of scenario."""

from typing import get_args

from crashloop.record.stage import AT_ONCE, KINDS
from crashloop.spec.scenario import Scenario, StartupScenario


def test_every_kind_of_scenario_is_recorded_by_something() -> None:
    assert set(KINDS) == set(get_args(Scenario))


def test_kubelets_are_tried_two_at_a_time() -> None:
    assert AT_ONCE[StartupScenario] == 2
