"""What an API server without ContainerRestartRules keeps of a pod."""

import pytest

from crashloop.model.api_server import as_stored, drops_policies
from crashloop.model.course import course_of
from crashloop.model.variants import API_SERVER_DROPS_POLICIES
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.pod import Container, ContainerKind, Pod, RestartPolicy, restart_in
from crashloop.spec.profile import RESTART_RULES_GATE, KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Until
from crashloop.spec.version import KubernetesVersion

NEVER, ALWAYS = RestartPolicy.NEVER, RestartPolicy.ALWAYS
DROPPING = frozenset({API_SERVER_DROPS_POLICIES})
POD = Pod(
    containers=(
        Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=ALWAYS, rules=(restart_in(1),)),
        Container(name="setup", kind=ContainerKind.INIT, restart_policy=NEVER),
        Container(program=exits_with(1, times=3), restart_policy=NEVER, rules=(restart_in(42),)),
    )
)


def beside(server: ControlPlane | None) -> PodScenario:
    return PodScenario(name="s", profile="node", pod=POD, until=Until(), control_plane=server)


WITHOUT = beside(ControlPlane(feature_gates={RESTART_RULES_GATE: False}))


def test_it_drops_rules_and_all_policies_but_those_of_sidecars() -> None:
    stored = as_stored(WITHOUT, DROPPING).pod
    assert [(each.name, each.restart_policy, each.rules) for each in stored.containers] == [
        ("sidecar", ALWAYS, ()),
        ("setup", None, ()),
        ("app", None, ()),
    ]


def test_the_promise_is_the_pod_as_declared() -> None:
    assert drops_policies(WITHOUT)
    assert as_stored(WITHOUT) == WITHOUT


@pytest.mark.parametrize("server", [None, ControlPlane()], ids=["shared", "own"])
def test_an_api_server_with_the_gate_keeps_the_pod(server: ControlPlane | None) -> None:
    assert not drops_policies(beside(server))
    assert as_stored(beside(server), DROPPING) == beside(server)


def test_the_starts_of_a_run_are_those_of_the_stored_pod() -> None:
    node, version = KubeletProfile(name="node"), KubernetesVersion(1, 37, 1)
    app = Pod(containers=(Container(program=exits_with(1, times=3), restart_policy=NEVER),))
    ends = Until(exits={"app": 1}, quiet_s=64, at_most_s=90)
    starts = {
        gate: len(
            course_of(
                PodScenario(
                    name="s",
                    profile="node",
                    pod=app,
                    until=ends,
                    control_plane=ControlPlane(feature_gates={RESTART_RULES_GATE: gate}),
                ),
                node,
                version,
            ).starts_s
        )
        for gate in (True, False)
    }
    assert starts == {True: 2, False: 5}
