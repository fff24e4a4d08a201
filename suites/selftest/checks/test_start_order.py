"""The containers of a pod start in their order: init containers until they are done, sidecars, and then the others."""

from crashloop.history.event import Kind
from crashloop.spec.pod import ContainerKind, RestartPolicy
from crashloop.spec.program import runs
from suites.selftest.kit.cases import app, checked, scenario, told
from suites.selftest.kit.histories import History

ORDERED = scenario(
    app(runs((1, 0)), name="setup", kind=ContainerKind.INIT),
    app(name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS),
    app(name="web"),
    app(name="api"),
)


def history(*, sidecar_s: float = 2, web_s: float = 3, api_s: float = 4) -> History:
    made = History(ORDERED).lives("setup", (0.5, 1.5, 0))
    for name, start_s in (("sidecar", sidecar_s), ("web", web_s), ("api", api_s)):
        made.lives(name, (start_s, None, 0))
    return made.ends(20)


def test_accepts_the_order_of_the_pod() -> None:
    answer = checked("start-order", history())
    assert told(answer) == []
    assert answer.facts == {"order": ["setup", "sidecar", "web", "api"]}


def test_a_sidecar_before_the_init_container_is_done_is_a_fail() -> None:
    made = history(sidecar_s=1.2)
    began, done = made.line_of(Kind.CREATED, container="sidecar"), made.line_of(Kind.EXITED, 1, container="setup")
    assert told(checked("start-order", made)) == [
        f'FAIL: "sidecar" was created (history lines {began} and {done}) before "setup" was done.'
    ]


def test_a_regular_container_before_a_sidecar_is_a_fail() -> None:
    made = history(sidecar_s=3.5)
    began, other = made.line_of(Kind.CREATED, container="web"), made.line_of(Kind.CREATED, container="sidecar")
    assert told(checked("start-order", made)) == [
        f'FAIL: "web" was created (history lines {began} and {other}) before "sidecar" had started.'
    ]


def test_regular_containers_in_another_order_are_a_fail() -> None:
    made = history(web_s=5)
    began, other = made.line_of(Kind.CREATED, container="api"), made.line_of(Kind.CREATED, container="web")
    assert told(checked("start-order", made)) == [
        f'FAIL: "api" was created (history lines {began} and {other}) before "web" had started.'
    ]


def test_a_container_that_never_started_is_inconclusive() -> None:
    made = History(ORDERED).lives("setup", (0.5, 1.5, 0)).lives("sidecar", (2, None, 0)).lives("web", (3, None, 0))
    assert told(checked("start-order", made.ends(20))) == [
        'INCONCLUSIVE: "api" was never seen to start: the scenario was complete.'
    ]
