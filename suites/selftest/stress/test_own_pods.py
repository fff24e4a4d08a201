"""Pods of a user's own template are judged by what the runtime says of them; what cannot be known is no FAIL."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crashloop.errors import ObservationError
from crashloop.history.event import Channel, Kind
from crashloop.report.stress.results import StressResults
from crashloop.slo.events import SAMPLES
from crashloop.slo.measurements import Restart, SloVerdict
from crashloop.slo.metrics import conservation
from crashloop.slo.rows import ConservationSli
from crashloop.stress.evidence_reader import read_recorded
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import AnyLoad, Crash
from crashloop.stress.pending_pods import GIVEN_S, AwaitedImages
from crashloop.stress.pod_template import PodTemplate
from crashloop.verdict import Outcome
from suites.selftest.kit.histories import History
from suites.selftest.kit.slo_kit import measured, phase
from suites.selftest.kit.stress_kit import CRASHERS, HEALTHY, MARKS, Folder, crashing, plan

Lives = list[tuple[float, float | None, int]]
APP = {"name": "app", "image": "registry.example/app:1"}
LIVENESS = {"livenessProbe": {"periodSeconds": 1, "failureThreshold": 6}}
"""Kills after 4 s at the soonest."""
POD = "crashers-0-0"
BESIDE = {"name": "beside", "image": "registry.example/large:1"}


def crash(*containers: dict[str, Any], **fields: Any) -> Crash:
    spec = {"containers": containers or [APP], **fields}
    return Crash(node="storm", template=PodTemplate(file="app.yaml", spec=spec))


def run_of(root: Path, load: AnyLoad | None = None) -> Folder:
    """A run whose crashing load is of a template."""
    folder = Folder(root, plan(loads={"healthy": HEALTHY, "crashers": load or crash()}))
    folder.marks(*MARKS)
    return folder


def judged(root: Path, *lives: Lives, load: AnyLoad | None = None, of: str = "app") -> StressResults:
    """A run of two pods, each with the lives of one container."""
    folder = run_of(root, load)
    for number, each in enumerate(lives):
        folder.write(folder.pod(f"crashers-0-{number}", *each, of=of))
    return judge_run(folder.run)


def verdict(results: StressResults, name: str) -> SloVerdict:
    return next(each for each in results.verdicts if each.slo == name)


def crashes(at_s: float = 25.0, ran_s: float = 0.5, wait_s: float = 1.4) -> Lives:
    return crashing(at_s, 0.3, *[wait_s] * 20, ran_s=ran_s)


def test_a_pod_that_crashes_by_itself_is_judged_as_any_other(tmp_path: Path) -> None:
    results = judged(tmp_path / "run", crashes(), crashes(25.2))
    for check in ("evidence-complete", "no-early-restart", "no-lost-restart"):
        assert verdict(results, check).outcome is Outcome.PASS, verdict(results, check)
    assert verdict(results, "no-early-restart").samples == 42
    assert "crashers" not in verdict(results, "load-as-planned").sentence
    of_every_pod = {each.requirement: each.outcome for each in results.judged if each.scenario == "every pod"}
    judged_of_them = ("BACKOFF-2", "BACKOFF-24", "RULES-17", "RULES-36", "RULES-41", "RAC-17")
    assert of_every_pod == dict.fromkeys(judged_of_them, Outcome.PASS)


def test_a_restart_that_comes_early_is_a_fail(tmp_path: Path) -> None:
    early = verdict(judged(tmp_path / "run", crashes(wait_s=0.7), crashes()), "no-early-restart")
    assert early.outcome is Outcome.FAIL
    assert early.sentence.startswith(
        'no-early-restart: crashers-0-0: restart 2 of "app" came 0.700 s after the exit; 1 s was due.'
    )


def test_after_a_life_that_a_probe_may_have_ended_no_delay_is_known(tmp_path: Path) -> None:
    killed: Lives = [(25.0, 27.0, 1), (28.5, 33.0, 137), (33.1, 34.0, 1), (34.2, None, 0)]
    results = judged(tmp_path / "run", killed, killed, load=crash(APP | LIVENESS))
    early = verdict(results, "no-early-restart")
    assert (early.outcome, early.samples) == (Outcome.PASS, 2)
    assert verdict(judged(tmp_path / "other", killed, killed), "no-early-restart").outcome is Outcome.FAIL


def test_a_template_that_a_probe_may_end_at_once_has_no_known_delays(tmp_path: Path) -> None:
    at_once = APP | {"livenessProbe": {"failureThreshold": 1}}
    results = judged(tmp_path / "run", crashes(wait_s=0.2), crashes(wait_s=0.2), load=crash(at_once))
    assert "no-early-restart" not in {each.slo for each in results.verdicts}
    assert verdict(results, "no-lost-restart").outcome is Outcome.PASS


def test_whether_a_kill_needs_a_restart_is_left_open(tmp_path: Path) -> None:
    """Under OnFailure an exit with 0 is final, but a kill that ends with 0 is not; none is possible before 4 s."""
    short, long = [(25.0, 25.5, 0)], [(25.0, 30.5, 0)]
    unprobed, probed = crash(restartPolicy="OnFailure"), crash(APP | LIVENESS, restartPolicy="OnFailure")
    for number, (load, done, finals) in enumerate(((unprobed, long, 1), (probed, long, 0), (probed, short, 1))):
        folder = run_of(tmp_path / f"run-{number}", load)
        folder.write(folder.pod(POD, *done))
        (pod,) = read_recorded(folder.run, folder.plan).lifecycles
        assert len(pod.finals_ns) == finals


def test_until_all_containers_have_started_no_delay_of_the_others_is_known(tmp_path: Path) -> None:
    """The kubelet pulls the image of one before it restarts another."""
    folder = run_of(tmp_path / "run", crash(APP, BESIDE))
    history = folder.pod(POD, *crashing(25.0, 0.3, 1.4, 1.4, 1.4))
    folder.write(history.lives("beside", (28.0, None, 0), journal=False))
    (pod,) = read_recorded(folder.run, folder.plan).lifecycles
    assert [each.due_s is not None for each in pod.restarts] == [False, False, True, True]
    assert [each.expected for each in pod.restarts] == [True] * 4


def test_a_sidecar_waits_for_the_images_of_the_containers_beside_it_too(tmp_path: Path) -> None:
    sidecar = APP | {"name": "mesh", "restartPolicy": "Always"}
    folder = run_of(tmp_path / "run", crash(BESIDE, initContainers=[sidecar]))
    history = folder.pod(POD, *crashing(25.0, 0.3, 1.4, 1.4, 1.4), of="mesh")
    folder.write(history.lives("beside", (28.0, None, 0), journal=False))
    (pod,) = read_recorded(folder.run, folder.plan).lifecycles
    assert [each.due_s is not None for each in pod.restarts] == [False, False, True, True]


def restarts_beside(root: Path, app: Lives, beside: Lives, **of_beside: Any) -> Sequence[Restart]:
    """The restarts of a container with a second one beside it."""
    folder = run_of(root, crash(APP, BESIDE | of_beside))
    folder.write(folder.pod(POD, *app).lives("beside", *beside, journal=False))
    (pod,) = read_recorded(folder.run, folder.plan).lifecycles
    return [each for each in pod.restarts if each.container == "app"]


def test_a_delay_that_a_kill_beside_it_may_have_lengthened_is_not_known(tmp_path: Path) -> None:
    """`beside` may be killed from 29 s on. The exit is before that, the restart after it."""
    app: Lives = [(25.0, 25.5, 1), (25.8, 28.7, 1), (59.0, None, 0)]
    beside: Lives = [(25.0, 58.5, 137), (58.9, None, 0)]
    restarts = restarts_beside(tmp_path / "run", app, beside, **LIVENESS)
    assert [each.due_s is not None for each in restarts] == [True, False]
    alone = restarts_beside(tmp_path / "alone", app, beside)
    assert [each.due_s is not None for each in alone] == [True, True]


def test_a_restart_that_a_pull_beside_it_holds_up_is_not_lost(tmp_path: Path) -> None:
    app: Lives = [(25.0, 25.5, 1)]
    (held_up,) = restarts_beside(tmp_path / "held-up", app, [])
    assert (held_up.due_s, held_up.expected) == (None, None)
    (lost,) = restarts_beside(tmp_path / "lost", app, [(25.2, None, 0)])
    assert (lost.due_s is not None, lost.expected) == (True, True)


def test_a_container_that_is_created_and_never_started_leaves_the_delays_of_others_open(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", crash(APP, BESIDE))
    folder.write(folder.pod(POD, *crashes()).runtime(25.2, Kind.CREATED, "beside", "beside-0"))
    assert all(each.due_s is None for each in read_recorded(folder.run, folder.plan).lifecycles[0].restarts)


def test_a_container_that_the_template_does_not_have_is_no_crash_of_the_judgement(tmp_path: Path) -> None:
    """An admission plugin may add one to the pod."""
    folder = run_of(tmp_path / "run", crash())
    folder.write(
        folder.pod(POD, *crashes()).lives("injected", (25.0, 26.0, 1), (27.0, None, 0), journal=False, status=False)
    )
    results = judge_run(folder.run)
    assert verdict(results, "no-lost-restart").outcome is Outcome.PASS
    (pod,) = read_recorded(folder.run, folder.plan).lifecycles
    assert {each.due_s for each in pod.restarts if each.container == "injected"} == {None}


def test_a_start_that_may_include_a_pull_is_no_sample_of_start_up(tmp_path: Path) -> None:
    for load, samples in ((crash(), 0), (CRASHERS, 1)):
        folder = run_of(tmp_path / f"run-{samples}", load)
        folder.write(folder.pod(POD, *crashes()))
        (pod,) = read_recorded(folder.run, folder.plan).lifecycles
        assert len(list(SAMPLES["pod-startup"].events(pod))) == samples


def test_containers_that_do_not_exit_leave_the_load_open(tmp_path: Path) -> None:
    results = judged(tmp_path / "run", [(25.0, None, 0)], [(25.0, None, 0)])
    planned = verdict(results, "load-as-planned")
    assert planned.outcome is Outcome.INCONCLUSIVE
    assert "0 restarts of load crashers: its containers did not exit." in planned.sentence
    assert verdict(results, "no-lost-restart").outcome is Outcome.INCONCLUSIVE


def test_exits_after_which_nothing_restarts_leave_the_load_open(tmp_path: Path) -> None:
    done: Lives = [(25.0, 25.5, 0)]
    planned = verdict(judged(tmp_path / "run", done, done, load=crash(restartPolicy="OnFailure")), "load-as-planned")
    assert (
        "0 restarts of load crashers: its containers exited 2 times, after which their restart policy or rules restart "
        "nothing." in planned.sentence
    )


def unstarted(folder: Folder, status: dict[str, dict[str, Any]], **more: Any) -> None:
    """A pod of the storm that runs nothing, by its only status."""
    history = folder.pod(POD, (25.0, None, 0))
    for kind in (Kind.SANDBOX, Kind.CREATED, Kind.STARTED):
        history.without(kind, Channel.RUNTIME)
    folder.write(history.without(Kind.STATUS).status(25.0, status, **more))


def test_a_pod_that_cannot_start_is_named_with_the_reason(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    folder.write(folder.pod("crashers-0-1", *crashes()))
    why = {"reason": "CreateContainerConfigError", "message": 'secret "k"\nis missing.'}
    unstarted(folder, {"app": {"name": "app", "restartCount": 0, "state": {"waiting": why}}}, phase="Pending")
    planned = verdict(judge_run(folder.run), "load-as-planned")
    assert planned.outcome is Outcome.INCONCLUSIVE
    assert (
        'stage 2 (storm) began to be measured while 1 of 2 pods of load crashers had not run: container "app" waits '
        '(CreateContainerConfigError: secret "k" is missing) in crashers-0-0.' in planned.sentence
    )


def test_a_load_none_of_whose_pods_ran_has_no_restarts(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    folder.write(folder.pod(POD).status(1.0, {}, phase="Failed", reason="NodePorts"))
    planned = verdict(judge_run(folder.run), "load-as-planned")
    assert (
        "0 restarts of load crashers: none of its pods ran: the pod is Failed (NodePorts) in crashers-0-0."
        in planned.sentence
    )


def test_a_pod_that_the_kubelet_rejects_is_named_with_the_reason(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    unstarted(folder, {"app": {"name": "app", "restartCount": 0}}, phase="Failed", reason="NodePorts")
    planned = verdict(judge_run(folder.run), "load-as-planned")
    assert (
        "while the only pod of load crashers had not run: the pod is Failed (NodePorts) in crashers-0-0."
        in planned.sentence
    )


def without_runtime(folder: Folder) -> History:
    """A pod of which only the API server tells, as on a cluster that exists."""
    history = folder.pod(POD, *crashes())
    for kind in (Kind.SANDBOX, Kind.CREATED, Kind.STARTED, Kind.EXITED):
        history.without(kind, Channel.RUNTIME)
    return history


def test_without_events_of_the_runtime_restarts_are_counted_and_not_timed(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    folder.write(without_runtime(folder))
    results = judge_run(folder.run)
    complete = verdict(results, "evidence-complete")
    assert complete.outcome is Outcome.INCONCLUSIVE
    assert complete.sentence == (
        "evidence-complete: crashers-0-0: its containers keep no journal, and the runtime's events were not seen: "
        "21 restarts by restartCount, at unknown times."
    )
    assert verdict(results, "no-early-restart").outcome is Outcome.INCONCLUSIVE
    assert verdict(results, "no-lost-restart").outcome is Outcome.INCONCLUSIVE
    assert "0 restarts" not in verdict(results, "load-as-planned").sentence
    assert Outcome.FAIL not in {each.outcome for each in results.verdicts}
    assert Outcome.FAIL not in {each.outcome for each in results.judged}


def test_restarts_without_ground_truth_are_not_compared_with_the_kubelet_s_counter(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", CRASHERS)
    folder.write(folder.pod("crashers-0-1", *crashes()))
    folder.write(without_runtime(folder))
    pods = read_recorded(folder.run, folder.plan).lifecycles
    with pytest.raises(
        ObservationError, match="ground truth lacks the starts of 1 of 2 pods, which restarted, such as crashers-0-0"
    ):
        conservation(ConservationSli(), measured(lifecycles=pods), phase())


def waiting(reason: str) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": "Back-off pulling image.\nNo such host."}}
    return {"containerStatuses": [{"name": "app", "image": "registry.example/app:1", "state": state}]}


def test_a_load_without_its_image_is_abandoned_with_the_kubelet_s_words() -> None:
    images = AwaitedImages(["app"])
    images.take("app-0-0", waiting("ErrImagePull"), 100.0)
    images.take("app-0-0", waiting("ImagePullBackOff"), 110.0)
    images.take("app-0-1", waiting("ImagePullBackOff"), 120.0)
    assert images.overdue(100.0 + GIVEN_S - 1) is None
    assert images.overdue(100.0 + GIVEN_S) == (
        "load app: 1 pod without its image: container 'app' of app-0-0 waits for registry.example/app:1 "
        "(ImagePullBackOff: Back-off pulling image. No such host). Give its archive with --image-archive, or name an image "
        "that the node can pull."
    )


def test_an_image_that_comes_in_the_end_is_not_missed() -> None:
    images = AwaitedImages(["app"])
    images.take("app-0-0", waiting("ErrImagePull"), 100.0)
    images.take("app-0-0", {"containerStatuses": [{"name": "app", "state": {"running": {}}}]}, 115.0)
    images.take("app-0-1", waiting("ErrImagePull"), 100.0)
    images.forget("app-0-1")
    assert images.overdue(200.0) is None


def test_only_pods_of_templates_are_looked_at() -> None:
    assert [AwaitedImages(["app"]).concern(load) for load in ("app", "healthy", None)] == [True, False, False]
