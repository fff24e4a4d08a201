"""A kubelet that waits for a delay, or for a missing object, does not look over and over."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.dependency import ConfigObject, Variable
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import STOCK, app, checked, scenario, told
from suites.selftest.kit.histories import History

CRASHING = scenario(app(exits_with(1, times=3)))
NEEDING = PodScenario(
    name="waiting",
    profile="stock",
    pod=Pod(containers=(Container(env=(Variable(name="A", object="settings"),)),)),
    until=Until(at_least_s=60),
    objects=(ConfigObject(name="settings", data={"A": "b"}, present=False),),
    interventions=(
        Intervention(
            trigger=Trigger(after_s=33), action=InterventionKind.CREATE_OBJECT, arguments={"object": "settings"}
        ),
    ),
)


def looked(history: History, *times_s: float) -> History:
    """The kubelet's log has a line for each look."""
    for at_s in times_s:
        history.add(at_s, Channel.KUBELET, Kind.LOG, {"line": "Error syncing pod"}, container="app", pod=True)
    return history


def delayed(*looks_s: float) -> History:
    """A delay from 5 s to 18 s, after a free restart."""
    made = History(CRASHING).lives("app", (1, 2, 1), (2.5, 5, 1), (18, 20, 1))
    return looked(made, *looks_s).ends(21)


def missing(*looks_s: float) -> History:
    """A pod whose ConfigMap comes after 33 s."""
    made = looked(History(NEEDING), *looks_s).intervention(33, "create-object", object="settings")
    return made.lives("app", (40, None, 0)).ends(60)


def test_accepts_a_look_by_the_timer_and_some_by_events() -> None:
    answer = checked("looks", delayed(5.5, 6.5, 7.5, 17.5), STOCK)
    assert told(answer) == []
    assert answer.facts == {"looks": [4]}


def test_a_look_every_other_second_of_a_delay_is_a_fail() -> None:
    made = delayed(*(5.5 + 2 * number for number in range(6)))
    lines = [made.line_of(Kind.LOG, number) for number in (0, 5)]
    assert told(checked("looks", made, STOCK)) == [
        'FAIL: "app" waited for 12.9 s, and the kubelet looked 6 times whether to start it '
        f"(history lines {lines[0]} and {lines[1]}); 4 times are the most."
    ]


def test_a_failed_start_that_is_tried_again_at_once_is_a_fail() -> None:
    assert told(checked("looks", missing(1, 2, 13, 26), STOCK)) == []
    (finding,) = told(checked("looks", missing(*range(1, 32)), STOCK))
    assert "the kubelet looked 31 times whether to start it" in finding
