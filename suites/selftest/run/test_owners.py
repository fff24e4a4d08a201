"""What makes the pods of a scenario decides what its provider has to be capable of."""

import pytest

from crashloop.cluster.kind.cluster import ALWAYS as KIND
from crashloop.cluster.provider import Capability
from crashloop.run.planning import Declared, build_plan
from crashloop.spec.owner import Job, Owner, StaticPod
from crashloop.spec.plan import Budgets
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.scenario import PodScenario, Until

SETTINGS = {"provider": "kind", "scope": "full", "kubernetes_version": "1.37.1"}


def skipped(owner: Owner | None, capabilities: frozenset[Capability]) -> list[str]:
    """Why a scenario is not recorded; nothing if it is."""
    pod = Pod(containers=(Container(),), restart_policy=RestartPolicy.NEVER)
    scenario = PodScenario(name="owned", profile="max-2s", pod=pod, until=Until(), owner=owner)
    plan = build_plan((Declared("BACKOFF-24", scenario),), SETTINGS, capabilities, Budgets())
    assert plan is not None
    return [each.reason for each in plan.skipped]


@pytest.mark.parametrize(
    ("owner", "capability"), [(StaticPod(), Capability.STATIC_PODS), (Job(), Capability.JOBS)], ids=["file", "job"]
)
def test_a_provider_that_cannot_carry_the_owner_out_skips_its_scenarios(owner: Owner, capability: Capability) -> None:
    able = frozenset(Capability)
    assert skipped(owner, able) == []
    assert skipped(owner, able - {capability}) == [f"the provider lacks the capability {capability}"]
    assert skipped(None, able - {capability}) == []


def test_kind_writes_no_files_of_nodes() -> None:
    assert skipped(StaticPod(), KIND) == ["the provider lacks the capability static-pods"]
