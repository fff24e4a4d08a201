"""A pod that is created, stays Pending and never starts, on a node that is well: no requirement of the suite passes on it."""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.verdict import Outcome
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.proof import Share
from tools.trials import FURTHER, VERSION, histories_of, holds, recorded, verdict_of

NOT_ABOUT_CONTAINERS = {"CONFIG-3", "RAC-13"}
"""What a kubelet answers of its configuration, and what an API server accepts."""


LONG_NS = 40_000_000_000
"""A pod is owed its first start within 30 s."""


def dead(events: Iterable[Event]) -> Iterator[Event]:
    """The same recording of a pod in which nothing happens until the deadline."""
    kept = [each for each in events if _stays(each)]
    for number, event in enumerate(kept):
        data = {**event.data, "reason": "deadline"} if event.kind is Kind.END else event.data
        yield msgspec.structs.replace(event, seq=number, data=data)


def _stays(event: Event) -> bool:
    if event.kind is Kind.STATUS:
        status = event.data.get("status", {})
        return bool(status.get("phase") == "Pending" and not status.get("containerStatuses"))
    is_of_the_host = event.channel is Channel.RECORDER and event.kind is not Kind.INTERVENTION
    is_met = event.channel is Channel.API and (event.kind is Kind.CREATED or event.data.get("phase") == "created")
    return is_of_the_host or event.kind is Kind.NODE or is_met


def test_a_pod_that_never_starts_passes_nowhere_and_is_a_fail_where_starts_are_judged(share: Share) -> None:
    passed, judged_starts = [], {}
    static_pods = [each for each in trials() if each.scenario.name == "static-pod"]
    for trial in (*static_pods, *share(trials())):
        if trial.scope == FURTHER or any(each.pod_spec is None for each in trial.scenario.scenarios):
            continue
        if not holds(trial, VERSION):
            continue
        recordings = [recorded(dead(each)) for each in histories_of(trial.scenario.scenarios)]
        verdict = verdict_of(trial.requirement, trial.scenario, *recordings, version=VERSION)
        if "first-start" in trial.requirement.checkers and recordings[0].end_ns - recordings[0].begin_ns > LONG_NS:
            judged_starts[trial.scenario.name] = verdict.outcome
        if verdict.outcome is Outcome.PASS and verdict.requirement not in NOT_ABOUT_CONTAINERS:
            passed.append((verdict.requirement, verdict.scenario))
    assert passed == []
    assert "static-pod" in judged_starts
    assert set(judged_starts.values()) == {Outcome.FAIL}


def test_a_static_pod_of_which_nothing_comes_at_all_is_a_fail() -> None:
    (trial,) = (each for each in trials() if each.scenario.name == "static-pod")
    (history,) = histories_of(trial.scenario.scenarios)
    nothing = [each for each in dead(history) if each.pod_uid is None]
    renumbered = (msgspec.structs.replace(each, seq=number) for number, each in enumerate(nothing))
    verdict = verdict_of(trial.requirement, trial.scenario, recorded(renumbered), version=VERSION)
    assert verdict.findings == ("BACKOFF-22: neither a container nor a mirror pod of the static pod came within 60 s.",)
    assert verdict.fails_the_run
