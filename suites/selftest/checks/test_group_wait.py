"""How long a group of pods waits for the one of them that fails, on two curves."""

from typing import Any

import msgspec

from crashloop.checks.comparisons import check_group_wait
from crashloop.checks.finding import Checked
from crashloop.spec.owner import Job
from crashloop.spec.pod import RestartPolicy, restart_in
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import runs
from suites.selftest.kit.cases import MAX_2S, STOCK, app, case, scenario, told
from suites.selftest.kit.histories import History

NEVER = RestartPolicy.NEVER
PROGRAM = msgspec.structs.replace(runs((1, 42), (1, 42), (1, 42), (1, 0)), first_pod_only=True)
SLOW, FAST = (0.2, 10.4, 20.6), (0.2, 2.5, 2.4)
"""Delays of three restarts on the default curve, and at a maximum of 2 s."""


def group(name: str, profile: KubeletProfile, delays_s: tuple[float, ...], *, others: int = 2) -> History:
    """A pod that fails before each of these delays, and others that succeed at once."""
    made = scenario(
        app(PROGRAM, restart_policy=NEVER, rules=(restart_in(42),)),
        policy=NEVER,
        profile=profile,
        name=name,
        owner=Job(parallelism=3, backoff_limit=0),
    )
    history, at_s = History(made), 1.0
    for number, delay_s in enumerate(delays_s):
        history.lives("app", (at_s, at_s + 1, 42), first=number)
        at_s += 1 + delay_s
    history.lives("app", (at_s, at_s + 1, 0), first=len(delays_s))
    for number in range(others):
        history.recreated(0.1, f"other-{number}").lives("app", (1.0, 2.0, 0))
    return history.ends(at_s + 5)


def stock(delays_s: tuple[float, ...] = SLOW, **more: Any) -> tuple[History, KubeletProfile]:
    return group("on-stock", STOCK, delays_s, **more), STOCK


def low(delays_s: tuple[float, ...] = FAST, **more: Any) -> tuple[History, KubeletProfile]:
    return group("on-max-2s", MAX_2S, delays_s, **more), MAX_2S


def answer(*groups: tuple[History, KubeletProfile], **parameters: int) -> Checked:
    needed: dict[str, Any] = {"min_pods": 3, "min_failures": 3} | parameters
    return check_group_wait([case(history, profile, **needed) for history, profile in groups])


def test_accepts_a_wait_that_is_shorter_by_what_the_curves_owe() -> None:
    checked = answer(stock(), low())
    assert told(checked) == []
    assert checked.facts == {"waited_s": {"on-stock": 34.2, "on-max-2s": 8.1}}


def test_a_maximum_that_saves_nothing_is_a_fail() -> None:
    assert told(answer(stock(), low(SLOW))) == [
        "FAIL: the group waited 34.2 s in on-max-2s (history lines 26 and 85) and 34.2 s in on-stock (history lines 26 and 85); "
        "4.7 s less were due."
    ]


def test_a_group_that_did_not_succeed_decides_nothing() -> None:
    assert told(answer(stock(others=1), low())) == [
        "INCONCLUSIVE: 2 pods of 3 seen to succeed in on-stock: the scenario was complete."
    ]


def test_too_few_failures_decide_nothing() -> None:
    assert told(answer(stock(), low(FAST[:2]))) == [
        "INCONCLUSIVE: 1 pod seen to restart in on-max-2s, the first of them 2 times; one that restarts 3 times needed: "
        "the scenario was complete."
    ]


def test_curves_that_hardly_differ_decide_nothing() -> None:
    assert told(answer(low(), low())) == [
        "INCONCLUSIVE: the curves differ by less than lateness and starts explain, 25.3 s."
    ]
