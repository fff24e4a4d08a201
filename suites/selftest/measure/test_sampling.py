"""Of many nodes a sample is scraped, which its seed alone decides."""

import pytest

from crashloop.measure.measuring import scraped
from crashloop.slo.scrapes import NodeSample
from crashloop.stress.evidence import scraped_of
from crashloop.stress.profile import StressNode
from suites.selftest.kit.stress_kit import profile

FIFTY = [f"worker-{number}" for number in range(50)]


@pytest.mark.parametrize("nodes", [1, 8], ids=["one", "as-many-as-may-be"])
def test_few_nodes_are_all_scraped(nodes: int) -> None:
    found = scraped(FIFTY[:nodes], at_most=8, seed=1)
    assert (found.nodes, found.sample) == (frozenset(FIFTY[:nodes]), None)


def test_of_many_a_sample_is_scraped_and_says_so() -> None:
    found = scraped(FIFTY, at_most=8, seed=1)
    assert len(found.nodes) == 8
    assert found.sample == NodeSample(scraped=8, of=50, seed=1)
    assert found.sample.words == "8 of 50 nodes, a sample by seed 1"


def test_the_seed_decides_the_sample_and_the_order_of_the_names_does_not() -> None:
    assert scraped(reversed(FIFTY), at_most=8, seed=1) == scraped(FIFTY, at_most=8, seed=1)
    assert scraped(FIFTY, at_most=8, seed=2).nodes != scraped(FIFTY, at_most=8, seed=1).nodes


def test_a_further_node_changes_at_most_one_of_the_sample() -> None:
    before = scraped(FIFTY, at_most=8, seed=1).nodes
    for number in range(20):
        assert len(before - scraped([*FIFTY, f"new-{number}"], at_most=8, seed=1).nodes) <= 1


def test_both_arms_of_a_comparison_are_scraped() -> None:
    nodes = (StressNode(name="a", profile="max-1s", arm="baseline"), StressNode(name="b", profile="max-1s"))
    assert scraped_of(profile(nodes=nodes, scrape_nodes=1), ["a", "b"]).nodes == {"a", "b"}
    assert len(scraped_of(profile(nodes=nodes[1:], scrape_nodes=1), ["a", "b"]).nodes) == 1
