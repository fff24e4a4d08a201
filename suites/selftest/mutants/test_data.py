"""The lists that people write about mutants fit together, and fit the conformance suite."""

import pytest

import suites.conformance
from crashloop.errors import UsageError
from crashloop.settings import Versions
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion
from fixtures.requirements import declared_in
from mutants.data import load_batteries, load_known, load_sources

VERSION = KubernetesVersion.parse(Versions().kubernetes)
SUITE = {each.scenario.name: each.scenario for each in declared_in(suites.conformance)}


def test_every_function_has_a_battery_and_every_battery_a_function() -> None:
    assert set(load_sources(VERSION).batteries().values()) == set(load_batteries())


def test_no_function_is_listed_twice() -> None:
    names = [function.name for file in load_sources(VERSION).files for function in file.functions]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", load_batteries())
def test_a_battery_has_pods_of_the_conformance_suite_each_once(name: str) -> None:
    scenarios = [scenario for step in load_batteries()[name].steps(full=True) for scenario in step]
    assert len(scenarios) == len(set(scenarios))
    for scenario in scenarios:
        assert isinstance(SUITE[scenario], PodScenario), scenario


def test_what_is_known_about_survivors_is_about_this_release_and_said_once() -> None:
    known = load_known()
    assert known.release == f"{VERSION.major}.{VERSION.minor}"
    assert not set(known.equivalent) & set(known.holes)
    functions = load_sources(VERSION).batteries()
    for identifier in (*known.equivalent, *known.holes):
        assert any(identifier.startswith(f"{function}-") for function in functions), identifier


def test_a_release_without_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no list of functions for Kubernetes 1\.33\.1; there is one for 1\.37"):
        load_sources(KubernetesVersion(1, 33, 1))
