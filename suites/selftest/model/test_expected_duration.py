"""How long a scenario takes until its evidence is complete."""

import pytest

from crashloop.model.prediction import expected_duration_s
from crashloop.spec.profile import MAX_PERIOD_GATE
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import (
    Container,
    Mode,
    Until,
)
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.model_inputs import V1_34, V1_37, profile, scenario


@pytest.mark.parametrize(
    ("until", "mode", "version", "expected"),
    [
        (Until(restarts={"app": 3}), Mode.NATURAL, V1_37, (33, 64)),
        (Until(restarts={"app": 3}), Mode.ANNOTATED, V1_37, (33, 52.5)),
        (Until(restarts={"app": 3}), Mode.NATURAL, V1_34, (33, 79)),
        (Until(exits={"app": 1}), Mode.NATURAL, V1_37, (1, 4)),
        (Until(at_least_s=30), Mode.NATURAL, V1_37, (30, 30)),
        (Until(restarts={"app": 9}), Mode.NATURAL, V1_37, (90, 90)),
        (Until(phase="Running"), Mode.NATURAL, V1_37, (33, 64)),
        (Until(phase="Failed"), Mode.NATURAL, V1_37, (90, 90)),
    ],
    ids=["restarts", "annotated", "polled", "exits", "at-least", "never-reached", "phase", "other-phase"],
)
def test_the_expected_duration_spans_the_fastest_and_the_slowest_right_kubelet(
    until: Until, mode: Mode, version: KubernetesVersion, expected: tuple[float, float]
) -> None:
    tried = scenario(Container(program=exits_with(1, times=3)), until=until, mode=mode)
    assert expected_duration_s(tried, profile(), version) == expected


def test_small_delays_last_as_long_as_the_poll_up_to_1_34() -> None:
    tried = scenario(Container(program=exits_with(1, times=3)), until=Until(restarts={"app": 3}))
    node = profile("1s", **{MAX_PERIOD_GATE: True})
    assert expected_duration_s(tried, node, V1_34) == (23, 51)
    assert expected_duration_s(tried, node, V1_37) == (5, 22)
