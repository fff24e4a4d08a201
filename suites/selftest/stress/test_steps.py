"""The steps of a load can be replaced by others, and the verdict on the highest rate says by which."""

import pytest

from crashloop.errors import UsageError
from crashloop.stress.highest_rate import counts_of, finer, stepped_load, with_steps
from crashloop.stress.loads import AnyLoad
from crashloop.stress.profile import FULL, Count, Stage, StressNode, StressProfile
from crashloop.stress.profiles import load_stress_profile
from suites.selftest.kit.stress_kit import CRASHERS, HEALTHY


def step(pods: int, *, of: str = "crashers") -> Stage:
    return Stage(name="storm", mix=f"{pods} pods", duration_s=10, users={of: pods})


def test_other_numbers_take_the_place_of_the_steps_and_nothing_else_changes() -> None:
    own, other = load_stress_profile("knee"), load_stress_profile("knee", steps=(20, 25, 30))
    assert [stage.label for stage in other.stages] == ["baseline", "storm, 20 pods", "storm, 25 pods", "storm, 30 pods"]
    assert [stage.users.get("crashers") for stage in other.stages] == [None, 20, 25, 30]
    assert [stage for stage in other.stages if stage in own.stages] == [own.stages[0], own.stages[3]]


def test_another_step_is_as_long_as_the_next_larger_one_of_the_profile() -> None:
    other = load_stress_profile("knee", steps=(20, 21, 40, 120))
    assert [(stage.duration_s, stage.settle_s) for stage in other.stages[1:]] == [
        (60, 8),
        (120, 30),
        (120, 30),
        (120, 30),
    ]


@pytest.mark.parametrize("profile", ["quick", "shapes", "full"])
def test_a_profile_without_steps_is_refused(profile: str) -> None:
    with pytest.raises(UsageError, match=f'--steps: the stages of stress profile "{profile}" are no steps'):
        load_stress_profile(profile, steps=(5, 10, 20))


def test_steps_of_a_profile_may_begin_without_the_load_and_end_with_a_full_node() -> None:
    users: list[dict[str, Count]] = [{}, {"crashers": 10}, {"crashers": FULL}]
    own = [Stage(name="storm", mix=str(each), duration_s=10, users={**each, "healthy": 1}) for each in users]
    loads: dict[str, AnyLoad] = {"crashers": CRASHERS, "healthy": HEALTHY}
    profile = StressProfile(nodes=(StressNode(name="storm", profile="max-1s"),), loads=loads, stages=tuple(own))
    found = with_steps(profile, (5, 20, 40))
    assert [stage.users["crashers"] for stage in found.stages] == [5, 20, 40]
    assert finer(own[0], own[1], "crashers") == (0, 2, 5, 8, 10)


def test_a_step_beyond_the_node_is_refused_like_one_of_the_file() -> None:
    with pytest.raises(UsageError, match="'storm': 251 users of 'crashers'; expected 1 to 250, or full"):
        load_stress_profile("knee", steps=(5, 10, 251))


def test_numbers_are_read_in_order() -> None:
    assert counts_of("20, 25,30") == (20, 25, 30)


@pytest.mark.parametrize("text", ["", "20", "20,25", "20,25,x", "20,25,25", "30,25,20", "20,,30,40", "-1,2,3"])
def test_numbers_that_are_no_steps_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected at least 3 numbers of users, each larger than the one before"):
        counts_of(text)


@pytest.mark.parametrize(
    ("kept", "broken", "counts"),
    [(20, 40, (20, 25, 30, 35, 40)), (5, 10, (5, 6, 7, 9, 10)), (5, 7, (5, 6, 7)), (5, 6, ())],
    ids=["a quarter each", "whole pods", "one between", "none between"],
)
def test_finer_steps_go_from_the_kept_to_the_broken_one(kept: int, broken: int, counts: tuple[int, ...]) -> None:
    assert finer(step(kept), step(broken), "crashers") == counts


def test_stages_whose_loads_differ_are_no_steps() -> None:
    assert stepped_load([step(5), step(10), step(20)]) == "crashers"
    assert stepped_load([step(5), step(10), step(20, of="others")]) is None
    assert stepped_load([step(5), step(10)]) is None
