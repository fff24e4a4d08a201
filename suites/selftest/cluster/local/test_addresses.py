"""Networks of local clusters stay out of the way of what the host has, and of each other."""

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.cluster.local.plan import MOST_NODES, SERVICE_RANGE, free_network
from crashloop.errors import PrerequisiteError

LONGEST_LINK_NAME = 15
"""IFNAMSIZ of linux/if.h, without the closing NUL."""


def test_a_vpn_that_takes_a_whole_private_range_leaves_others() -> None:
    assert free_network([IPv4Network("10.0.0.0/8")]).prefix == "198.18"


def test_the_first_network_is_taken_where_nothing_is_in_use() -> None:
    assert free_network([IPv4Network("192.0.2.0/24")]).prefix == "10.101"


def test_a_network_that_a_route_or_an_address_overlaps_is_left_out() -> None:
    in_use: list[IPv4Network | IPv4Address] = [
        IPv4Network("10.101.7.0/24"),
        IPv4Address("10.102.0.1"),
        IPv4Network("10.103.0.0/16"),
    ]
    assert free_network(in_use).prefix == "10.104"


def test_a_host_without_a_free_network_reads_what_to_do() -> None:
    with pytest.raises(PrerequisiteError, match=r"crashloop down --all"):
        free_network([IPv4Network("0.0.0.0/1"), IPv4Network("128.0.0.0/1")])


@given(st.integers(0, MOST_NODES - 1), st.integers(0, MOST_NODES - 1))
def test_no_two_nodes_share_an_address_or_the_range_of_their_pods(one: int, other: int) -> None:
    network = free_network([])
    ranges = [IPv4Network(network.pods(each)) for each in (one, other)]
    addresses = [IPv4Address(network.node(each)) for each in (one, other)]
    assert all(each.subnet_of(network.all) for each in ranges)
    assert all(address in IPv4Network(f"{network.hub}/24", strict=False) for address in addresses)
    assert (one == other) == (addresses[0] == addresses[1]) == ranges[0].overlaps(ranges[1])
    assert network.hub not in map(str, addresses)
    assert network.host not in map(str, addresses)


def test_no_network_overlaps_the_range_of_services() -> None:
    taken: list[IPv4Network] = []
    for _ in range(73):
        network = free_network(taken)
        taken.append(network.all)
        assert len(network.host_link) <= LONGEST_LINK_NAME
    assert not any(each.overlaps(IPv4Network(SERVICE_RANGE)) for each in taken)
