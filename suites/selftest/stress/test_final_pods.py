"""Pods of a load that must stay down: their exit requires no restart, and one all the same is unexpected."""

from pathlib import Path

import pytest

from crashloop.profiles import load_profile
from crashloop.stress.evidence_reader import read_recorded
from crashloop.stress.plan import StressPlan, plan_of
from crashloop.stress.profiles import load_stress_profile
from suites.selftest.kit.stress_kit import Folder

DOWN = ((30.0, 30.5, 7),)
UP_AGAIN = (*DOWN, (32.0, 32.5, 7), (34.0, None, 0))


def quick(version: str) -> StressPlan:
    profile = load_stress_profile("quick")
    return plan_of(profile, provider="local", kubernetes_version=version, cores=2, kubelet=load_profile)


@pytest.mark.parametrize("version", ["1.37.1", "1.34.8"], ids=["with its rule", "where rules are not heeded"])
@pytest.mark.parametrize(
    ("lives", "expected"), [(DOWN, []), (UP_AGAIN, [False, False])], ids=["stays down", "comes up again"]
)
def test_only_a_restart_that_came_is_reported_and_as_unexpected(
    tmp_path: Path, version: str, lives: tuple[tuple[float, float | None, int], ...], expected: list[bool]
) -> None:
    plan = quick(version)
    folder = Folder(tmp_path / "run", plan)
    folder.write(folder.pod("final-0-0", *lives))
    recorded = read_recorded(folder.run, plan)
    (pod,) = recorded.lifecycles
    assert [restart.expected for restart in pod.restarts] == expected
    assert recorded.lacking == ()
