"""The front before the API server: which statuses it rewrites, and that everything else arrives as it was sent."""

import json
from typing import Any

import pytest

from quality.api_front import altered_status, is_status_patch

WAITS: dict[str, Any] = {"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff"}, "terminated": None}}
RUNS: dict[str, Any] = {"name": "side", "state": {"running": {"startedAt": "2026-11-22T10:00:00Z"}}}


def patch(*states: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"metadata": {"uid": "u"}, "status": {"containerStatuses": states, **more}}).encode()


@pytest.mark.parametrize("stated", [{}, {"phase": "Running"}], ids=["no-phase", "another-phase"])
def test_a_pod_whose_containers_all_wait_is_stated_as_pending(stated: dict[str, Any]) -> None:
    altered = json.loads(altered_status(patch(WAITS, **stated), "Pending"))
    assert altered == {"metadata": {"uid": "u"}, "status": {"containerStatuses": [WAITS], "phase": "Pending"}}


@pytest.mark.parametrize(
    "untouched",
    [patch(WAITS, RUNS), patch(), b'{"status":{"phase":"Running"}}', b"{}"],
    ids=["one-runs", "none", "phase", "empty"],
)
def test_every_other_status_travels_byte_for_byte(untouched: bytes) -> None:
    assert altered_status(untouched, "Pending") == untouched


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("PATCH /api/v1/namespaces/ns/pods/p/status HTTP/1.1", True),
        ("PATCH /api/v1/namespaces/ns/pods/p/status?timeout=10s HTTP/1.1", True),
        ("PATCH /api/v1/nodes/node-1/status HTTP/1.1", False),
        ("GET /api/v1/namespaces/ns/pods/p/status HTTP/1.1", False),
    ],
)
def test_only_patches_of_the_status_of_a_pod_are_looked_into(line: str, is_one: bool) -> None:
    assert is_status_patch(line) is is_one
