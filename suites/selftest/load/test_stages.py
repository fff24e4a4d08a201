"""Which stage of a load is on: given the time and the number of users, the clock goes on as planned, or in spite of it all."""

from collections.abc import Sequence

from crashloop.stress.profile import Stage
from load.stages import COMES_WITHIN_S, StageClock, WantedUsers

S = 1_000_000_000
STORM = Stage(name="storm", duration_s=10, users={"crashers": 4, "healthy": 1}, spawn_per_s=5, settle_s=2)
CALM = Stage(name="calm", duration_s=3, users={"healthy": 1}, spawn_per_s=5, settle_s=0)


def clock(*stages: Stage) -> StageClock:
    return StageClock(stages, drain_within_s=20)


def marks(clock: StageClock) -> list[tuple[int, str, int]]:
    """Index, what, and the second."""
    return [(mark.index, mark.what, mark.t_ns // S) for mark in clock.marks]


def run(clock: StageClock, users: Sequence[int]) -> list[WantedUsers | None]:
    """One tick a second with so many users."""
    return [clock.tick(now_ns=second * S, users=number) for second, number in enumerate(users)]


def test_a_stage_wants_its_users_until_it_has_lasted_and_then_none() -> None:
    wanted = run(clock(STORM), [0] + [5] * 14)
    assert wanted[0] == WantedUsers({"crashers": 4, "healthy": 1}, 5)
    assert wanted[12] == wanted[0]
    assert wanted[13] == WantedUsers({}, 100)


def test_what_is_measured_begins_when_all_users_have_settled() -> None:
    stages = clock(STORM)
    run(stages, [0, 3, 5] + [5] * 12 + [0])
    assert marks(stages) == [(0, "begin", 0), (0, "measure", 4), (0, "drain", 14), (0, "end", 15)]


def test_the_next_stage_begins_once_no_user_is_left() -> None:
    stages = clock(CALM, STORM)
    wanted = run(stages, [0, 1, 1, 1, 1, 1, 0, 0])
    assert marks(stages) == [
        (0, "begin", 0),
        (0, "measure", 1),
        (0, "drain", 4),
        (0, "end", 6),
        (1, "begin", 6),
    ]
    assert wanted[4] == WantedUsers({}, 100)
    assert wanted[6] == WantedUsers({"crashers": 4, "healthy": 1}, 5)


def test_a_stage_that_does_not_get_its_users_measures_with_those_it_has() -> None:
    stages = clock(STORM)
    late_s = int(1 + COMES_WITHIN_S) + 1
    run(stages, [0] + [3] * (late_s + 3))
    assert marks(stages)[:2] == [(0, "begin", 0), (0, "measure", late_s + 2)]
    assert stages.marks[1].users == 3


def test_a_drain_that_hangs_ends_all_the_same() -> None:
    stages = clock(CALM)
    wanted = run(stages, [0] + [1] * 30)
    assert marks(stages)[-1] == (0, "end", 25)
    assert wanted[-1] is None


def test_after_the_last_stage_nothing_is_wanted() -> None:
    stages = clock(CALM)
    assert run(stages, [0, 1, 1, 1, 1, 0, 0])[-2:] == [None, None]
    assert stages.stage is None


AS_PLACED = Stage(name="calm", duration_s=3, users={"healthy": 1}, settle_s=0, washout_s=2)
EXCHANGED = Stage(name="calm", duration_s=3, users={"healthy": 1}, settle_s=0, exchanged=("a", "b"))


def test_a_wash_out_passes_without_load_before_its_stage() -> None:
    stages = clock(AS_PLACED)
    wanted = run(stages, [0, 0, 0, 1])
    assert wanted[:3] == [WantedUsers({}, 100), WantedUsers({}, 100), WantedUsers({"healthy": 1}, 5)]
    assert marks(stages) == [(0, "begin", 2), (0, "measure", 3)]


def test_a_stage_in_which_arms_change_places_waits_until_it_is_prepared() -> None:
    stages = clock(CALM, EXCHANGED, EXCHANGED)
    run(stages, [0, 1, 1, 1, 1, 0, 0, 0, 0])
    assert marks(stages)[-1] == (0, "end", 5)
    stages.tick(now_ns=9 * S, users=0, prepared=1)
    assert marks(stages)[-1] == (1, "begin", 9)


def test_a_stage_with_the_places_of_the_one_before_waits_for_nobody() -> None:
    stages = clock(EXCHANGED, EXCHANGED)
    stages.tick(now_ns=0, users=0, prepared=0)
    run(stages, [0, 1, 1, 1, 1, 0, 0])
    assert (1, "begin", 5) in marks(stages)
