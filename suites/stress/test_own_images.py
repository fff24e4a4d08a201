"""Pods of other images than the suite's: users' own crash by themselves, and what keeps them from it is said."""

from pathlib import Path

from crashloop.history.reduction import read_recording
from crashloop.verdict import ExitCode, Outcome
from suites.provider.test_images import archive_of_theirs
from suites.stress.started import CHECKS, left_on_host, require_passed, started, verdict


def test_the_pod_of_a_deployment_crashes_by_itself_and_is_judged_by_the_runtime(tmp_path: Path) -> None:
    with started("own-image", tmp_path, "--image-archive", str(archive_of_theirs(tmp_path))) as running:
        results = running.ended()
    require_passed(results, *CHECKS, "restarts-conserved")
    assert running.process.returncode == results.exit_code == ExitCode.OK
    codes = set()
    for path in running.run.history_dir.glob("theirs-*.jsonl"):
        with path.open("rb") as lines:
            (pod,) = read_recording(lines).pods
        assert len(pod.containers["app"]) >= 4, path.name
        assert len(pod.containers["beside"]) == 1, path.name
        codes |= {each.exit_code for each in pod.containers["app"]}
    assert 1 in codes
    assert left_on_host(running) == []


def test_pods_of_a_large_image_crash_as_others_do(tmp_path: Path) -> None:
    with started("large-image", tmp_path) as running:
        results = running.ended()
    require_passed(results, *CHECKS, "restarts-conserved")
    lives = {}
    for path in running.run.history_dir.glob("*.jsonl"):
        with path.open("rb") as lines:
            (pod,) = read_recording(lines).pods
        lives[path.stem] = len(pod.containers["app"])
    assert sorted(name.partition("-")[0] for name in lives) == ["crashers", "crashers", "large", "large"]
    assert all(number >= 4 for number in lives.values()), lives
    assert left_on_host(running) == []


def test_a_load_whose_image_nobody_has_is_abandoned_with_that(tmp_path: Path) -> None:
    with started("image-of-nobody", tmp_path) as running:
        results = running.ended()
    planned = verdict(results, "load-as-planned")
    assert planned.outcome is Outcome.INCONCLUSIVE
    assert "waits for localhost/nobody/has-this:1 (" in planned.sentence
    assert "The load was abandoned." in planned.sentence
    assert results.exit_code == ExitCode.INCONCLUSIVE
    assert verdict(results, "nothing-left").outcome is Outcome.PASS
    assert left_on_host(running) == []


def test_pods_that_do_not_crash_prove_nothing(tmp_path: Path) -> None:
    with started("holding", tmp_path) as running:
        results = running.ended()
    planned = verdict(results, "load-as-planned")
    assert planned.outcome is Outcome.INCONCLUSIVE
    assert "0 restarts of load theirs: its containers did not exit." in planned.sentence
    assert Outcome.FAIL not in {each.outcome for each in results.verdicts}
    assert left_on_host(running) == []
