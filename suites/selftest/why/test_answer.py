"""Each kind of crash is explained with the numbers of the pod's own status."""

from typing import Any

import pytest

from crashloop.errors import UsageError
from crashloop.model.config import Curve
from crashloop.spec.version import KubernetesVersion
from crashloop.why.answer import ContainerAnswer, Setting, answer_of
from crashloop.why.causes import Cause
from crashloop.why.objects import evidence_of

SETTING = Setting(version=KubernetesVersion(1, 37, 1))
Json = dict[str, Any]


def pod(
    *,
    code: int = 1,
    reason: str = "Error",
    waits: str = "back-off 40s restarting failed container=app pod=p_ns(uid)",
    waiting: str = "CrashLoopBackOff",
    finished: str | None = "2026-01-02T03:04:05Z",
    spec: Json | None = None,
    **container: Any,
) -> Json:
    """A pod whose container ended with that, and waits."""
    ended = {"exitCode": code, "reason": reason, "startedAt": "2026-01-02T03:04:04Z", "finishedAt": finished}
    status = {
        "name": "app",
        "restartCount": 4,
        "state": {"waiting": {"reason": waiting, "message": waits}},
        "lastState": {"terminated": ended},
    }
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1", **container}], **(spec or {})},
        "status": {"containerStatuses": [status]},
    }


def answer(of: Json, setting: Setting = SETTING, events: tuple[Json, ...] = ()) -> ContainerAnswer:
    (found,) = answer_of(of, setting, events)
    return found


def event(reason: str, message: str) -> Json:
    about = {"uid": "u", "fieldPath": "spec.containers{app}"}
    return {"kind": "Event", "reason": reason, "message": message, "involvedObject": about}


PROBE: Json = {"exec": {"command": ["true"]}}


def test_the_next_start_is_due_after_the_delay_that_the_kubelet_states() -> None:
    found = answer(pod())
    assert found.delay_s == 40.0
    assert found.step == "delay 3 of the curve; after another crash 80 s"
    assert str(found.earliest) == "2026-01-02 03:04:45+00:00"
    assert found.latest is not None
    assert found.earliest is not None
    assert (found.latest - found.earliest).total_seconds() == pytest.approx(
        22.15
    )  # half of 40 s, tick, own time, whole seconds
    assert found.curve_by == "the release's default; the node's configuration is not known"


def test_a_kubelet_that_polls_is_later_and_no_earlier_than_its_poll() -> None:
    found = answer(pod(waits="back-off 8s restarting failed container"), Setting(version=KubernetesVersion(1, 34)))
    assert str(found.earliest) == "2026-01-02 03:04:15+00:00"


@pytest.mark.parametrize(
    ("stated", "curve", "step"),
    [
        ("10s", None, "delay 1 of the curve; after another crash 20 s"),
        ("5m0s", None, "at the maximum: it grows no more"),
        ("2s", None, "2 s is no delay of the default curve: the kubelet has another maximum or initial delay"),
        ("2s", Curve(2.0, 2.0), "at the maximum: it grows no more"),
        ("8s", Curve(1.0, 60.0), "delay 4 of the curve; after another crash 16 s"),
        ("8s", Curve(2.0, 2.0), "8 s is no delay of the node's configuration: the kubelet has another maximum or initial delay"),
    ],
)  # fmt: skip
def test_a_stated_delay_has_a_place_on_the_curve(stated: str, curve: Curve | None, step: str) -> None:
    setting = Setting(version=SETTING.version, curve=curve)
    assert answer(pod(waits=f"back-off {stated} restarting failed container"), setting).step == step


@pytest.mark.parametrize(
    ("given", "events", "cause", "said"),
    [
        ({}, (), Cause.EXIT, "exit code 1: it exited by itself"),
        ({"code": 0, "reason": "Completed"}, (), Cause.EXIT, "exit code 0: it exited by itself"),
        ({"code": 139}, (), Cause.SIGNAL, "exit code 139: ended by SIGSEGV"),
        ({"code": 137}, (), Cause.SIGNAL, "exit code 137: ended by SIGKILL"),
        ({"code": 255}, (), Cause.EXIT, "exit code 255: it exited by itself"),
        ({"code": 192}, (), Cause.SIGNAL, "exit code 192: ended by SIGRTMAX"),
        ({"code": 193}, (), Cause.EXIT, "exit code 193: it exited by itself"),
        (
            {"code": 137, "reason": "OOMKilled", "resources": {"limits": {"memory": "1Gi"}}},
            (),
            Cause.MEMORY,
            "it exceeded its memory limit",
        ),
        ({"code": 137, "reason": "OOMKilled"}, (), Cause.MEMORY, "memory of its node ran out; it has no memory limit"),
        ({"code": 255, "reason": "Unknown"}, (), Cause.NONE, "its runtime was away"),
        ({"code": -1073741819}, (), Cause.EXIT, "it ended with the status 0xC0000005 of Windows"),
        ({"code": 137, "waiting": "PostStartHookError", "waits": "x"}, (), Cause.HOOK, "its postStart hook failed"),
        ({"code": 137, "livenessProbe": PROBE}, (), Cause.SIGNAL, "a kill by a probe looks the same"),
        (
            {"code": 137, "livenessProbe": PROBE},
            (event("Killing", "Container app failed liveness probe, will be restarted"),),
            Cause.PROBE,
            "the kubelet killed it (failed liveness probe)",
        ),
        (
            {"code": 137},
            (event("FailedPostStartHook", "PostStartHook failed"),),
            Cause.HOOK,
            "its postStart hook failed",
        ),
        ({"code": 128, "reason": "StartError"}, (), Cause.START, "the runtime could not start it (StartError)"),
        ({"code": 137, "reason": "ContainerStatusUnknown"}, (), Cause.NONE, "does not know how it ended"),
        ({"code": 137, "reason": "RestartingAllContainers"}, (), Cause.RULE, "a rule RestartAllContainers of its pod"),
    ],
)
def test_who_ended_it_is_told(given: Json, events: tuple[Json, ...], cause: Cause, said: str) -> None:
    found = answer(pod(**given), events=events)
    assert found.cause is cause
    assert said in found.last_exit


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("ImagePullBackOff", Cause.IMAGE),
        ("ErrImageNeverPull", Cause.IMAGE),
        ("PreStartHookError", Cause.START),
        ("CreateContainerConfigError", Cause.START),
        ("PostStartHookError", Cause.HOOK),
    ],
)
def test_who_waits_for_something_else_has_no_delay(reason: str, cause: Cause) -> None:
    found = answer(pod(waiting=reason, waits="Back-off pulling image"))
    assert (found.cause, found.delay_s, found.earliest) == (cause, None, None)
    assert reason in found.state


def test_each_rule_is_tried_with_the_codes_that_it_names() -> None:
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42, 88]}}]
    found = answer(pod(restartPolicy="Never", restartPolicyRules=rules, livenessProbe=PROBE))
    assert {each.exit: each.decision for each in found.exits} == {
        "0": "stop",
        "1": "stop",
        "42": "restart",
        "88": "restart",
        "137": "stop",
        "kill by a probe": "stop",
    }
    older = answer(pod(restartPolicy="Never", restartPolicyRules=rules), Setting(version=KubernetesVersion(1, 34)))
    assert {each.decision for each in older.exits} == {"restart"}  # its gate is off: the pod's Always decides


def test_a_kill_beside_a_liveness_probe_and_a_cpu_limit_looks_like_the_spiral() -> None:
    limited: Json = {"resources": {"limits": {"cpu": "100m"}}, "livenessProbe": PROBE}
    assert answer(pod(code=137, **limited)).looks_like_liveness_spiral
    assert not answer(pod(code=1, **limited)).looks_like_liveness_spiral
    assert not answer(pod(code=137, livenessProbe=PROBE)).looks_like_liveness_spiral
    for other in ("OOMKilled", "ContainerStatusUnknown"):
        assert not answer(pod(code=137, reason=other, **limited)).looks_like_liveness_spiral


def test_findings_are_those_of_the_spec_and_the_release() -> None:
    both: Json = {"livenessProbe": PROBE, "restartPolicyRules": [], "envFrom": [{"configMapRef": {"name": "x"}}]}
    found = " ".join(answer(pod(**both)).findings)
    assert "docs/findings/probe-failures-go-on.md" in found
    assert "docs/findings/failed-starts-lengthen-the-delay.md" in found
    assert "restart-all" not in found


@pytest.mark.parametrize("finished", [None, "0001-01-01T00:00:00Z", "yesterday"])
def test_a_status_without_times_says_so(finished: str | None) -> None:
    found = answer(pod(finished=finished))
    assert found.earliest is None
    assert "the status has no time of the exit" in found.state


@pytest.mark.parametrize(
    ("metadata", "status", "state"),
    [
        ({"deletionTimestamp": "2026-01-02T03:04:09Z"}, {}, "its pod is being deleted: nothing in it is started again"),
        ({}, {"phase": "Succeeded"}, "its pod has ended (Succeeded): nothing in it is started again"),
        (
            {},
            {"phase": "Failed", "reason": "Evicted"},
            "its pod has ended (Failed, Evicted): nothing in it is started again",
        ),
    ],
    ids=["deleted", "succeeded", "evicted"],
)
def test_what_is_over_has_no_next_start(metadata: Json, status: Json, state: str) -> None:
    over = pod()
    over["metadata"] |= metadata
    over["status"] |= status
    found = answer(over)
    assert (found.state, found.earliest, found.latest) == (state, None, None)


def test_what_is_over_has_no_delay_by_its_restart_count() -> None:
    evicted = pod()
    ended = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": "2026-11-25T10:00:00Z"}}
    evicted["status"] = {"phase": "Failed", "reason": "Evicted", "containerStatuses": [{"name": "app", "state": ended}]}
    assert answer(evicted).counted_s is None


def test_a_pod_that_no_node_takes_says_what_the_scheduler_says() -> None:
    scheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes are available.",
    }
    found = answer(pod() | {"status": {"phase": "Pending", "conditions": [{"type": "Ready"}, scheduled]}})
    assert found.state == "its pod has no node yet (Unschedulable: 0/2 nodes are available.)"


@pytest.mark.parametrize("conditions", [None, {"a": 1}, [None, "x"], [{"type": "PodScheduled", "status": "True"}]])
def test_a_pod_whose_conditions_say_nothing_of_a_node_is_pending(conditions: Any) -> None:
    found = answer(pod() | {"status": {"phase": "Pending", "conditions": conditions}})
    assert found.state.startswith("no status of it (its pod is Pending)")


def test_a_container_without_a_status_has_that_of_its_pod() -> None:
    found = answer(pod() | {"status": {"phase": "Pending"}})
    assert found.state == "no status of it (its pod is Pending): this is what the spec alone says"


def test_a_crash_that_the_status_does_not_tell_is_none_that_never_was() -> None:
    lost = pod()
    lost["status"]["containerStatuses"][0]["lastState"] = {}
    assert answer(lost).last_exit == "its status does not say how"


def test_a_spec_alone_answers_what_a_spec_can() -> None:
    only = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    found = answer(only)
    assert (found.state, found.last_exit) == ("no status: this is what the spec alone says", "it has never ended")
    assert [each.decision for each in found.exits] == ["restart"] * 3


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"spec": {}}, "cannot be read"),
        ({"spec": {"containers": [{"name": "a", "image": "b", "env": [7]}]}}, "cannot be read"),
        ({"spec": {"containers": []}}, "has no containers"),
        ({"spec": 7}, "cannot be read"),
    ],
)
def test_what_is_no_pod_is_refused(broken: Json, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        answer_of(broken, SETTING, ())


def test_a_release_without_a_model_is_refused() -> None:
    with pytest.raises(UsageError, match=r"1\.32\.4, is older than the model covers \(1\.33\)"):
        answer_of(pod(), Setting(version=KubernetesVersion(1, 32, 4)), ())


def ended(*, restarts: int = 2, code: int = 1, **more: Any) -> Json:
    """A pod whose container has ended, and whose status does not show yet that it waits."""
    made = pod(**more)
    status = made["status"]["containerStatuses"][0]
    status |= {
        "restartCount": restarts,
        "state": {"terminated": status["lastState"]["terminated"] | {"exitCode": code}},
    }
    return made


def test_a_delay_that_is_not_stated_yet_is_that_of_the_restart_count() -> None:
    """CrashLoopBackOff is hidden for most of a delay since 1.35 (docs/findings/alert-stays-silent.md)."""
    found = answer(ended(restarts=2))
    assert (found.delay_s, found.counted_s) == (None, 20.0)
    assert str(found.earliest) == "2026-01-02 03:04:25+00:00"
    assert found.latest is not None
    assert found.earliest is not None
    assert (found.latest - found.earliest).total_seconds() <= 20.0 / 2 + 3
    assert answer(ended(restarts=0)).counted_s == 0.0
    assert answer(ended(restarts=9)).counted_s == 300.0


def test_what_is_not_restarted_by_itself_has_no_counted_delay() -> None:
    assert answer(ended(spec={"restartPolicy": "Never"})).counted_s is None
    assert answer(ended(spec={"restartPolicy": "OnFailure"}, code=0)).counted_s is None
    killed = event("Killing", "Container app failed liveness probe, will be restarted")
    assert answer(ended(code=137, livenessProbe=PROBE), events=(killed,)).counted_s is None
    assert answer(pod()).counted_s is None


def test_a_failed_hook_is_the_cause_although_the_kubelet_kills_afterwards() -> None:
    seen = (event("FailedPostStartHook", "PostStartHook failed"), event("Killing", "FailedPostStartHook"))
    found = answer(pod(code=137, lifecycle={"postStart": {"exec": {"command": ["false"]}}}), events=seen)
    assert found.cause is Cause.HOOK


@pytest.mark.parametrize("at", ["2026-01-02T02:10:00Z", "2026-01-02T03:10:00Z"], ids=["before", "after"])
def test_an_event_of_another_life_says_nothing_of_this_end(at: str) -> None:
    killed = event("Killing", "Container app failed liveness probe, will be restarted") | {"lastTimestamp": at}
    assert answer(pod(code=1, livenessProbe=PROBE), events=(killed,)).cause is Cause.EXIT
    in_time = killed | {"lastTimestamp": "2026-01-02T03:04:05Z"}
    assert answer(pod(code=1, livenessProbe=PROBE), events=(in_time,)).cause is Cause.PROBE


def test_an_event_of_the_newer_api_is_read() -> None:
    newer = {
        "kind": "Event",
        "reason": "Killing",
        "note": "Container app failed liveness probe, will be restarted",
        "regarding": {"uid": "u", "fieldPath": "spec.containers{app}"},
        "eventTime": None,
        "deprecatedLastTimestamp": "2026-01-02T03:04:05Z",
    }
    found = evidence_of([pod(livenessProbe=PROBE), newer])
    assert answer(found.pods[0], events=found.events).cause is Cause.PROBE


def test_a_start_that_failed_lengthens_a_delay_only_after_an_end() -> None:
    blocked: Json = {"waiting": "CreateContainerConfigError", "waits": 'configmap "x" not found'}
    assert "each failed attempt lengthens the delay" in answer(pod(**blocked)).state
    new = pod(**blocked)
    new["status"]["containerStatuses"][0] |= {"restartCount": 0, "lastState": {}}
    assert "tries again every 10 to 15 s" in answer(new).state


@pytest.mark.parametrize(
    ("reason", "before", "after"),
    [
        ("ErrImagePull", "a backoff of its own; the restart curve does not apply", "a backoff of its own; beside that, each"),
        ("InvalidImageName", "not pulled; the kubelet looks again every 10 to 15 s", "not pulled; each"),
    ],
)  # fmt: skip
def test_an_image_that_fails_after_an_end_lengthens_the_delay(reason: str, before: str, after: str) -> None:
    given = pod(waiting=reason, waits="x")
    assert answer(given).state.endswith(f"{after} failed attempt lengthens the delay as a crash does")
    given["status"]["containerStatuses"][0] |= {"restartCount": 0, "lastState": {}}
    assert answer(given).state.endswith(before)


def test_a_long_life_has_reset_the_delay_that_is_not_stated_yet() -> None:
    given = ended(restarts=4)
    assert answer(given).counted_s == 80.0
    given["status"]["containerStatuses"][0]["state"]["terminated"]["startedAt"] = "2026-01-02T02:54:04Z"
    assert answer(given).counted_s == 0.0


def test_a_pod_that_has_run_and_has_no_status_of_a_container_says_nothing_of_its_end() -> None:
    evicted = pod() | {"status": {"phase": "Failed", "reason": "Evicted"}}
    assert answer(evicted).last_exit == "its pod has no status of it"


def test_a_status_of_a_lost_node_is_old() -> None:
    given = pod()
    given["status"]["reason"] = "NodeLost"
    assert answer(given).state == "its node does not answer (NodeLost): what its status says is old"


def test_what_its_runtime_has_no_record_of_is_not_delayed() -> None:
    lost = ended(restarts=1, code=137, reason="ContainerStatusUnknown")
    assert (answer(lost).counted_s, answer(lost).state) == (None, "it has ended, and the kubelet states no delay")


def test_what_has_ended_for_good_is_told_so() -> None:
    assert answer(ended(spec={"restartPolicy": "Never"})).state.endswith("is not started again after this exit")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"restartPolicyRule": []},
            "spec.containers[0].restartPolicyRule is no field of Kubernetes 1.37; did you mean",
        ),
        (
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "value": [4]}}]},
            "mean values?",
        ),
    ],
)
def test_a_misspelt_field_is_named(rule: Json, said: str) -> None:
    (found,) = answer(pod(restartPolicy="Never", **rule)).unknown_fields
    assert said in found


def test_a_misspelt_field_is_named_where_the_right_one_is_missing() -> None:
    rule = {"action": "Restart", "exitCode": {"operator": "In", "values": [4]}}
    with pytest.raises(UsageError, match=r"exitCodes is missing; .*\.exitCode is no field .* did you mean exitCodes\)"):
        answer(pod(restartPolicy="Never", restartPolicyRules=[rule]))


def test_a_field_that_is_null_is_not_given() -> None:
    assert len(answer_of(pod() | {"metadata": None, "status": None}, SETTING, ())) == 1
    probe = PROBE | {"periodSeconds": None, "failureThreshold": 0}
    assert answer(pod(livenessProbe=probe, restartPolicyRules=None)).delay_s == 40.0


@pytest.mark.parametrize("metadata", [{"name": "p", "uid": ["u"]}, {"name": "p", "uid": {"a": "b"}}], ids=str)
def test_a_uid_of_another_type_ends_nothing(metadata: Json) -> None:
    assert len(evidence_of([pod() | {"metadata": metadata}]).pods) == 1


def test_a_sidecar_is_not_started_again_once_the_other_containers_have_ended_for_good() -> None:
    side = {"name": "side", "image": "side:1", "restartPolicy": "Always"}
    done = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-01-02T03:04:05Z"}}
    of = pod(spec={"restartPolicy": "OnFailure", "initContainers": [side]})
    of["status"] = {
        "initContainerStatuses": [{"name": "side", "state": {"terminated": {**done["terminated"], "exitCode": 143}}}],
        "containerStatuses": [{"name": "app", "state": done}],
    }
    first, _ = answer_of(of, SETTING, ())
    assert (first.state, first.earliest) == (
        "its pod ends, as the other containers have: no sidecar of it is started again",
        None,
    )
    of["status"]["containerStatuses"][0]["state"] = {"terminated": {**done["terminated"], "exitCode": 1}}
    assert answer_of(of, SETTING, ())[0].counted_s == 0.0


def test_an_exit_at_the_end_of_all_times_has_no_next_start() -> None:
    assert answer(pod(finished="9999-12-31T23:59:59Z"), events=(event("Killing", "by somebody"),)).earliest is None
