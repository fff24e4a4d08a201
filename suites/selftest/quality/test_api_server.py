"""The API server that drops fields: which pods it changes, and that it is the real one with one flag more.

The front before the API server: which statuses it rewrites, and that everything else arrives as it was sent.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from quality.api_front import altered_status, is_status_patch
from quality.api_server import Drop, policies
from quality.executable import write_api_server
from quality.planted import PLANTED, Planted

SECOND = Drop("restartPolicyRules/1", where="size(c.restartPolicyRules) > 1")
DROPPING = [each for each in PLANTED if each.fault.drops]


def test_a_policy_removes_each_field_from_regular_and_init_containers_of_the_pods_of_its_ending() -> None:
    policy, binding = yaml.safe_load_all(policies({"max-2s--drops": (SECOND,)}))
    assert binding["spec"] == {"policyName": policy["metadata"]["name"]}
    (condition,) = policy["spec"]["matchConditions"]
    assert condition["expression"] == "object.metadata.name.endsWith('max-2s--drops')"
    assert [each["jsonPatch"]["expression"] for each in policy["spec"]["mutations"]] == [
        f"object.spec.?{of}.orValue([]).transformList(i, c, size(c.restartPolicyRules) > 1, "
        f"JSONPatch{{op: 'remove', path: '/spec/{of}/' + string(i) + '/restartPolicyRules/1'}})"
        for of in ("containers", "initContainers")
    ]


@pytest.mark.parametrize("planted", DROPPING, ids=[each.fault.name for each in DROPPING])
def test_the_names_of_the_scenarios_of_a_dropping_server_end_as_those_of_no_other_node(planted: Planted) -> None:
    ending = {
        (each.fault.name, name)
        for each in PLANTED
        for name in (trial.on(each.profile).name for trial in each.trials)
        if name.endswith(planted.profile)
    }
    assert {fault for fault, _ in ending} == {planted.fault.name}
    assert len(ending) == len(planted.trials)


def test_the_real_api_server_starts_with_the_policies(tmp_path: Path) -> None:
    real = tmp_path / "real server"
    real.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    real.chmod(0o755)
    wrong = write_api_server(tmp_path / "bin", {"max-2s--drops": (SECOND,)}, real)
    given = subprocess.run(
        [wrong, "--secure-port=6443"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert wrong.name == "kube-apiserver"
    assert given[0] == "--secure-port=6443"
    (admission,) = (each.removeprefix("--admission-control-config-file=") for each in given[1:])
    (plugin,) = yaml.safe_load(Path(admission).read_text(encoding="utf-8"))["plugins"]
    manifests = Path(plugin["configuration"]["staticManifestsDir"])
    assert [each.name for each in manifests.iterdir()] == ["policies.yaml"]


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
