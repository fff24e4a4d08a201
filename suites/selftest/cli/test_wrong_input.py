"""What people get wrong ends in one message and the exit code that it deserves; never in a traceback or a verdict."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crashloop.cli import app, main
from crashloop.cluster.kind.prerequisites import docker_facts
from crashloop.doctor import examine
from crashloop.errors import UsageError
from crashloop.profiles import load_profile
from crashloop.run.options import check_objects, check_provider
from crashloop.settings import Paths, Settings
from crashloop.spec.version import DEFAULT_VERSION
from crashloop.verdict import ExitCode
from suites.selftest.kit.commands import as_nobody, refusal
from suites.selftest.kit.stress_kit import example_run


def as_process(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from crashloop.cli import main; main()", *arguments]


def ended(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A command as a process of its own; `stdout` is a file to write to."""
    given = os.environ | {name: text for name, text in environment.items() if name != "stdout"}
    with Path(environment.get("stdout", os.devnull)).open("w") as file:
        out = file if "stdout" in environment else subprocess.PIPE
        return subprocess.run(
            as_process(*arguments), env=given, stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )


def test_a_full_disk_is_no_verdict() -> None:
    done = ended("predict", stdout="/dev/full")
    assert done.returncode == ExitCode.ERROR
    assert done.stderr == "crashloop: No space left on device.\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "| head -c 1"])
def test_an_output_that_the_caller_closed_is_no_verdict(closed: str) -> None:
    command = f"set -o pipefail; {shlex.join(as_process('explain', 'CAP-3'))} {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode in (ExitCode.OK, ExitCode.ERROR, 128 + signal.SIGPIPE)
    assert "Traceback" not in done.stderr


def test_wrong_usage_that_nobody_can_be_told_is_no_verdict() -> None:
    command = f"{shlex.join(as_process('predict', '--nodes', 'x'))} 2>/dev/full"
    assert subprocess.run(["bash", "-c", command], check=False).returncode == ExitCode.USAGE


_INTERRUPTED_BY_AN_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.{handler})
class Finder:
    def find_spec(self, name, *_):
        if name == "crashloop.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["crashloop", "--version"]
from crashloop.__main__ import main
main()
"""


@pytest.mark.parametrize(("handler", "code"), [("default_int_handler", ExitCode.INTERRUPTED), ("SIG_IGN", ExitCode.OK)])
def test_an_interrupt_while_it_imports_shows_no_traceback(handler: str, code: int) -> None:
    program = _INTERRUPTED_BY_AN_IMPORT.format(handler=handler)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")


def test_a_folder_that_was_removed_under_a_command_is_named() -> None:
    command = f'd=$(mktemp -d); cd "$d"; rmdir "$d"; {shlex.join(as_process("run", "--dry-run"))}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == "crashloop: No such file or directory: the current folder, which was removed.\n"


def test_a_run_without_assertions_is_refused() -> None:
    done = ended("run", "--dry-run", PYTHONOPTIMIZE="1")
    assert (done.returncode, "PYTHONOPTIMIZE leaves out assertions" in done.stderr) == (ExitCode.USAGE, True)


def test_an_input_that_the_caller_closed_is_an_empty_one() -> None:
    command = f"{shlex.join(as_process('why', '-'))} <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("crashloop: standard input: no pod in it;")


def test_a_terminal_of_another_encoding_gets_every_line() -> None:
    done = ended("explain", "BACKOFF-2", PYTHONIOENCODING="ascii")
    assert done.returncode == ExitCode.OK, done.stderr
    assert "BACKOFF-2: " in done.stdout


def test_a_crash_shows_its_traceback_and_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import crashloop.doctor\ndef broken(): raise RuntimeError('of ours')\ncrashloop.doctor.examine = broken\n"
    )
    done = ended("doctor", PYTHONPATH=str(tmp_path))
    assert done.returncode == ExitCode.ERROR
    assert "RuntimeError: of ours" in done.stderr
    assert done.stderr.endswith("shows a fault of crashloop itself, and no verdict.\n")


def test_a_module_that_is_not_installed_is_named_with_its_extra(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pytest'] = None\n")
    done = ended("run", "--dry-run", PYTHONPATH=str(tmp_path))
    assert done.returncode == ExitCode.ERROR
    assert done.stderr == (
        "crashloop: this command needs 'pytest', which is not installed.\n"
        "Install the wheel with the extra [run]: pip install 'crashloop[run] @ ADDRESS-OF-THE-WHEEL'.\n"
    )


def test_a_host_whose_clusters_cannot_be_listed_is_examined_all_the_same(folder: Path) -> None:
    state = folder / "state"
    (state / "clusters").mkdir(parents=True)
    settings = Settings(paths=Paths(cache_dir=folder, state_dir=state))
    docker_facts()  # its imports need the rights of this user
    examine(settings)
    state.chmod(0)
    try:
        with as_nobody():
            rows = {row.name: row for row in examine(settings).rows}
    finally:
        state.chmod(0o755)
    assert (rows["clusters"].state, rows["clusters"].value) == ("warn", "cannot be listed by this user")


@pytest.mark.parametrize(
    ("option", "value", "provider", "said"),
    [
        ("--node-image", "x", "local", "--node-image: only for --provider kind, not local."),
        ("--kind-binary", "x", "local", "--kind-binary: only for --provider kind, not local."),
        ("--kubeconfig", "x", "kind", "--kubeconfig: only for --provider existing, not kind."),
        ("--node-profile", ["a=b"], "local", "--node-profile: only for --provider existing, not local."),
        ("--max-pods", 0, "local", "--max-pods: only for --provider existing, not local."),
        ("--keep", True, "existing", "--keep: only for --provider local, kind, not existing."),
    ],
)
def test_an_option_that_the_provider_would_ignore_is_refused(
    option: str, value: object, provider: str, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check_provider(provider, {option: value})
    assert str(refused.value) == said


def test_options_that_were_not_given_are_not_refused() -> None:
    check_provider("local", {"--kubeconfig": None, "--read-configz": False, "--node-profile": []})


@pytest.mark.parametrize(
    ("namespace", "image", "max_pods", "said"),
    [
        ("Bad_NS!", None, None, "--namespace 'Bad_NS!': expected 1 to 63 lower-case letters"),
        (None, "", None, "--image '': expected the name of an image"),
        (None, "a b", None, "--image 'a b': expected the name of an image"),
        (None, None, 0, "--max-pods 0: expected 1 or more."),
        (None, None, -1, "--max-pods -1: expected 1 or more."),
    ],
)
def test_what_no_api_server_accepts_is_refused_before_it_is_sent(
    namespace: str | None, image: str | None, max_pods: int | None, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check_objects(namespace=namespace, image=image, max_pods=max_pods)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("up", "--node-image", "x"), "--node-image: only for --provider kind, not local."),
        (("up", "--kind-binary", "x"), "--kind-binary: only for --provider kind, not local."),
        (("up", "--feature-gate", "NoSuchGate=true"), f"Kubernetes {DEFAULT_VERSION} does not have that gate."),
        (("stress", "--run-dir", ""), "--run-dir: the value is empty; a folder was expected."),
        (("stress", "--run-dir", "/dev/null"), "--run-dir /dev/null: it is a file; a folder was expected."),
        (("observe", "--run-dir", ""), "--run-dir: the value is empty; a folder was expected."),
        (
            ("stress", "--provider", "existing", "--image-archive", "app.tar"),
            "--image-archive: only for --provider local, kind; let the nodes pull the image.",
        ),
        (("stress", "--workers", "-1"), "Invalid value for '--workers'"),
        (("stress", "--workers", "0"), "Invalid value for '--workers'"),
        (("stress", "--workers", "9"), "Invalid value for '--workers'"),
        (("stress", "--web-port", "99999"), "Invalid value for '--web-port'"),
        (("stress", "--provider", "existing", "--kubeconfig", "missing"), "there is no such file."),
        (("stress", "--provider", "existing", "--keep"), "--keep: only for --provider local, kind, not existing."),
        (("stress", "--spread-over", "5"), "--spread-over: only for --provider existing, not local."),
        (("stress", "--kubeconfig", "missing"), "--kubeconfig: only for --provider existing, not local."),
        (("stress", "--provider", "nowhere"), "provider 'nowhere': unknown"),
        (("stress", "--kubernetes-version", "1.50.0"), "--kubernetes-version: version is 1.50.0"),
        (("predict", "--kubernetes-version", "1.99.0"), "--kubernetes-version: version is 1.99.0"),
        (("predict", "--nodes", "99999999999999999999"), "Invalid value for '--nodes'"),
        (("predict", "--pods", "0"), "Invalid value for '--pods'"),
        (("predict", "--max", ""), 'kubelet profile "--max ": '),
        (("predict", "--cores", "0"), "Invalid value for '--cores'"),
        (("predict", "--cores", "inf"), "--cores 'inf': expected a number, such as 1.5."),
        (("predict", "--cores", "1_0.5"), "--cores '1_0.5': expected a number, such as 1.5."),
        (("predict", "--kube-api-qps", "nan"), "--kube-api-qps 'nan': expected a number, such as 1.5."),
        (("predict", "--nodes", "1_000"), "--nodes '1_000': expected a whole number, such as 10."),
        (("predict", "--nodes", "1.0"), "--nodes '1.0': expected a whole number, such as 10."),
        (("stress", "--pods", " 5"), "--pods ' 5': expected a whole number, such as 10."),
        (("run", "--dry-run", "--at-least", "1e2"), "--at-least '1e2': expected a whole number, such as 10."),
        (("predict", "--profile", "max-gate-off-but-set"), "refuses to start with it"),
        (("profile", "check", "stock", "--kubernetes-version", "1.99.0"), "--kubernetes-version: version is 1.99.0"),
        (
            ("observe", "--expect", "a=stock", "--expect", "a=max-2s"),
            "--expect 'a=max-2s': 'a' has an expectation already",
        ),
        (("predict", "--costs", "/dev/zero"), "costs /dev/zero: cannot be read (it is no regular file and no pipe)."),
        (("observe", "--namespace", "Bad NS!"), "--namespace 'Bad NS!': expected 1 to 63 lower-case letters"),
        (("predict", "--life", "nan"), "--life 'nan':"),
        (("predict", "--crashing", "\u0663%"), "--crashing '\u0663%': expected a share"),
        (("predict", "--crashing", "1_0%"), "--crashing '1_0%': expected a share"),
        (("predict", "--kubernetes-version", "1.37.\u0662"), "expected something like 1.37.1"),
        (
            ("stress", "--provider", "existing", "--spread-over", "\u0663"),
            "--spread-over '\u0663': expected 2 to 500 nodes",
        ),
        (("stress", "--workers", "1", "--listen", "192.0.2.7:\u0663"), "expected HOST or HOST:PORT"),
        (("stress", "knee", "--steps", "\u0663,20,30"), "expected at least 3 numbers"),
        (("run", "--dry-run", "-n", "\u0663"), "expected a number of processes"),
        (("run", "--requirement", "CAP"), "it is a topic: --topic CAP."),
        (("run", "--requirement", "CAP-3,CAP-4"), "give --requirement once for each name."),
        (("report", "a" * 5000), "it cannot be read (File name too long)."),
        (
            ("predict", "--life", "1000h"),
            "--life '1000h': expected 300s at most; of a container that runs longer, a kubelet",
        ),
        (("predict", "--life", "595s", "--max", "10s", "--from", "10s"), "--life '595s': expected 590s at most"),
        (
            ("predict", "--kubernetes-version", "1.34.0", "--max", "2s"),
            "a maximum of 2 s on Kubernetes 1.34.0: kubelets before 1.35 look every 10 to 15 s, however short the delay.",
        ),
        (("explain", "CAP-999"), "CAP-999: the catalogue has no such requirement."),
        (("explain", "cap3"), "cap3: the catalogue has no such requirement.\nDid you mean CAP-3?"),
        (
            ("explain", "cap"),
            "cap: the catalogue has no such requirement.\n`crashloop list --topic CAP` shows that topic.",
        ),
        (("predict", "--costs", "/dev/null"), "costs /dev/null: it is empty or cut off."),
        (("manifests", "../pyproject.toml"), "manifest '../pyproject.toml': there is none of that name."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_value_that_makes_no_sense_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refusal(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty; expected a KubeletConfiguration ("),
        ("[]", "it is a list; expected a KubeletConfiguration ("),
        ("a: [", "it is neither JSON nor YAML: "),
    ],
    ids=["empty", "list", "no YAML"],
)
def test_a_file_that_is_no_profile_is_reported_in_words(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        load_profile(path)
    assert said in str(refused.value)


def test_a_folder_without_drop_in_files_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the folder has no file \*\.conf"):
        load_profile(tmp_path)


def test_a_misspelt_field_is_not_taken_for_the_stock_curve(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    path.write_text(f"{head}crashLoopBackOff: {{maxContainerRestartPerod: 1s}}\n", encoding="utf-8")
    assert "crashLoopBackOff has no field 'maxContainerRestartPerod'" in refusal("predict", "--profile", str(path))


def test_a_file_of_many_brackets_is_reported_in_words(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("[" * 5000, encoding="utf-8")
    for arguments in (("profile", "check"), ("stress",), ("observe", "--kubeconfig")):
        assert "nested deeper than 200 levels" in refusal(*arguments, str(path))


def test_a_page_that_cannot_be_written_is_named_with_its_option(tmp_path: Path) -> None:
    example_run(tmp_path / "run")
    CliRunner().invoke(app, ["report", "--again", str(tmp_path / "run")])
    said = refusal("compare", "--by=version", str(tmp_path / "run"), "--html", str(tmp_path))
    assert said == f"--html {tmp_path}: cannot be written (Is a directory).\nName another file."


def test_one_version_is_not_every_release() -> None:
    assert refusal("setup", "--every-release", "--kubernetes-version", "1.36.4").startswith(
        "--every-release: has versions of its own."
    )


def test_a_file_whose_name_is_no_text_is_named_in_json(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.yaml")
    Path(path).write_text("a: 1")
    done = CliRunner().invoke(app, ["profile", "check", path, "--json"])
    assert done.exit_code == ExitCode.USAGE
    assert json.loads(done.stdout)[0]["profile"].endswith("/n?.yaml")


def test_flags_beside_gates_of_another_form_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "spec: {kubelet: {flags: [--feature-gates=Foo=true], config: {featureGates: 3}}}"
    )
    with pytest.raises(UsageError, match="featureGates is 3; a kubelet decodes it as"):
        load_profile(tmp_path / "own.yaml")


@pytest.mark.parametrize("folder", ["STATE", "RUNS", "CACHE"])
@pytest.mark.parametrize("kind", ["file", "loop"])
def test_a_folder_of_ours_that_is_none_is_no_empty_one(tmp_path: Path, folder: str, kind: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    done = ended("status", **{f"CRASHLOOP_{folder}_DIR": str(tmp_path / kind)})
    assert done.returncode == ExitCode.USAGE
    assert f"CRASHLOOP_{folder}_DIR {tmp_path / kind}: it is no folder." in done.stderr


def test_a_version_in_the_environment_is_named_with_its_variable() -> None:
    done = ended("status", CRASHLOOP_KUBERNETES_VERSION="9")
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("crashloop: CRASHLOOP_KUBERNETES_VERSION: Kubernetes version '9': expected")


@pytest.mark.parametrize("command", [["why"], ["profile", "check"]], ids=" ".join)
def test_a_name_that_no_file_can_have_is_wrong_usage(command: list[str]) -> None:
    done = ended(*command, f"./{'a' * 300}.yaml")
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("crashloop: File name too long: aaa")


def test_a_folder_of_a_dump_that_its_reader_may_not_open_is_named(folder: Path) -> None:
    closed = folder / "pods"
    closed.mkdir(mode=0o000)
    with as_nobody():
        assert refusal("why", str(folder)) == f"{closed}: cannot be read (Permission denied)."


@pytest.mark.parametrize("group", ["kind", "profile"])
def test_a_group_without_its_command_says_what_is_missing(group: str) -> None:
    done = ended(group)
    assert (done.returncode, "crashloop: Missing command.\n" in done.stderr) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("command", ["why", "report", "compare", "alerts", "profile check", "export"])
def test_an_argument_that_is_missing_or_empty_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, said in (([], "Missing argument"), ([""], "an argument is empty")):
        monkeypatch.setattr("sys.argv", ["crashloop", *command.split(), *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == ExitCode.USAGE
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--gates", "all"), "crashloop: unrecognized arguments: --gates.\n`crashloop run -h` has its options"),
        (("suites/nosuch",), "crashloop: file or directory not found: suites/nosuch"),
    ],
    ids=["option", "file"],
)
def test_what_pytest_refuses_is_said_in_the_style_of_every_other_refusal(wrong: tuple[str, ...], said: str) -> None:
    done = ended("run", "--dry-run", *wrong)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith(said)


@pytest.mark.parametrize("processes", ["x", "-1", "1.5"])
def test_a_number_of_processes_is_one(
    processes: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["crashloop", "run", "--dry-run", "-n", processes])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == ExitCode.USAGE
    assert "expected a number of processes, auto or logical" in capsys.readouterr().err


def test_other_rules_are_only_for_a_recording_that_is_judged_again() -> None:
    assert refusal("report", "RUN", "--model-version", "1.36").startswith("--model-version: only with --again.")
