"""What crashing pods use of a control plane follows from their rates; the nearest limit is the one with the least headroom."""

import pytest

from crashloop.predict.costs import STORED_BYTES_PER_WRITE as STORED
from crashloop.predict.limits import KUBELET_SEATS, ControlPlaneLimit, limits, tightest
from crashloop.predict.load import CrashLoad, predict
from suites.selftest.kit.predict_kit import COSTS, ONE_SECOND

TEN_NODES = predict(CrashLoad(nodes=10, pods=4, curve=ONE_SECOND, cores=4.0), COSTS)
"""20 restarts, 100 requests and 60 writes a second."""


def rows() -> dict[str, ControlPlaneLimit]:
    return {each.name: each for each in limits(TEN_NODES)}


def test_the_seats_of_kubelets_are_their_share_of_all() -> None:
    assert KUBELET_SEATS == 74  # of 600, 30 of 245 shares


def test_a_kubelet_has_its_own_limit() -> None:
    own = rows()["client rate of a kubelet"]
    assert (own.used, own.limit, own.share, own.headroom) == (10, 100, 0.1, 10)


def test_requests_in_flight_are_rate_times_duration() -> None:
    assert rows()["API server, in flight"].used == pytest.approx(40 * 0.003 + 60 * 0.006)


def test_each_write_is_an_fsync_at_most() -> None:
    assert rows()["etcd, writes to its log"].share == pytest.approx(60 / 500)


def test_the_database_grows_until_the_next_compaction() -> None:
    grown = rows()["etcd, growth between compactions"]
    assert grown.used == pytest.approx(60 * 300 * STORED / 2**20)


def test_every_status_goes_to_three_watches() -> None:
    assert rows()["watch events sent"].used == pytest.approx(60 / 2 * 3)


def test_the_nearest_limit_has_the_least_headroom() -> None:
    found = tightest(TEN_NODES)
    assert found.name == "etcd, writes to its log"
    assert all((each.share or 0) <= (found.share or 0) for each in limits(TEN_NODES)[1:])


def test_a_load_without_use_has_no_headroom() -> None:
    idle = ControlPlaneLimit(name="x", unit="", used=0.0, limit=5.0, how="", extrapolated=False)
    assert (idle.share, idle.headroom) == (0.0, None)
