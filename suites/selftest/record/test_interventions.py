"""Interventions are carried out, and what came of them is in the history of every scenario that feels them.

Patches of the mode annotated come at times that no relist can be in step with, the same ones for the same scenario.
"""

import threading
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from crashloop.errors import ClusterError, ProcessEnded
from crashloop.history.event import Kind
from crashloop.kube.client import KubeApi
from crashloop.record.channels.containerd import api_pb2
from crashloop.record.event_router import EventRouter
from crashloop.record.interventions import Annotations, Interventions
from crashloop.record.pod_dependencies import ConfigObjects, ScenarioImages
from crashloop.record.pods import Pods
from crashloop.record.site import RecordingSite
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.profile import PROFILE_LABEL, KubeletProfile
from crashloop.spec.scenario import POKE_EVERY_S
from suites.selftest.kit.begun_scenarios import Begin, runtime, written
from suites.selftest.kit.containerd_peer import Peer, labels, stamp


class Acts:
    """The one method of a cluster that the test needs."""

    def __init__(self) -> None:
        self.restarted: list[str] = []
        self.written: list[str] = []

    def write_kubelet_config(self, node: str, profile: KubeletProfile) -> None:
        self.written.append(f"{node} {profile.name}")

    def restart_kubelet(
        self, node: str, *, kill: bool = False, down_s: float = 0.0, profile: KubeletProfile | None = None
    ) -> None:
        self.restarted.append(f"{node} {kill} {down_s:g} {profile.name if profile else ''}".rstrip())
        if profile is not None and profile.name == "max-301s":
            raise ProcessEnded("kubelet ended with exit code 1")
        if kill:
            raise ClusterError("kubelet of node: it does not start again")


class Facts:
    """What interventions report to the facts about a node."""

    def __init__(self) -> None:
        self.spoilt: list[tuple[str, str]] = []
        self.reconfigured: set[str] = set()
        self.written: list[str] = []

    def spoil(self, node: str, why: str) -> None:
        self.spoilt.append((node, why))

    def write(self, _: str, profile: str) -> KubeletProfile:
        self.written.append(profile)
        return KubeletProfile(name=profile)

    def restarts(self, node: str) -> None:
        self.written.append(f"{node} restarts")


def acting_on(
    cluster: Acts, router: EventRouter, facts: Facts | None = None, api: KubeApi | None = None
) -> Interventions:
    api = cast("KubeApi", api)
    given = SimpleNamespace(
        api=api, namespace="ns", cluster=cluster, router=router, facts=facts or Facts(), label="run"
    )
    site = cast("RecordingSite", given)
    return Interventions(
        site,
        pods=cast("Pods", None),
        objects=ConfigObjects(api, "ns", run="run"),
        images=cast("ScenarioImages", None),
    )


def test_a_kubelet_is_restarted_with_another_profile(begin: Begin, router: EventRouter) -> None:
    restart = Intervention(
        trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments={"profile": "max-10s", "down_s": 2}
    )
    acting, cluster = begin("acting", interventions=(restart,)), Acts()
    acting_on(cluster, router).carry_out(acting, 0)
    assert cluster.restarted == ["node False 2 max-10s"]
    (own,) = written(acting)
    assert (own.data["outcome"], own.data["arguments"]["profile"]) == ("ok", "max-10s")


def test_a_configuration_is_written_for_a_kubelet_that_runs_on(begin: Begin, router: EventRouter) -> None:
    write = Intervention(
        trigger=Trigger(), action=InterventionKind.WRITE_KUBELET_CONFIG, arguments={"profile": "max-10s"}
    )
    acting, cluster, facts = begin("acting", interventions=(write,)), Acts(), Facts()
    acting_on(cluster, router, facts).carry_out(acting, 0)
    assert (cluster.written, cluster.restarted, facts.written) == (["node max-10s"], [], ["max-10s"])


def test_a_refusal_that_is_expected_is_the_outcome_and_spoils_nothing(begin: Begin, router: EventRouter) -> None:
    arguments = {"profile": "max-301s", "refused": True}
    refused = Intervention(trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments=arguments)
    acting, facts = begin("acting", interventions=(refused,)), Facts()
    acting_on(Acts(), router, facts).carry_out(acting, 0)
    (own,) = written(acting)
    assert own.data["outcome"] == "refused: kubelet ended with exit code 1"
    assert facts.spoilt == []


def test_a_refusal_that_nobody_expects_spoils_the_node(begin: Begin, router: EventRouter) -> None:
    restart = Intervention(
        trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments={"profile": "max-301s"}
    )
    facts = Facts()
    acting_on(Acts(), router, facts).carry_out(begin("acting", interventions=(restart,)), 0)
    assert facts.spoilt == [("node", "kubelet ended with exit code 1")]


def test_a_node_that_an_intervention_has_left_broken_is_spoilt(begin: Begin, router: EventRouter) -> None:
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_KUBELET)
    acting = begin("acting", interventions=(kill,))
    facts = Facts()
    acting_on(Acts(), router, facts).carry_out(acting, 0)
    (own,) = written(acting)
    assert own.data["outcome"] == "kubelet of node: it does not start again"
    assert facts.spoilt == [("node", "kubelet of node: it does not start again")]


def test_what_is_done_to_a_node_is_written_into_the_history_of_every_scenario_there(
    begin: Begin, router: EventRouter
) -> None:
    restart = Intervention(trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments={"down_s": 2.0})
    acting, beside, elsewhere = begin("acting", interventions=(restart,)), begin("beside"), begin("far", node="two")
    router.watch((acting, beside, elsewhere))
    cluster = Acts()
    hands = acting_on(cluster, router)
    hands.carry_out(acting, 0)
    assert cluster.restarted == ["node False 2"]
    (own,), (other,) = written(acting), written(beside)
    assert (own.kind, own.data["action"], own.data["index"]) == (Kind.INTERVENTION, "restart-kubelet", 0)
    assert "scenario" not in own.data
    assert (other.data["action"], other.data["index"], other.data["scenario"]) == ("restart-kubelet", None, "acting")
    assert (other.t_ns, other.data["ended_ns"]) == (own.t_ns, own.data["ended_ns"])
    assert written(elsewhere) == []


def test_what_comes_next_comes_while_a_kubelet_that_nobody_waits_for_is_away(begin: Begin, router: EventRouter) -> None:
    back = threading.Event()

    class Away(Acts):
        def restart_kubelet(self, node: str, **more: Any) -> None:
            assert back.wait(60)
            super().restart_kubelet(node, **more)

    arguments = {"down_s": 2, "wait": False}
    restart = Intervention(trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments=arguments)
    write = Intervention(
        trigger=Trigger(), action=InterventionKind.WRITE_KUBELET_CONFIG, arguments={"profile": "max-10s"}
    )
    acting = begin("acting", interventions=(restart, write))
    hands = acting_on(Away(), router)
    for index in range(2):
        hands.carry_out(acting, index)
    back.set()
    hands.join()
    assert [each.data["index"] for each in written(acting)] == [1, 0]
    assert {each.data["outcome"] for each in written(acting)} == {"ok"}


def test_a_node_has_the_label_of_its_profile_back_at_the_end(begin: Begin, router: EventRouter) -> None:
    said: list[tuple[str, Any]] = []

    class Api:
        def call(self, _: str, method: str, path: str, **request: Any) -> None:
            said.append((f"{method} {path}", request["body"]["metadata"]["labels"]))

    unlabel = Intervention(trigger=Trigger(), action=InterventionKind.UNLABEL_NODE)
    acting = begin("acting", interventions=(unlabel,))
    hands = acting_on(Acts(), router, api=cast("KubeApi", Api()))
    hands.carry_out(acting, 0)
    hands.restore("node", "max-2s@1.36.4")
    where = f"PATCH /api/v1/nodes/{acting.node_name}"
    assert said == [(where, {PROFILE_LABEL: None}), ("PATCH /api/v1/nodes/node", {PROFILE_LABEL: "max-2s-v1-36-4"})]


def test_an_intervention_comes_due_once(begin: Begin) -> None:
    def at(**trigger: Any) -> Intervention:
        return Intervention(trigger=Trigger(**trigger), action=InterventionKind.ANNOTATE)

    watched = begin(
        "s",
        interventions=(at(container="app", after_restart=0), at(after_s=1000), at(container="app", after_restart=1)),
    )
    watched.joined("uid-s", "s")
    assert watched.due_interventions() == []
    watched.take(runtime(Kind.EXITED, 1, "s"))
    assert watched.due_interventions() == [0]
    assert watched.due_interventions() == []


def test_the_newest_sandbox_of_the_pod_is_killed(begin: Begin, router: EventRouter, tmp_path: Path) -> None:
    peer = Peer(tmp_path / "socket")
    for identity, created_ns in (("first", 1), ("second", 2), ("of-another", 3)):
        pod = "other" if identity == "of-another" else "s"
        peer.containers[identity] = api_pb2.Container(
            id=identity, labels=labels(pod, None), created_at=stamp(created_ns)
        )
    peer.start()
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_SANDBOX)
    acting = begin("s", interventions=(kill,))
    acting.joined("uid-s", "s")
    acting.node = msgspec.structs.replace(acting.node, runtime_socket=peer.socket)
    try:
        acting_on(Acts(), router).carry_out(acting, 0)
    finally:
        peer.stop()
    assert peer.calls == ["k8s.io Kill second 9"]
    assert written(acting)[0].data["outcome"] == "ok"


def test_the_newest_instance_of_a_container_is_removed(begin: Begin, router: EventRouter, tmp_path: Path) -> None:
    peer = Peer(tmp_path / "socket")
    for identity, container, created_ns in (("first", "app", 1), ("second", "app", 2), ("sandbox", None, 3)):
        peer.containers[identity] = api_pb2.Container(
            id=identity, labels=labels("s", container), created_at=stamp(created_ns)
        )
    peer.start()
    actions = tuple(
        Intervention(trigger=Trigger(), action=InterventionKind.REMOVE_CONTAINER, arguments={"container": name})
        for name in ("app", "other")
    )
    acting = begin("s", interventions=actions)
    acting.joined("uid-s", "s")
    acting.node = msgspec.structs.replace(acting.node, runtime_socket=peer.socket)
    try:
        for index in range(len(actions)):
            acting_on(Acts(), router).carry_out(acting, index)
    finally:
        peer.stop()
    assert peer.calls == ["k8s.io RemoveContainer second"]
    outcomes = [each.data["outcome"] for each in written(acting)]
    assert outcomes == ["ok", "scenario s: its container 'other' has no instance."]


def test_a_sandbox_out_of_reach_is_reported(begin: Begin, router: EventRouter) -> None:
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_SANDBOX)
    acting = begin("s", interventions=(kill,))
    acting_on(Acts(), router).carry_out(acting, 0)
    assert written(acting)[0].data["outcome"] == "node node: its runtime cannot be reached from here."


LOOK_S = 0.01


def due_s(seed: str, looks: int = 3_000) -> list[float]:
    """When patches are due for somebody who looks every 10 ms."""
    pokes = Annotations(seed, 0.0)
    return [look * LOOK_S for look in range(looks) if pokes.due(look * LOOK_S)]


@given(st.text(max_size=20))
def test_the_time_between_two_patches_is_drawn_anew_each_time(seed: str) -> None:
    least_s, most_s = POKE_EVERY_S
    periods_s = [after - before for before, after in pairwise(due_s(seed))]
    assert all(least_s - LOOK_S <= each <= most_s + LOOK_S for each in periods_s)
    assert max(periods_s) - min(periods_s) > 0.1


def test_the_same_scenario_is_patched_at_the_same_times() -> None:
    assert due_s("crashing") == due_s("crashing")
    assert due_s("crashing") != due_s("waiting")
