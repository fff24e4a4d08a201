"""The steps of a load: stages of one profile that differ in the number of users of one load alone. Pure."""

import math
from collections.abc import Sequence

import msgspec

from crashloop.errors import UsageError
from crashloop.stress.costing import UNDER_LOAD
from crashloop.stress.profile import FULL, Count, Stage, StressProfile

LEAST_STEPS = 3
FINER_STEPS = 5
OPTION = "--steps"


def is_step(stage: Stage) -> bool:
    """Whether it is a stage under load, of no comparison."""
    return stage.name == UNDER_LOAD and not stage.arm


def steps_of(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages under load, in order, whatever differs between them."""
    return tuple(filter(is_step, stages))


def stepped_load(steps: Sequence[Stage]) -> str | None:
    """The load whose number of users alone differs between so many stages; None if they are no steps."""
    if len(steps) < LEAST_STEPS:
        return None
    names = {name for step in steps for name in step.users}
    differing = [name for name in names if len({step.users.get(name) for step in steps}) > 1]
    return differing[0] if len(differing) == 1 else None


def require_steps(profile: StressProfile, option: str) -> str:
    """The load whose number of users makes the steps of a profile. Raises UsageError, which names the option, without steps."""
    load = stepped_load(steps_of(profile.stages))
    if load is None:
        raise UsageError(
            f'{option}: the stages of stress profile "{profile.name}" are no steps.\n'
            f"Steps are at least {LEAST_STEPS} stages named {UNDER_LOAD} that differ in the number of users of one load, "
            "as in knee."
        )
    return load


def with_steps(profile: StressProfile, counts: Sequence[int]) -> StressProfile:
    """The profile with steps of these numbers of users in place of its own, each as long as its next larger one.

    Raises UsageError for a profile without steps.
    """
    load = require_steps(profile, OPTION)
    own = steps_of(profile.stages)
    begin = profile.stages.index(own[0])
    after = (stage for stage in profile.stages[begin:] if stage not in own)
    steps = (_step(own, load, count) for count in counts)
    return msgspec.structs.replace(profile, stages=(*profile.stages[:begin], *steps, *after))


def counts_of(text: str) -> tuple[int, ...]:
    """The numbers of `--steps`, such as "20,25,30". Raises UsageError unless they grow, and are enough."""
    numbers = text.split(",")
    counts = tuple(int(each) for each in numbers if each.strip().isdecimal())
    if len(counts) != len(numbers) or len(counts) < LEAST_STEPS or sorted(set(counts)) != list(counts):
        raise UsageError(
            f"{OPTION} {text}: expected at least {LEAST_STEPS} numbers of users, each larger than the one before, "
            "such as 20,25,30."
        )
    return counts


def finer(kept: Stage, broken: Stage, load: str, *, nodes: int = 1) -> tuple[int, ...]:
    """Steps from one that keeps the SLOs to the one that breaks one; empty if there are none between them.

    They are users of one node, of so many `nodes` over which the load is spread.
    """
    low, high = (int(stage.users.get(load, 0)) // nodes for stage in (kept, broken))
    parts = FINER_STEPS - 1
    counts = sorted({low + round(number * (high - low) / parts) for number in range(FINER_STEPS)})
    return tuple(counts) if len(counts) >= LEAST_STEPS else ()


def _step(own: Sequence[Stage], load: str, count: int) -> Stage:
    like = next((each for each in own if _users(each, load) >= count), own[-1])
    users: dict[str, Count] = {**like.users, load: count}
    return msgspec.structs.replace(like, mix=f"{count} pods", users=users)


def _users(stage: Stage, load: str) -> float:
    users = stage.users.get(load, 0)
    return math.inf if users == FULL else int(users)
