"""Pulls of an image: as many as the policy says, of what the tag names, apart by their own backoff, with the present password."""

from crashloop.history.event import Channel, Kind
from crashloop.spec.dependency import PASSWORD, ConfigKind, ConfigObject, PullPolicy, RegistryImage
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.cases import GOOD, app, checked, scenario, told
from suites.selftest.kit.histories import History

MOVES = Intervention(
    trigger=Trigger(after_s=4), action=InterventionKind.OFFER_IMAGE, arguments={"container": "app", "version": 2}
)
PULLED_AT = (0.2, 1.8, 5.1, 8.4)
"""Before each start of GOOD."""


def pulling(policy: PullPolicy) -> PodScenario:
    """CRASHING with an image of the registry."""
    of = scenario(app(exits_with(1, times=3), image=RegistryImage(policy=policy)), until=Until(restarts={"app": 3}))
    return PodScenario(name=of.name, profile=of.profile, pod=of.pod, until=of.until, interventions=(MOVES,))


ALWAYS, ONCE = pulling(PullPolicy.ALWAYS), pulling(PullPolicy.IF_NOT_PRESENT)


def pulled(of: PodScenario, *at_s: float, images: tuple[str, ...] = ("1", "1", "2", "2")) -> History:
    """The good lives, requests at these times, and the image that each life has noted; the tag is moved after 4 s."""
    history = History(of).lives("app", *GOOD)
    history.intervention(4, "offer-image", container="app", version=2)
    for each in at_s:
        history.request(each)
    for number, (life, image) in enumerate(zip(GOOD, images, strict=True)):
        history.note(life[0] + 0.02, "app", number, "IMAGE_VERSION", image)
    return history


def test_accepts_one_pull_for_each_restart_under_always() -> None:
    answer = checked("pulls", pulled(ALWAYS, *PULLED_AT).ends(30), min_restarts=3)
    assert (told(answer), answer.facts) == ([], {"pulls": {"app": [1, 1, 1]}})


def test_accepts_no_pull_after_the_first_start_under_if_not_present() -> None:
    assert told(checked("pulls", pulled(ONCE, 0.2).ends(30), min_restarts=3)) == []


def test_a_pull_at_a_restart_under_if_not_present_is_a_fail() -> None:
    history = pulled(ONCE, 0.2, 5.1).ends(30)
    request, created = history.line_of(Kind.REQUEST, 1), history.line_of(Kind.CREATED, 2, container="app")
    assert told(checked("pulls", history)) == [
        f'FAIL: the image of instance 2 of "app" was pulled 1 time (history lines {request} and {created}); '
        "under IfNotPresent a restart pulls it 0 times."
    ]


def test_a_restart_without_a_pull_under_always_is_a_fail() -> None:
    history = pulled(ALWAYS, 0.2, 1.8, 8.4).ends(30)
    created = history.line_of(Kind.CREATED, 2, container="app")
    assert told(checked("pulls", history)) == [
        f'FAIL: the image of instance 2 of "app" was pulled 0 times (history line {created}); '
        "under Always a restart pulls it 1 time."
    ]


def test_an_image_that_was_never_pulled_proves_nothing() -> None:
    assert told(checked("pulls", pulled(ONCE).ends(30))) == [
        'INCONCLUSIVE: no pull was seen before the first start of "app": the scenario was complete.'
    ]


def test_accepts_lives_in_the_image_that_the_tag_names() -> None:
    answer = checked("image-of-tag", pulled(ALWAYS, *PULLED_AT).ends(30))
    assert (told(answer), answer.facts) == ([], {"images": {"app": ["1", "2"]}})


def test_a_life_in_an_image_that_the_tag_no_longer_names_is_a_fail() -> None:
    history = pulled(ALWAYS, *PULLED_AT, images=("1", "1", "2", "1")).ends(30)
    note, moved = history.line_of(Kind.NOTED, 3), history.line_of(Kind.INTERVENTION)
    lines = " and ".join(map(str, sorted((note, moved))))
    assert told(checked("image-of-tag", history)) == [
        f'FAIL: instance 3 of "app" ran in image 1 (history lines {lines}); the tag named 2.'
    ]


def test_a_tag_that_was_not_moved_proves_nothing() -> None:
    history = pulled(ALWAYS, *PULLED_AT, images=("1",) * 4).without(Kind.INTERVENTION).ends(30)
    assert told(checked("image-of-tag", history)) == [
        "INCONCLUSIVE: 0 tags that moved between two restarts seen, 1 needed: the scenario was complete."
    ]


FAILING = scenario(
    app(exits_with(1, after_s=0, times=60)),
    Container(name="pulled", image=RegistryImage(policy=PullPolicy.ALWAYS, version=None)),
)


def failing(*at_s: float, ends_s: int = 80) -> History:
    """A container that starts every other second, and failed pulls of the other's image; the runtime repeats each at once."""
    history = History(FAILING).lives(
        "app", *((2.0 * number + 1, 2.0 * number + 1.5, 1) for number in range(ends_s // 2))
    )
    for each in at_s:
        history.request(each, "pulled", 503).request(each + 0.1, "pulled", 503)
    return history.ends(ends_s)


def lines_of(history: History, *pulls: int) -> str:
    """The lines of the first requests of these pulls."""
    lines = [str(history.line_of(Kind.REQUEST, 2 * each)) for each in pulls]
    return f"(history line {lines[0]})" if len(lines) == 1 else f"(history lines {lines[0]} and {lines[1]})"


def test_accepts_failed_pulls_that_are_apart_by_ten_twenty_and_forty_seconds() -> None:
    answer = checked("pull-backoff", failing(0.5, 11, 32, 73))
    assert (told(answer), answer.facts) == ([], {"pulls_apart_s": [10.5, 21.0, 41.0]})


def test_a_pull_before_its_backoff_is_over_is_a_fail() -> None:
    history = failing(0.5, 11, 22, 73)
    assert told(checked("pull-backoff", history))[0] == (
        f'FAIL: two failed pulls of the image of "pulled" are 11 s apart {lines_of(history, 1, 2)}; 20 s was due.'
    )


def test_a_pull_that_the_kubelet_leaves_out_at_look_after_look_is_a_fail() -> None:
    history = failing(0.5, 11, 52)
    assert told(checked("pull-backoff", history)) == [
        f'FAIL: after a failed pull the image of "pulled" was pulled again only after 41 s {lines_of(history, 1, 2)}; '
        "20 s was due, and the kubelet looked at the pod 10 times meanwhile."
    ]


def test_a_pull_that_never_comes_again_is_a_fail() -> None:
    history = failing(0.5, 11)
    assert told(checked("pull-backoff", history)) == [
        f'FAIL: after a failed pull the image of "pulled" was pulled not again within 69 s {lines_of(history, 1)}; '
        "20 s was due, and the kubelet looked at the pod 24 times meanwhile."
    ]


LET_IN = PodScenario(
    name="let-in",
    profile="max-2s",
    pod=Pod(containers=(app(exits_with(1), image=RegistryImage(policy=PullPolicy.ALWAYS, secret="login")),)),
    until=Until(),
    objects=(ConfigObject(name="login", kind=ConfigKind.SECRET, data={"password": "wrong"}),),
)


def let_in(*requests: tuple[float, int, str]) -> History:
    """Pulls with their answers and passwords, each after one without a password; the secret is changed after 5 s."""
    history = History(LET_IN).intervention(5, "change-object", object="login", data={"password": PASSWORD})
    for at_s, status, password in requests:
        history.request(at_s - 0.1, "app", 401).request(at_s, "app", status, password)
    return history.ends(30)


def test_accepts_a_pull_with_the_new_password_after_the_change() -> None:
    answer = checked("pull-credentials", let_in((0.5, 401, "wrong"), (12, 200, PASSWORD)))
    assert (told(answer), answer.facts) == ([], {"refused": 1, "accepted": 1})


def test_either_password_may_come_just_after_the_change() -> None:
    requests = ((0.5, 401, "wrong"), (6, 401, "wrong"), (17, 200, PASSWORD))
    assert told(checked("pull-credentials", let_in(*requests))) == []


def test_a_pull_with_the_old_password_long_after_the_change_is_a_fail() -> None:
    history = let_in((0.5, 401, "wrong"), (12, 401, "wrong"))
    changed, request = history.line_of(Kind.INTERVENTION), history.line_of(Kind.REQUEST, 3, channel=Channel.REGISTRY)
    assert told(checked("pull-credentials", history)) == [
        f'FAIL: a pull of the image of "app" came with the password wrong (history lines {changed} and {request}); '
        f"its pull secret held {PASSWORD}."
    ]


def test_a_secret_that_no_pull_came_after_proves_nothing() -> None:
    assert told(checked("pull-credentials", let_in((0.5, 401, "wrong")))) == [
        "INCONCLUSIVE: 0 accepted pulls after its secret was changed seen, 1 needed: the scenario was complete."
    ]
