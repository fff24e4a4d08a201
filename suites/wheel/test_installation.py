"""What `pip install` gives: no checkout is needed, and nothing else of the environment is touched."""

import json
import re
from pathlib import Path

from crashloop.verdict import ExitCode

from .conftest import Cluster, Installed

MOST_CORE_BYTES = 40 << 20
"""Without bytecode, which some installers write and others do not."""
TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""Of the environment itself."""


def test_an_installation_has_one_name_and_its_commands(core: Installed) -> None:
    (metadata,) = core.packages.glob("crashloop-*.dist-info")
    files = [line.partition(",")[0] for line in (metadata / "RECORD").read_text().splitlines()]
    assert {file.partition("/")[0] for file in files} == {"crashloop", metadata.name, ".."}
    commands = {"crashloop", "kubectl-crashloop"}
    assert {file for file in files if file.startswith("..")} == {f"../../../bin/{name}" for name in commands}


def test_the_core_is_small_and_has_no_test_runner(core: Installed) -> None:
    packages = {path.name for path in core.packages.iterdir()}
    assert not packages & {"pytest", "grpc", "kubernetes", "cryptography", "locust", "numpy"}
    size = sum(path.stat().st_size for path in _files(core.packages) if path.suffix != ".pyc")
    assert size <= MOST_CORE_BYTES


def _files(packages: Path) -> list[Path]:
    return [path for path in packages.rglob("*") if path.is_file() and path.relative_to(packages).parts[0] not in TOOLS]


def test_predictions_need_no_extra(core: Installed, from_source: Installed) -> None:
    asked = ("predict", "--nodes", "2", "--pods", "20", "--json")
    status, output = core.crashloop(*asked)
    assert status == ExitCode.OK, output
    assert from_source.crashloop(*asked) == (status, output)


def test_a_command_without_its_extra_names_it(core: Installed) -> None:
    status, output = core.crashloop("run", "--dry-run")
    assert status == ExitCode.ERROR
    assert output == (
        "crashloop: this command needs 'pytest', which is not installed.\n"
        "Install the wheel with the extra [run]: pip install 'crashloop[run] @ ADDRESS-OF-THE-WHEEL'.\n"
    )


def test_every_profile_and_row_is_found(full: Installed) -> None:
    status, output = full.crashloop("run", "--scope", "full", "--dry-run", "-q")
    assert status == ExitCode.OK, output
    assert re.search(r"\d+ verdicts on \d+ requirements; \d+ nodes", output)


def test_the_tests_of_others_have_the_fixtures(full: Installed) -> None:
    (full.work / "test_theirs.py").write_text(
        "def test_a_curve(crashloop_curve):\n"
        '    assert crashloop_curve("1.37.1", profile="max-2s") == crashloop_curve("1.37.1", maximum="2s")\n'
    )
    status, output = full.program("pytest", "test_theirs.py")
    assert status == 0, output
    assert "1 passed" in output


def test_what_reads_manifests_and_pods_needs_no_extra(core: Installed) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "app", "image": "web:1"}]}}
    (core.work / "pod.json").write_text(json.dumps(pod))
    for command in (("why", "pod.json"), ("profile", "check", "max-10s"), ("explain", "CAP-3"), ("list",)):
        status, output = core.crashloop(*command)
        assert status == ExitCode.OK, output


def test_a_run_on_local_is_judged_again(full: Installed, run: Path) -> None:
    before = json.loads((run / "results.json").read_bytes())
    status, output = full.crashloop("report", "--again", str(run))
    assert status == ExitCode.OK, output
    assert json.loads((run / "results.json").read_bytes())["verdicts"] == before["verdicts"]
    for command in (("report", str(run)), ("compare", str(run), str(run)), ("compare", "--by=version", str(run))):
        status, output = full.crashloop(*command)
        assert status == ExitCode.OK, output


def test_a_cluster_that_exists_is_observed_and_judged(full: Installed, cluster: Cluster) -> None:
    access = ("--kubeconfig", cluster.kubeconfig)
    given = ("--provider", "existing", *access, "--image", cluster.image, "--node-profile", "max-2s=max-2s")
    status, output = full.crashloop("run", *given, "--requirement", "CAP-3", "--run-dir", "existing")
    assert status == ExitCode.OK, output
    judged = json.loads((full.work / "existing" / "results.json").read_bytes())["verdicts"]
    outcomes = {each["profile"]: each["outcome"] for each in judged if each["requirement"] == "CAP-3"}
    assert outcomes == {"max-1s": "SKIPPED", "max-2s": "PASS"}
    expected = ("--expect", "stock=stock", "--expect", "max-2s=max-2s")
    status, output = full.crashloop("observe", *access, *expected, "--for", "5s", "--run-dir", "seen")
    assert status == ExitCode.INCONCLUSIVE, output  # nothing crashes there now
    seen = json.loads((full.work / "seen" / "observe.json").read_bytes())
    assert {each["node"] for each in seen["nodes"]} == {"stock", "max-2s"}
