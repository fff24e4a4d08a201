"""The plan of a stress run in words: nothing that decides a load is left out.

Where a report says that the load came from.
"""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.report.html import to_html
from crashloop.report.stress.document import stress_document
from crashloop.spec.pod import Action, RestartPolicy, restart_in
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import (
    AnyLoad,
    Burst,
    Canary,
    Churn,
    Crash,
    Demand,
    Finish,
    Jobs,
    Rollout,
    ServerProbe,
    StartUp,
)
from crashloop.stress.phases import cut_ns, measurements
from crashloop.stress.plan_text import crashing_pods, planned_run, user_in_words
from crashloop.stress.pod_template import PodTemplate
from crashloop.stress.profile import Disturbance, Stage
from suites.selftest.kit.histories import ns
from suites.selftest.kit.stress_kit import MARKS, example_run, marks, plan

LOADS: tuple[AnyLoad, ...] = (
    Crash(node="a"),
    Churn(node="a", rate_per_s=1),
    Jobs(node="a", rate_per_s=1),
    Rollout(node="a"),
    Demand(node="a", rate_per_s=1),
    Finish(node="a", rate_per_s=1),
    Canary(node="a"),
)
OTHERS: dict[str, Any] = {
    "restart_policy": RestartPolicy.NEVER,
    "rule": restart_in(42, action=Action.RESTART),
    "bursts": (Burst(after_s=3, for_s=4, rate_per_s=50),),
    "cpu_request": "20m",
    "cpu_limit": "250m",
    "probe": ServerProbe(timeout_s=5),
    "succeeding": 0.25,
    "startup": StartUp(cpu_s=2),
    "host_network": True,
    "volume": "host",
    "readiness": ServerProbe(period_s=2),
    "service": "shared",
    "watch_lists": True,
    "template": PodTemplate(file="app.yaml", spec={"containers": [{"name": "app", "image": "registry.example/app:1"}]}),
}
"""Another value for fields that are no plain number."""


def changed(load: AnyLoad) -> Iterator[tuple[str, AnyLoad]]:
    """The same load with each field, but the node, set to something else."""
    for field in load.__struct_fields__:
        if field != "node":
            value = OTHERS[field] if field in OTHERS else getattr(load, field) + 1
            yield field, msgspec.structs.replace(load, **{field: value})


@pytest.mark.parametrize("load", LOADS, ids=lambda load: type(load).__name__)
def test_every_field_of_a_load_is_in_its_words(load: AnyLoad) -> None:
    for field, other in changed(load):
        assert user_in_words(other) != user_in_words(load), field


@pytest.mark.parametrize(
    "other",
    [None, ServerProbe(period_s=7), ServerProbe(failure_threshold=7), ServerProbe(own_worker=True)],
    ids=["none", "period", "threshold", "worker"],
)
def test_every_field_of_a_probe_is_in_the_words_of_its_load(other: ServerProbe | None) -> None:
    load = Demand(node="a", rate_per_s=1)
    assert user_in_words(msgspec.structs.replace(load, probe=other)) != user_in_words(load)


def test_a_rule_and_the_share_that_succeeds_are_reported() -> None:
    load = Crash(
        node="a", containers=1, companions=2, run_s=2, exit_code=88, restart_policy=RestartPolicy.NEVER, succeeding=0.25,
        rule=restart_in(88, action=Action.RESTART_ALL_CONTAINERS),
    )  # fmt: skip
    assert user_in_words(load) == (
        "companions 2, run_s 2, exit_code 88, succeeding 0.25, restart_policy Never, rule.action RestartAllContainers, "
        "rule.operator In, rule.values 88"
    )


def test_the_plan_stands_beside_what_was_measured_of_it() -> None:
    the_plan = plan(disturbances=(Disturbance(after_s=30, action="kill-kubelet", node="storm", down_s=5),), workers=2)
    measured = measurements(the_plan.stages, marks(*MARKS[:6]), until_ns=marks((1, "end", 40, 0))[0].t_ns)
    planned = planned_run(the_plan, measured, {"storm": "worker-7"})
    assert [(each.name, each.kind, each.node, each.users) for each in planned.loads] == [
        ("healthy", "churn", "worker-7", "1 in every stage"),
        ("crashers", "crash", "worker-7", "2 in storm"),
    ]
    assert [(each.label, each.users_text, each.duration_s, each.measured_s) for each in planned.stages] == [
        ("baseline", "1 healthy", 20, 20),
        ("storm", "1 healthy, 2 crashers", 60, 14),
    ]
    assert (planned.scrape_every_s, planned.workers, planned.host_cores) == (5, 2, 2)
    assert planned.disturbances == ("kill-kubelet on storm after 30 s, down for 5 s",)


@pytest.mark.parametrize(
    ("cuts", "found"),
    [((), None), ((30,), 30), ((10, 40), 40), ((10,), None), ((40, 30), 30)],
    ids=["none", "one", "one-before-the-stage", "only-before-the-stage", "the-first-of-two"],
)
def test_a_stage_is_cut_short_by_what_happened_after_its_begin(cuts: tuple[float, ...], found: float | None) -> None:
    """The storm began to be measured at 26 s; a worker that died in the baseline has not ended it."""
    assert cut_ns(marks(*MARKS[:6]), map(ns, cuts)) == (None if found is None else ns(found))


def test_users_that_differ_from_stage_to_stage_are_listed_and_many_stages_are_counted() -> None:
    def users(*numbers: int | None) -> str:
        stages = tuple(
            Stage(name="storm", mix=f"mix {index}", duration_s=5, users={} if number is None else {"crashers": number})
            for index, number in enumerate(numbers)
        )
        return planned_run(plan(stages=stages), [], {}).loads[1].users

    assert users(5, 10) == "5 in storm, mix 0; 10 in storm, mix 1"
    assert users(5, None, 5) == "5 in storm, mix 0; storm, mix 2"
    assert users(5, 5, None, 5, 5) == "5 in 4 of 5 stages"
    assert users(None) == "in no stage"


def test_crashing_pods_are_those_that_are_restarted_again_and_again() -> None:
    final = Crash(node="a", exit_code=7, restart_policy=RestartPolicy.NEVER, rule=restart_in(42))
    loads: dict[str, AnyLoad] = dict(
        zip(("crash", "churn", "jobs", "rollout", "demand", "finish", "canary"), LOADS, strict=True)
    )
    loads |= {
        "final": final,
        "ruled": msgspec.structs.replace(final, exit_code=42),
        "half": Crash(node="a", succeeding=0.5, restart_policy=RestartPolicy.ON_FAILURE),
        "completing": Crash(node="a", succeeding=0.5),
    }

    def crashing(**users: int) -> int:
        return crashing_pods(Stage(name="storm", duration_s=5, users=dict(users)), loads)

    assert crashing(crash=7, churn=3, jobs=2, rollout=1, demand=1, finish=4, canary=1) == 7 + 4
    assert (crashing(final=5), crashing(ruled=5), crashing(half=6), crashing(completing=6)) == (0, 5, 3, 6)


@pytest.mark.parametrize(
    ("workers", "elsewhere", "words"),
    [
        (0, False, "The load came from one process on the nodes' host"),
        (2, False, "The load came from a master and 2 workers on the nodes' host"),
        (
            2,
            True,
            "The load came from a master and 2 workers: the workers ran on other machines, the master on the nodes' host",
        ),
    ],
    ids=["one process", "workers of the host", "workers of other machines"],
)
def test_a_report_says_where_the_load_came_from(tmp_path: Path, workers: int, elsewhere: bool, words: str) -> None:
    results = judge_run(example_run(tmp_path / "run").run)
    assert results.planned is not None
    planned = msgspec.structs.replace(results.planned, workers=workers, are_workers_elsewhere=elsewhere)
    page = html.unescape(to_html(stress_document(msgspec.structs.replace(results, planned=planned))))
    assert words in page
