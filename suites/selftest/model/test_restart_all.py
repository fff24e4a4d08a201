"""What RestartAllContainers does to each container of a pod."""

from crashloop.model.phase import IS_RUNNING, NEVER_STARTED, KnownState, StateKind, terminated
from crashloop.model.restart_all import ContainerReset, keeps_logs, reset, sources
from crashloop.model.variants import RESTART_ALL_HIDES_EXIT_CODE
from crashloop.spec.policy import Action, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_ALL_GATE
from crashloop.spec.scenario import Container, ContainerKind, Pod
from crashloop.spec.version import KubernetesVersion

V1_37 = KubernetesVersion(1, 37)
NEVER = RestartPolicy.NEVER
RESET_88 = (restart_in(88, action=Action.RESTART_ALL_CONTAINERS),)
POD = Pod(
    containers=(
        Container(name="init", kind=ContainerKind.INIT),
        Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS),
        Container(name="source", restart_policy=NEVER, rules=RESET_88),
        Container(name="running"),
        Container(name="waiting"),
        Container(name="unstarted"),
        Container(name="debug", kind=ContainerKind.EPHEMERAL),
    ),
    restart_policy=NEVER,
)
STATES = {
    "init": terminated(0),
    "sidecar": IS_RUNNING,
    "source": terminated(88),
    "running": IS_RUNNING,
    "waiting": KnownState(kind=StateKind.WAITING, last_exit_code=1),
    "unstarted": NEVER_STARTED,
}


def row(
    name: str, code: int | None, *, source: bool = False, killed: bool = False, at_once: bool = True
) -> ContainerReset:
    return ContainerReset(container=name, source=source, killed=killed, counts_at_once=at_once, last_exit_code=code)


def test_targets_go_before_sources_and_regular_before_init_containers() -> None:
    assert reset(POD, STATES, gates={}, version=V1_37) == (
        row("running", 137, killed=True),
        row("waiting", 1, at_once=False),
        row("init", 0),
        row("sidecar", 137, killed=True),
        row("source", 88, source=True),
    )


def test_the_kubelet_shows_137_for_all_but_those_that_waited() -> None:
    found = reset(POD, STATES, gates={}, version=V1_37, deviations=frozenset({RESTART_ALL_HIDES_EXIT_CODE}))
    assert {each.container: each.last_exit_code for each in found} == {
        "running": 137,
        "waiting": 1,
        "init": 137,
        "sidecar": 137,
        "source": 137,
    }


def test_an_init_source_is_reset_last() -> None:
    pod = Pod(
        containers=(
            Container(name="first", kind=ContainerKind.INIT, restart_policy=NEVER, rules=RESET_88),
            Container(name="main", restart_policy=NEVER, rules=RESET_88),
            Container(name="other"),
        ),
        restart_policy=NEVER,
    )
    states = {"first": terminated(88), "main": terminated(88), "other": IS_RUNNING}
    assert sources(pod, states, gates={}, version=V1_37) == ("main", "first")
    assert [each.container for each in reset(pod, states, gates={}, version=V1_37)] == ["other", "main", "first"]


def test_nothing_is_reset_unless_a_rule_asks_for_it() -> None:
    unmatched = {**STATES, "source": terminated(87)}
    assert reset(POD, unmatched, gates={}, version=V1_37) == ()
    assert reset(POD, STATES, gates={RESTART_ALL_GATE: False}, version=V1_37) == ()


def test_logs_are_kept_from_1_36_on() -> None:
    assert [keeps_logs(KubernetesVersion(1, minor)) for minor in (35, 36, 37)] == [False, True, True]
