"""A run on several versions: one kubelet of each release that the API server may have, on what the suite judges anyway."""

import msgspec
import pytest

from crashloop.cluster.local.provider import LocalProvider
from crashloop.errors import UsageError
from crashloop.run.kinds import can_join, on_version
from crashloop.run.planning import Declared, build_plan
from crashloop.settings import Versions
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.plan import Budgets, compared
from crashloop.spec.requirement import Scope
from crashloop.spec.scenario import Claim, Figure, TextScenario
from crashloop.spec.version import DEFAULT_VERSION, NEWEST, OLDEST, PINNED, KubernetesVersion
from fixtures.requirements import in_scope
from suites.conformance.scenarios import EVERY_RULE, MAX_2S, starting
from suites.conformance.test_releases import VERSION_SET, older_controllers, on_every_release, upgraded

DECLARED = tuple(on_every_release())


def joins(version: str, api_server: str) -> bool:
    return can_join(on_version(MAX_2S, version), KubernetesVersion.parse(api_server))


def test_each_release_that_the_suite_knows_has_one_version_and_the_newest_is_the_default() -> None:
    releases = [KubernetesVersion.parse(each).release for each in PINNED]
    assert releases == [(1, minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]
    assert PINNED[-1] == DEFAULT_VERSION == Versions().kubernetes


def test_a_pod_is_the_same_on_a_node_of_its_own() -> None:
    old = on_version(MAX_2S, "1.36.4")
    assert (old.name, old.profile) == ("crashing-max-2s-v1-36-4", "max-2s@1.36.4")
    assert (old.pod, old.until, old.mode) == (MAX_2S.pod, MAX_2S.until, MAX_2S.mode)


def test_a_kubelet_that_looks_seldom_is_watched_for_longer() -> None:
    old = on_version(MAX_2S, "1.34.4")
    assert (old.until.restarts, old.until.at_most_s) == (MAX_2S.until.restarts, 240.0)


def test_a_start_of_a_kubelet_is_one_of_that_version() -> None:
    tried = on_version(starting("max-301s"), "1.36.4")
    assert tried.profiles == ("stock@1.36.4", "max-301s@1.36.4", "max-300s@1.36.4")


@pytest.mark.parametrize(
    ("api_server", "kubelets"),
    [("1.37.1", PINNED[1:]), ("1.36.4", PINNED[:4]), ("1.33.13", PINNED[:1])],
)
def test_kubelets_are_three_minor_versions_older_at_most_and_never_newer(
    api_server: str, kubelets: tuple[str, ...]
) -> None:
    assert tuple(each for each in PINNED if joins(each, api_server)) == kubelets


def test_each_history_of_a_comparison_needs_a_kubelet_that_may_join() -> None:
    both = compared("both", on_version(MAX_2S, "1.33.13"), on_version(MAX_2S, "1.37.1"))
    assert not can_join(both, KubernetesVersion.parse("1.37.1"))
    assert not can_join(both, KubernetesVersion.parse("1.36.4"))
    assert can_join(compared("plain", *EVERY_RULE), KubernetesVersion.parse("1.37.1"))


def test_every_release_is_judged_on_the_same() -> None:
    by_release = [
        {
            (each.requirement, each.scenario.name.removesuffix(suffix))
            for each in DECLARED
            if suffix in each.scenario.name
        }
        for suffix in (f"-v{version.replace('.', '-')}" for version in PINNED)
    ]
    assert by_release == [by_release[0]] * len(PINNED)
    assert {scenario for _, scenario in by_release[0]} == VERSION_SET


def test_three_profiles_are_enough() -> None:
    profiles = {each.node_profile for one in DECLARED for each in one.scenario.scenarios}
    assert len(profiles) == 3 * len(PINNED)


def test_no_other_scope_has_nodes_of_their_own_versions() -> None:
    assert {scope for scope in Scope for each in DECLARED if in_scope(each, scope)} == {Scope.VERSIONS}
    assert not in_scope(Declared("CAP-3", MAX_2S), Scope.VERSIONS)


def test_what_has_no_kubelet_has_no_version() -> None:
    claim = Claim(says="ten restarts", figure=Figure.RESTARTS, initial_s=10.0, maximum_s=300.0, least=10, most=10)
    with pytest.raises(TypeError, match="scenario 'sums' has no kubelet"):
        on_version(TextScenario(name="sums", claims=(claim,)), "1.36.4")


def test_controllers_are_one_release_older_than_their_api_server() -> None:
    older = {each.name: each for each in older_controllers()}["job-by-controllers-v1-36-4"]
    assert older.control_plane is not None
    assert older.control_plane.controllers_version == "1.36.4"
    assert [can_join(older, KubernetesVersion.parse(each)) for each in ("1.36.4", "1.37.1")] == [False, True]


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.35.8", r"kube-controller-manager 1\.35\.8: version 1\.35\.8 is 2 minor versions older than the API server"),
        ("1.38.0", r"kube-controller-manager 1\.38\.0: version 1\.38\.0 is newer than the API server"),
    ],
)
def test_controllers_that_upstream_does_not_support_are_refused(version: str, message: str) -> None:
    scenario = msgspec.structs.replace(MAX_2S, control_plane=ControlPlane(controllers_version=version))
    settings = {"provider": "local", "scope": "versions", "kubernetes_version": "1.37.1"}
    with pytest.raises(UsageError, match=message):
        build_plan((Declared("CAP-3", scenario),), settings, LocalProvider.capabilities, Budgets())


def test_an_upgraded_kubelet_needs_both_versions() -> None:
    loop = upgraded("1.35.8", "1.36.4")
    assert loop.profiles == ("max-2s@1.35.8", "max-2s@1.36.4")
    assert [can_join(loop, KubernetesVersion.parse(each)) for each in ("1.35.8", "1.36.4", "1.37.1")] == [
        False,
        True,
        True,
    ]
