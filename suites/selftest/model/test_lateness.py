"""The latest legal restart per delay, release and mode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.lateness import OWN_S, latest_s, soonest_s
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

V1_34, V1_35, V1_37 = (KubernetesVersion(1, minor) for minor in (34, 35, 37))
DELAYS = st.floats(min_value=1, max_value=300)


@pytest.mark.parametrize(
    ("due_s", "lateness_s"),
    [
        (1, 1.5),
        (2, 2),
        (4, 3),
        (8, 5),
        (10, 6),
        (11, 6.5),
        (16, 9),
        (20, 11),
        (32, 17),
        (40, 21),
        (60, 31),
        (64, 29),
        (80, 13),
        (128, 31),
        (160, 24),
        (256, 31),
        (300, 31),
    ],
)
@pytest.mark.parametrize("version", [V1_35, V1_37], ids=str)
def test_lateness_follows_the_requeue_of_the_remaining_time(
    due_s: float, lateness_s: float, version: KubernetesVersion
) -> None:
    assert latest_s(due_s, version, mode=Mode.NATURAL) == pytest.approx(due_s + lateness_s + OWN_S)


@pytest.mark.parametrize(
    ("due_s", "latest"), [(10, 16), (80, 111), (300, 331)], ids=["half-of-the-delay", "half-a-minute", "at-the-maximum"]
)
def test_a_pod_with_other_sync_sources_may_be_late_by_half_the_delay_or_half_a_minute(
    due_s: float, latest: float
) -> None:
    assert latest_s(due_s, V1_37, mode=Mode.NATURAL, other_sync_sources=True) == pytest.approx(latest + OWN_S)


@pytest.mark.parametrize("due_s", [1, 2, 10, 300])
def test_up_to_1_34_the_kubelet_polls(due_s: float) -> None:
    assert latest_s(due_s, V1_34, mode=Mode.NATURAL) == pytest.approx(due_s + 16 + OWN_S)


@pytest.mark.parametrize(
    ("due_s", "soonest"), [(0, 0), (1, 10), (9, 10), (11, 11)], ids=["free", "cap-1s", "below-the-poll", "above-it"]
)
def test_up_to_1_34_delays_below_the_poll_last_as_long_as_it(due_s: float, soonest: float) -> None:
    assert soonest_s(due_s, V1_34, mode=Mode.NATURAL) == soonest
    assert soonest_s(due_s, V1_34, mode=Mode.ANNOTATED) == due_s
    assert soonest_s(due_s, V1_37, mode=Mode.NATURAL) == due_s


@pytest.mark.parametrize("version", [V1_34, V1_37], ids=str)
def test_a_free_restart_comes_once_the_exit_is_noticed(version: KubernetesVersion) -> None:
    assert latest_s(0, version, mode=Mode.NATURAL) == 2.0
    assert latest_s(0, version, mode=Mode.ANNOTATED) == 2.5
    assert latest_s(0, version, mode=Mode.NATURAL, detection_s=0.5) == 0.5


@pytest.mark.parametrize("version", [V1_34, V1_37], ids=str)
def test_annotations_take_the_jitter_away(version: KubernetesVersion) -> None:
    assert latest_s(40, version, mode=Mode.ANNOTATED) == 42.5


@given(due_s=DELAYS)
def test_a_pod_left_alone_is_never_later_than_one_with_other_sync_sources(due_s: float) -> None:
    alone = latest_s(due_s, V1_37, mode=Mode.NATURAL)
    assert due_s < alone <= due_s + 31 + OWN_S + 1e-9
    assert alone <= latest_s(due_s, V1_37, mode=Mode.NATURAL, other_sync_sources=True)


@given(
    due_s=DELAYS,
    detected_s=st.floats(min_value=0, max_value=2),
    jitters=st.lists(st.floats(min_value=1, max_value=1.5), min_size=12, max_size=12),
    ticks=st.lists(st.floats(min_value=0, max_value=1), min_size=12, max_size=12),
)
def test_no_sequence_of_requeues_exceeds_the_bound(
    due_s: float, detected_s: float, jitters: list[float], ticks: list[float]
) -> None:
    now_s = detected_s
    for jitter, tick_s in zip(jitters, ticks, strict=True):
        if now_s >= due_s:
            break
        now_s += min(due_s - now_s, 60) * jitter + tick_s
    assert now_s <= latest_s(due_s, V1_37, mode=Mode.NATURAL) + 1e-9
