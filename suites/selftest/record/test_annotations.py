"""Patches of the mode annotated come at times that no relist can be in step with, the same ones for the same scenario."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crashloop.record.interventions import Annotations
from crashloop.spec.scenario import POKE_EVERY_S

LOOK_S = 0.01


def due_s(seed: str, looks: int = 3_000) -> list[float]:
    """When patches are due for somebody who looks every 10 ms."""
    pokes = Annotations(seed, 0.0)
    return [look * LOOK_S for look in range(looks) if pokes.due(look * LOOK_S)]


@given(st.text(max_size=20))
def test_the_time_between_two_patches_is_drawn_anew_each_time(seed: str) -> None:
    least_s, most_s = POKE_EVERY_S
    periods_s = [after - before for before, after in pairwise(due_s(seed))]
    assert all(least_s - LOOK_S <= each <= most_s + LOOK_S for each in periods_s)
    assert max(periods_s) - min(periods_s) > 0.1


def test_the_same_scenario_is_patched_at_the_same_times() -> None:
    assert due_s("crashing") == due_s("crashing")
    assert due_s("crashing") != due_s("waiting")
