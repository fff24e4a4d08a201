"""Which curve a kubelet configuration stands for, in every cell of gates and period, in every release."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.model.config import Curve, Refusal, RefusalKind, effective_curve
from crashloop.model.variants import (
    GATE_OFF_REFUSES_START,
    REDUCED_DECAY_KEEPS_300S,
    RESTART_RULES_OFF_REFUSES_START,
    as_shipped,
)
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    UNSET,
    KubeletProfile,
)
from crashloop.spec.version import KubernetesVersion
from suites.selftest.kit.model_inputs import V1_33, V1_34, V1_35, V1_36, V1_37, VERSIONS, profile

OFF, RANGE, DECODE = RefusalKind.GATE_OFF, RefusalKind.OUT_OF_RANGE, RefusalKind.NOT_A_DURATION
# fmt: off
AS_SHIPPED: list[tuple[Any, tuple[Any, Any, Any, Any]]] = [
    # period       K off, R off      K off, R on     K on, R off       K on, R on
    (UNSET,      ((10, 300),        (1, 60),        (10, 300),        (1, 300))),
    ("0s",       (OFF,              OFF,            RANGE,            RANGE)),
    ("500ms",    (OFF,              OFF,            RANGE,            RANGE)),
    ("999.9ms",  (OFF,              OFF,            RANGE,            RANGE)),
    ("1s",       (OFF,              OFF,            (1, 1),           (1, 1))),
    ("2s",       (OFF,              OFF,            (2, 2),           (1, 2))),
    ("4s",       (OFF,              OFF,            (4, 4),           (1, 4))),
    ("10s",      (OFF,              OFF,            (10, 10),         (1, 10))),
    ("11s",      (OFF,              OFF,            (10, 11),         (1, 11))),
    ("60s",      (OFF,              OFF,            (10, 60),         (1, 60))),
    ("300s",     (OFF,              OFF,            (10, 300),        (1, 300))),
    ("300.0009s", (OFF,             OFF,            (10, 300.0009),   (1, 300.0009))),
    ("301s",     (OFF,              OFF,            RANGE,            RANGE)),
    (4,          (DECODE,           DECODE,         DECODE,           DECODE)),
    ("4",        (DECODE,           DECODE,         DECODE,           DECODE)),
]
# fmt: on
CELL_IDS = ["number-4" if period == 4 else str(period) for period, _ in AS_SHIPPED]
GATE_MIXES = [(False, False), (False, True), (True, False), (True, True)]


def outcome(curve: Curve | Refusal) -> Any:
    return curve.kind if isinstance(curve, Refusal) else (curve.initial_s, curve.maximum_s)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize(("period", "row"), AS_SHIPPED, ids=CELL_IDS)
def test_every_cell_of_gates_and_period_is_as_the_kubelet_has_it(
    version: KubernetesVersion, period: Any, row: tuple[Any, ...]
) -> None:
    cells = tuple(
        outcome(
            effective_curve(
                profile(period, **{MAX_PERIOD_GATE: max_period, REDUCED_DECAY_GATE: reduced}),
                version,
                deviations=as_shipped(version),
            )
        )
        for max_period, reduced in GATE_MIXES
    )
    assert cells == row


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize(("period", "row"), AS_SHIPPED, ids=CELL_IDS)
def test_what_is_documented_differs_only_with_the_gate_off_and_with_both_gates_on(
    version: KubernetesVersion, period: Any, row: tuple[Any, ...]
) -> None:
    documented = tuple((10, 300) if cell is OFF else cell for cell in row[:1])
    documented += tuple((1, 60) if cell is OFF else cell for cell in row[1:2])
    documented += (row[2], (1, 60) if period is UNSET else row[3])
    if period == "300.0009s":  # more than 300 s, if only in whole milliseconds it is not
        documented = (*documented[:2], RANGE, RANGE)
    cells = tuple(
        outcome(effective_curve(profile(period, **{MAX_PERIOD_GATE: max_period, REDUCED_DECAY_GATE: reduced}), version))
        for max_period, reduced in GATE_MIXES
    )
    assert cells == documented


@pytest.mark.parametrize(
    ("version", "unset", "set_to_2s", "reduced"),
    [
        (V1_33, (10, 300), OFF, (1, 60)),
        (V1_34, (10, 300), OFF, (1, 60)),
        (V1_35, (10, 300), (2, 2), (1, 300)),
        (V1_36, (10, 300), (2, 2), (1, 300)),
        (V1_37, (10, 300), (2, 2), (1, 300)),
    ],
    ids=str,
)
def test_with_default_gates_a_period_is_honoured_from_1_35_on(
    version: KubernetesVersion, unset: Any, set_to_2s: Any, reduced: Any
) -> None:
    shipped = as_shipped(version)
    assert outcome(effective_curve(profile(), version, deviations=shipped)) == unset
    assert outcome(effective_curve(profile("2s"), version, deviations=shipped)) == set_to_2s
    with_gate = profile(**{REDUCED_DECAY_GATE: True})
    assert outcome(effective_curve(with_gate, version, deviations=shipped)) == reduced


def test_each_variant_of_the_configuration_acts_by_itself() -> None:
    off = profile("2s", **{MAX_PERIOD_GATE: False})
    assert outcome(effective_curve(off, V1_37)) == (10, 300)
    assert outcome(effective_curve(off, V1_37, deviations=frozenset({GATE_OFF_REFUSES_START}))) is OFF
    reduced = profile(**{REDUCED_DECAY_GATE: True})
    assert outcome(effective_curve(reduced, V1_37)) == (1, 60)
    assert outcome(effective_curve(reduced, V1_37, deviations=frozenset({REDUCED_DECAY_KEEPS_300S}))) == (1, 300)
    rules_off = profile(**{RESTART_RULES_GATE: False})
    variant = frozenset({RESTART_RULES_OFF_REFUSES_START})
    assert outcome(effective_curve(rules_off, V1_37)) == (10, 300)
    assert outcome(effective_curve(rules_off, V1_37, deviations=variant)) is RefusalKind.GATE_DEPENDENCY
    assert outcome(effective_curve(rules_off, V1_35, deviations=variant)) == (10, 300)
    both_off = profile(**{RESTART_RULES_GATE: False, RESTART_ALL_GATE: False})
    assert outcome(effective_curve(both_off, V1_37, deviations=variant)) == (10, 300)


def test_a_node_with_a_kubelet_of_its_own_goes_by_that_release() -> None:
    skewed = KubeletProfile(
        name="old", config={"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}, kubernetes_version="1.34.4"
    )
    assert outcome(effective_curve(skewed, V1_37, deviations=as_shipped(V1_34))) is OFF


@given(period_ms=st.integers(min_value=1000, max_value=300_000), reduced=st.booleans())
def test_every_period_in_range_is_the_maximum_and_lowers_the_initial_delay(period_ms: int, reduced: bool) -> None:
    curve = effective_curve(profile(f"{period_ms}ms", **{REDUCED_DECAY_GATE: reduced}), V1_37)
    assert curve == Curve(min(1 if reduced else 10, period_ms / 1000), period_ms / 1000)


@given(
    period_ms=st.integers(min_value=-(10**9), max_value=10**9).filter(
        lambda period_ms: not 1000 <= period_ms <= 300_000
    )
)
def test_every_period_out_of_range_is_refused(period_ms: int) -> None:
    assert outcome(effective_curve(profile(f"{period_ms}ms"), V1_37)) is RANGE
