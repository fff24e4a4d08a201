"""When the API may show CrashLoopBackOff."""

import pytest

from crashloop.model.pod_status import shows_by_s
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

V1_34, V1_37 = KubernetesVersion(1, 34), KubernetesVersion(1, 37)


@pytest.mark.parametrize(
    ("due_s", "version", "mode", "others", "expected"),
    [
        (0, V1_37, Mode.NATURAL, False, None),
        (10, V1_37, Mode.NATURAL, False, 16.15),
        (60, V1_37, Mode.NATURAL, False, 91.15),
        (300, V1_37, Mode.NATURAL, False, 93),
        (300, V1_37, Mode.NATURAL, True, 331.15),
        (300, V1_37, Mode.ANNOTATED, False, 4.5),
        (1, V1_37, Mode.ANNOTATED, False, 3.5),
        (2, V1_34, Mode.NATURAL, False, 18),
        (300, V1_34, Mode.NATURAL, False, 18),
    ],
    ids=[
        "free",
        "short",
        "as-long-as-a-resync",
        "long",
        "with-neighbours",
        "annotated",
        "annotated-short",
        "polled-short",
        "polled",
    ],
)
def test_the_reason_shows_by_the_next_sync(
    due_s: float, version: KubernetesVersion, mode: Mode, others: bool, expected: float | None
) -> None:
    assert shows_by_s(due_s, version, mode=mode, other_sync_sources=others) == expected
