"""When the API may show CrashLoopBackOff."""

import pytest

from crashloop.model.waiting_reason import FirstSeen, first_seen
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

V1_34, V1_37 = KubernetesVersion(1, 34), KubernetesVersion(1, 37)


@pytest.mark.parametrize(
    ("due_s", "version", "mode", "others", "expected"),
    [
        (0, V1_37, Mode.NATURAL, False, None),
        (10, V1_37, Mode.NATURAL, False, FirstSeen(10, 16)),
        (60, V1_37, Mode.NATURAL, False, FirstSeen(60, 91)),
        (300, V1_37, Mode.NATURAL, False, FirstSeen(60, 93)),
        (300, V1_37, Mode.NATURAL, True, FirstSeen(0, 331)),
        (300, V1_37, Mode.ANNOTATED, False, FirstSeen(0, 4.5)),
        (1, V1_37, Mode.ANNOTATED, False, FirstSeen(0, 3.5)),
        (2, V1_34, Mode.NATURAL, False, FirstSeen(10, 18)),
        (300, V1_34, Mode.NATURAL, False, FirstSeen(10, 18)),
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
def test_the_reason_shows_from_the_next_sync_on(
    due_s: float, version: KubernetesVersion, mode: Mode, others: bool, expected: FirstSeen | None
) -> None:
    assert first_seen(due_s, version, mode=mode, other_sync_sources=others) == expected
