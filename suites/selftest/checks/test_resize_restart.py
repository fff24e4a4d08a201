"""A resize that requires a restart brings one, and no more; statuses name the generation of the spec that it makes."""

import re

import msgspec
import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import RestartPolicy
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History, Life

RESIZED = msgspec.structs.replace(
    scenario(app(restarts_on_resize=True)),
    interventions=(
        Intervention(
            trigger=Trigger(after_s=8), action=InterventionKind.RESIZE, arguments={"container": "app", "cpu": "20m"}
        ),
    ),
)


def history(
    *later: Life, first_ends_s: float | None = 8.1, ends_s: float = 60, resized: bool = True, answered_s: float = 8.0
) -> History:
    made = History(RESIZED).lives("app", (0.5, first_ends_s, 143)).lives("app", *later, first=1)
    if resized:
        made.intervention(8, "resize", ended_s=answered_s, container="app", cpu="20m")
    return made.ends(ends_s)


def test_accepts_one_restart_at_once() -> None:
    answer = checked("resize-restart", history((8.4, None, 0)))
    assert told(answer) == []
    assert answer.facts == {"restarted_after_s": [0.3]}


def test_a_container_that_runs_on_is_a_fail() -> None:
    made = history(first_ends_s=None)
    line = made.line_of(Kind.INTERVENTION)
    assert told(checked("resize-restart", made)) == [
        f'FAIL: "app" was not started within 52 s of its resize (history line {line}); 5 s is the longest.'
    ]


def test_a_restart_that_waits_is_a_fail() -> None:
    made = history((18.1, None, 0))
    action, line = made.line_of(Kind.INTERVENTION), made.line_of(Kind.CREATED, 1, container="app")
    assert told(checked("resize-restart", made)) == [
        f'FAIL: "app" was started within 10 s of its resize (history lines {action} and {line}); 5 s is the longest.'
    ]


def test_a_second_restart_is_a_fail() -> None:
    made = history((8.4, 10, 143), (10.4, None, 0))
    action, line = made.line_of(Kind.INTERVENTION), made.line_of(Kind.CREATED, 2, container="app")
    assert told(checked("resize-restart", made)) == [
        f'FAIL: the resize restarted "app" a second time (history lines {action} and {line}); once was due.'
    ]


def test_too_little_to_say_is_inconclusive() -> None:
    made = history(first_ends_s=None, ends_s=12)
    line = made.line_of(Kind.INTERVENTION)
    assert told(checked("resize-restart", made)) == [
        f'INCONCLUSIVE: "app" was not started within 4 s of its resize (history line {line}): the scenario was complete.'
    ]
    assert told(checked("resize-restart", history(first_ends_s=None, resized=False))) == [
        "INCONCLUSIVE: no resize was seen, one needed: the scenario was complete."
    ]


def test_a_start_whose_stamp_is_rounded_down_to_before_the_resize_may_have_followed_it() -> None:
    made = History(RESIZED).lives("app", (0.5, 7.99, 143), (7.997, None, 0), runtime=False)
    made.intervention(8.004, "resize", container="app", cpu="20m")
    answer = checked("resize-restart", made.ends(30))
    assert told(answer) == []
    assert answer.facts == {"restarted_after_s": [0.0]}


def test_a_resize_that_the_api_server_answers_late_counts_from_its_answer() -> None:
    made = history((16.4, None, 0), first_ends_s=16.1, answered_s=15)
    answer = checked("resize-restart", made)
    assert told(answer) == []
    assert answer.facts == {"restarted_after_s": [1.3]}


def test_an_update_that_may_have_been_on_its_way_for_long_is_inconclusive() -> None:
    made = history((28.4, None, 0), first_ends_s=28)
    action, line = made.line_of(Kind.INTERVENTION), made.line_of(Kind.CREATED, 1, container="app")
    assert told(checked("resize-restart", made)) == [
        f'INCONCLUSIVE: "app" was started within 20.3 s of its resize (history lines {action} and {line}); 5 s is the '
        "longest. Nothing shows that the kubelet had heard of it for 20 s."
    ]


def test_a_container_that_begins_after_its_resize_is_inconclusive() -> None:
    """A kubelet without a CPU may start it as it was, and only then hear of the resize."""
    made = History(RESIZED).lives("app", (9.5, 11, 143), (11.4, None, 0))
    line = made.intervention(8, "resize", container="app", cpu="20m").ends(60).line_of(Kind.INTERVENTION)
    assert told(checked("resize-restart", made)) == [
        f'INCONCLUSIVE: "app" had not begun when it was resized (history line {line}).'
    ]


def naming(*generations: tuple[float, int | None], ended_s: float = 100.0) -> History:
    """What statuses name before and after a resize at 8 s; from `ended_s` on they say that the pod has failed."""
    made = (
        History(RESIZED)
        .lives("app", (0.5, None, 0), status=False)
        .intervention(8, "resize", container="app", cpu="20m")
    )
    for at_s, named in generations:
        phase = "Failed" if at_s >= ended_s else "Running"
        made.status(at_s, {"app": made.running("app", 0, 0.5)}, phase=phase, observedGeneration=named)
    return made.ends(60)


def test_a_status_names_the_generation_of_the_spec() -> None:
    answer = checked("observed-generation", naming((1, 1), (9, 1), (12, 2), (50, 2)))
    assert told(answer) == []
    assert answer.facts == {"statuses": 4, "changes": 1}


@pytest.mark.parametrize(
    ("named", "number", "due"),
    [
        pytest.param(((1, 1), (50, None)), "none", "2", id="none"),
        pytest.param(((1, 1), (2, 1), (50, 1)), "1", "2", id="the-first-for-ever"),
        pytest.param(((1, 1), (2, 1), (50, 3)), "3", "2", id="one-too-many"),
        pytest.param(((1, 1), (9, 2), (10, 1)), "1", "2", id="one-that-was-before"),
    ],
)
def test_another_generation_is_a_fail(named: tuple[tuple[float, int | None], ...], number: str, due: str) -> None:
    found = told(checked("observed-generation", naming(*named)))
    assert len(found) == 1
    assert re.fullmatch(
        rf"FAIL: the generation that a status names is {number} \(history line \d+\); {due} was due\.", found[0]
    )


@pytest.mark.parametrize(("ended_s", "findings"), [(15.0, 0), (100.0, 1)], ids=["ended", "goes-on"])
def test_a_kubelet_looks_at_no_change_of_a_pod_that_has_ended(ended_s: float, findings: int) -> None:
    named = naming((1, 1), (7.5, 1), (50, 1), ended_s=ended_s)
    assert len(told(checked("observed-generation", named))) == findings


def test_what_ended_for_good_before_its_resize_is_not_started_again() -> None:
    never = scenario(app(exits_with(0), restarts_on_resize=True), policy=RestartPolicy.NEVER)
    made = History(msgspec.structs.replace(never, interventions=RESIZED.interventions)).lives("app", (0.5, 5.9, 0))
    made.intervention(8, "resize", container="app", cpu="20m").ends(60)
    assert [each for each in told(checked("resize-restart", made)) if "FAIL" in each] == []


def test_a_resize_without_sigterm_is_a_fail() -> None:
    made = History(RESIZED).lives("app", (0.5, 8.1, 137), (8.4, None, 0))
    made.intervention(8, "resize", ended_s=8.0, container="app", cpu="20m").ends(60)
    action, ended = made.line_of(Kind.INTERVENTION), made.line_of(Kind.EXITED, channel=Channel.RUNTIME)
    assert told(checked("resize-restart", made)) == [
        f'FAIL: "app" was ended by SIGKILL 0.1 s after its resize (history lines {action} and {ended}); '
        "it had 2 s to end by itself."
    ]
