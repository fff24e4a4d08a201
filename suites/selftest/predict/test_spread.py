"""Crashing pods are spread over nodes as evenly as whole pods allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.errors import UsageError
from crashloop.predict.load import Spread, crashing_pods, share_of, spread


@pytest.mark.parametrize(
    ("crashing", "nodes", "found"),
    [
        (60, 500, Spread(60, 1, 0)),
        (500, 500, Spread(500, 1, 0)),
        (700, 500, Spread(500, 2, 300)),
        (5, 3, Spread(3, 2, 1)),
        (2001, 1001, Spread(1001, 2, 1)),
        (1, 1, Spread(1, 1, 0)),
    ],
)
def test_pods_are_spread(crashing: int, nodes: int, found: Spread) -> None:
    assert spread(crashing, nodes) == found


@given(st.integers(1, 100_000), st.integers(1, 5_000))
def test_no_pod_is_lost_and_none_is_added(crashing: int, nodes: int) -> None:
    found = spread(crashing, nodes)
    assert found.nodes <= nodes
    assert found.nodes * found.pods - found.one_less_on == crashing
    assert 0 <= found.one_less_on < found.nodes


def test_all_pods_crash_unless_a_share_or_a_number_is_named() -> None:
    assert crashing_pods(10, None, share=None, number=None) == 1100
    assert crashing_pods(10, 30, share="10%", number=None) == 30
    assert crashing_pods(10, 30, share=None, number=7) == 7
    assert crashing_pods(2, 3, share="0.01", number=None) == 1


@pytest.mark.parametrize("text", ["0%", "0", "101%", "-5%", "many", "10%x", "nan"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a share of the pods above 0 % and up to 100 %, such as 10%"):
        share_of(text)


def test_more_crashing_pods_than_pods_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--crashing-pods 61: the cluster has 2 x 30 pods \(--nodes, --pods\)\."):
        crashing_pods(2, 30, share=None, number=61)


def test_a_share_and_a_number_are_refused() -> None:
    with pytest.raises(UsageError, match="both name the crashing pods"):
        crashing_pods(2, 30, share="10%", number=6)
