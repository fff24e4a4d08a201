"""A container starts once the object is there that is mounted in it, and once its node has a pod network."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.dependency import ConfigObject
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import STOCK, checked, told
from suites.selftest.kit.histories import History

CREATE = InterventionKind.CREATE_OBJECT
MOUNTING = PodScenario(
    name="mounting",
    profile="stock",
    pod=Pod(containers=(Container(folders=("settings",)),)),
    until=Until(at_least_s=60),
    objects=(ConfigObject(name="settings", data={"A": "b"}, present=False),),
    interventions=(Intervention(trigger=Trigger(after_s=12), action=CREATE, arguments={"object": "settings"}),),
)


def history(*, start_s: float | None = 20.0, created_s: float | None = 12.0) -> History:
    made = History(MOUNTING)
    if start_s is not None:
        made.lives("app", (start_s, None, 0))
    if created_s is not None:
        made.intervention(created_s, "create-object", object="settings")
    return made.ends(60)


def test_accepts_a_start_after_the_object_came() -> None:
    answer = checked("volume-awaited", history(), STOCK)
    assert told(answer) == []
    assert answer.facts == {"waited_s": {"app": 12.0}}


def test_a_start_before_the_object_came_is_a_fail() -> None:
    made = history(start_s=5.0)
    lines = [made.line_of(Kind.CREATED, 1), made.line_of(Kind.INTERVENTION)]
    assert made.line_of(Kind.CREATED, channel=Channel.RUNTIME) == lines[0]
    assert told(checked("volume-awaited", made, STOCK)) == [
        f'FAIL: "app" was started (history lines {lines[0]} and {lines[1]}) before the object was there that is mounted in it.'
    ]


def test_a_wait_that_was_too_short_to_show_anything_is_inconclusive() -> None:
    assert told(checked("volume-awaited", history(created_s=2.0), STOCK)) == [
        "INCONCLUSIVE: 0 waits of 5 s for a volume seen, 1 needed: the scenario was complete."
    ]


def test_a_container_that_never_starts_is_inconclusive() -> None:
    for made in (history(start_s=None), history(created_s=None)):
        assert told(checked("volume-awaited", made, STOCK)) == [
            'INCONCLUSIVE: no start of "app" was seen: the scenario was complete.'
        ]


WITHOUT_NETWORK = PodScenario(
    name="without-network",
    profile="stock",
    pod=Pod(containers=(Container(),)),
    until=Until(at_least_s=60),
    interventions=(
        Intervention(trigger=Trigger(before_pod=True), action=InterventionKind.TAKE_NETWORK),
        Intervention(trigger=Trigger(after_s=12), action=InterventionKind.GIVE_NETWORK),
    ),
)


def without_network(
    *, start_s: float | None = 15.0, taken_s: float = -0.5, given_s: float = 12.0, outcome: str = "ok"
) -> History:
    made = History(WITHOUT_NETWORK).intervention(taken_s, "take-network", outcome=outcome)
    made.intervention(given_s, "give-network", index=1)
    if start_s is not None:
        made.lives("app", (start_s, None, 0))
    return made.ends(60)


def test_accepts_a_start_after_the_network_came() -> None:
    answer = checked("network-awaited", without_network(), STOCK)
    assert told(answer) == []
    assert answer.facts == {"waited_s": {"app": 12.0}}


def test_a_start_before_the_network_came_is_a_fail() -> None:
    made = without_network(start_s=5.0)
    lines = [made.line_of(Kind.CREATED, 1), made.line_of(Kind.INTERVENTION, 1)]
    assert told(checked("network-awaited", made, STOCK)) == [
        f'FAIL: "app" was started (history lines {lines[0]} and {lines[1]}) before its node had a pod network.'
    ]


def test_a_network_that_was_back_too_soon_to_show_anything_is_inconclusive() -> None:
    assert told(checked("network-awaited", without_network(given_s=3.0), STOCK)) == [
        "INCONCLUSIVE: 0 waits of 5 s for the network seen, 1 needed: the scenario was complete."
    ]


def test_a_network_that_was_not_taken_before_the_pod_proves_nothing() -> None:
    for made in (without_network(taken_s=2.0), without_network(outcome="no such file"), without_network(start_s=None)):
        assert told(checked("network-awaited", made, STOCK)) == [
            'INCONCLUSIVE: no start of "app" was seen: the scenario was complete.'
        ]
