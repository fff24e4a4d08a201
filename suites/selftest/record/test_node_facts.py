"""A history begins with what is known of its node's kubelet now: after a restart, with what the new one is."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crashloop.cluster.provider import Node
from crashloop.history.event import Event
from crashloop.kube.client import KubeApi
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.site import NodeFacts, RecordingSite
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from crashloop.waiting import wait_until
from suites.selftest.kit.object_peer import ObjectPeer, serving
from suites.selftest.kit.recording_site import Described, plan_of, site

NODE = Node(name="node", profile="stock")
CHANGE = Intervention(trigger=Trigger(), action=InterventionKind.RESTART_KUBELET, arguments={"profile": "max-2s"})
SCENARIO = PodScenario(
    name="s", profile="stock", pod=Pod(containers=(Container(),)), until=Until(), interventions=(CHANGE,)
)


class Hears:
    """A scenario on the node."""

    name = "hears"
    node_name = "node"

    def __init__(self) -> None:
        self.events: list[Event] = []

    def take(self, event: Event) -> None:
        self.events.append(event)


@pytest.fixture
def where(tmp_path: Path) -> Iterator[RecordingSite]:
    with serving(ObjectPeer(), tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        yield site(api, tmp_path, plan_of(SCENARIO), Described(NODE))


def pid(facts: NodeFacts) -> int | None:
    found: int | None = facts.event("node").data["kubelet_pid"]
    return found


def test_a_restart_reaches_those_on_the_node_and_those_that_begin_later(where: RecordingSite) -> None:
    hears = Hears()
    where.router.listen(hears)
    where.facts.read(NODE)
    assert pid(where.facts) is None
    where.facts.restarted("node", KubeletProcess(77, 5))
    wait_until("the restart to be heard of", lambda: hears.events, timeout_s=60)
    assert [(event.data["kubelet_pid"], event.data["kubelet_started_ns"]) for event in hears.events] == [(77, 5)]
    assert pid(where.facts) == 77


def test_a_kubelet_that_restarts_while_its_node_comes_up_is_read_then(where: RecordingSite) -> None:
    where.facts.restarted("node", KubeletProcess(77, 5))
    where.facts.read(NODE)
    assert pid(where.facts) is None


def test_a_reconfigured_kubelet_is_held_against_its_new_profile_until_it_has_its_own_again(
    where: RecordingSite,
) -> None:
    where.facts.read(NODE)
    later = where.facts.reconfigure("node", "max-2s")
    where.facts.read(NODE)
    assert later.name == "max-2s"
    assert where.facts.reconfigured == {"node"}
    assert where.facts.event("node").data["profile"] == "max-2s"
    assert where.facts.reconfigure("node", None).name == "stock"
    where.facts.read(NODE)
    assert where.facts.reconfigured == frozenset()
    assert "profile" not in where.facts.event("node").data


def test_a_written_profile_counts_from_the_restart_of_the_kubelet(where: RecordingSite) -> None:
    where.facts.read(NODE)
    where.facts.write("node", "max-2s")
    where.facts.read(NODE)
    assert where.facts.reconfigured == {"node"}, "its own profile has to be written again"
    assert "profile" not in where.facts.event("node").data
    where.facts.restarts("node")
    where.facts.read(NODE)
    assert where.facts.event("node").data["profile"] == "max-2s"


def test_a_process_that_another_has_followed_is_not_written_down(where: RecordingSite) -> None:
    """As one that has refused its configuration: the answer is that of the next one."""
    newest, hears = KubeletProcess(78, 9), Hears()
    facts = NodeFacts(where.api, where.plan, where.cluster, where.router, lambda _: newest)
    where.router.listen(hears)
    facts.read(NODE)
    facts.restarted("node", KubeletProcess(77, 5))
    facts.restarted("node", newest)
    wait_until("the restart to be heard of", lambda: hears.events, timeout_s=60)
    assert [each.data["kubelet_pid"] for each in hears.events] == [78]
