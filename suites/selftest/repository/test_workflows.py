"""The GitHub workflows: pinned actions, least permissions, timeouts, and nothing but make targets that exist."""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from crashloop.cluster.kind.node_image import OWN, version_in_tag
from crashloop.cluster.providers import LENDING, PROVIDERS
from crashloop.spec.requirement import OLDEST_RELEASE
from crashloop.spec.version import KubernetesVersion

ROOT = Path(__file__).parents[3]
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github/workflows").glob("*.yml"))}
ACTIONS = {path.parent.name: path for path in sorted((ROOT / ".github/actions").glob("*/action.yml"))}
PUBLISHED = ROOT / "action.yml"
"""The action for other repositories."""
FILES = (*WORKFLOWS.values(), *ACTIONS.values(), PUBLISHED)

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
MAKE = re.compile(
    r"(?:sudo (?:--preserve-env=[A-Z_,]+ )?)?make(?: -s)?(?: -C \"\$GITHUB_ACTION_PATH\")?"
    r"((?: [a-z-]+)+)(?: >> \"\$GITHUB_(?:STEP_SUMMARY|OUTPUT)\")?"
)

PINNED_IMAGE = re.compile(r"kindest/node:v\d+\.\d+\.\d+@sha256:[0-9a-f]{64}")

MAKES_A_RUN = frozenset(
    {"conformance", "conformance-full", "guest", "quick", "kind", "stress", "stress-full", "stress-judged", "mutants"}
)

WRITES = {("release", "publish"): {"contents": "write"}}
"""The only jobs that may write anything, and what."""


def loaded(path: Path) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for workflow, path in WORKFLOWS.items():
        for name, job in loaded(path)["jobs"].items():
            yield workflow, name, job


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every step of workflows and actions, with where it stands."""
    for workflow, job, content in jobs():
        yield from ((f"{workflow}.{job}", step) for step in content["steps"])
    for name, path in {**ACTIONS, "action": PUBLISHED}.items():
        yield from ((name, step) for step in loaded(path)["runs"]["steps"])


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def made_by(step: dict[str, Any]) -> list[str]:
    """The make targets of a step that runs something."""
    match = MAKE.fullmatch(step["run"].strip())
    return match[1].split() if match else []


EACH_JOB = pytest.mark.parametrize(("workflow", "name", "job"), list(jobs()), ids=[f"{w}-{n}" for w, n, _ in jobs()])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_actions_of_others_are_pinned_by_commit_and_say_which_version(path: Path) -> None:
    used = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
    assert [each for each in used if not each.startswith("./") and not PINNED.fullmatch(each)] == []


def test_an_action_has_one_version_everywhere() -> None:
    versions: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        for name, version in re.findall(r"uses: ([^./][^@]+)@(.+)", path.read_text(encoding="utf-8")):
            versions[name].add(version)
    assert versions
    assert {name: each for name, each in versions.items() if len(each) > 1} == {}


def test_actions_of_our_own_exist() -> None:
    used = {step["uses"] for _, step in steps() if step.get("uses", "").startswith("./")}
    assert used == {"./", *(f"./.github/actions/{name}" for name in ACTIONS)}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_grants_nothing_by_itself_and_does_not_run_twice_at_once(workflow: str) -> None:
    content = loaded(WORKFLOWS[workflow])
    assert content["permissions"] == {}
    assert content["concurrency"]["group"] == f"{workflow}-${{{{ github.ref }}}}"
    assert content["name"] == workflow


@EACH_JOB
def test_a_job_has_least_permissions_and_a_timeout(workflow: str, name: str, job: dict[str, Any]) -> None:
    assert job["permissions"] == WRITES.get((workflow, name), {"contents": "read"})
    assert 0 < job["timeout-minutes"] <= 120
    assert job["runs-on"] == "ubuntu-24.04"


def test_no_checkout_leaves_its_token_behind() -> None:
    checkouts = [step for _, step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_steps_run_only_make_targets_that_exist() -> None:
    run = [(where, step["run"], made_by(step)) for where, step in steps() if "run" in step]
    assert [(where, script) for where, script, made in run if not made] == []
    assert {target for _, _, made in run for target in made} - targets() == set()


@pytest.mark.parametrize(
    ("script", "made"),
    [
        ("make lint workflows", ["lint", "workflows"]),
        ('make -C "$GITHUB_ACTION_PATH" conformance', ["conformance"]),
        ("make -C /elsewhere conformance", []),
        ("sudo --preserve-env=PYTEST_ARGS make conformance", ["conformance"]),
        ('make -s matrix >> "$GITHUB_STEP_SUMMARY"', ["matrix"]),
        ("pip install crashloop", []),
        ("make lint; pip install crashloop", []),
        ("make conformance SCOPE=${{ inputs.scope }}", []),
    ],
)
def test_only_plain_calls_of_make_are_seen_as_such(script: str, made: list[str]) -> None:
    assert made_by({"run": script}) == made


@pytest.mark.parametrize("used", ["actions/checkout@v7", f"actions/checkout@{'a' * 40}", f"x/y@{'a' * 39} # v1.0.0"])
def test_a_tag_alone_or_a_commit_without_its_version_is_no_pin(used: str) -> None:
    assert not PINNED.fullmatch(used)


@EACH_JOB
def test_a_job_that_makes_a_run_keeps_it_whatever_happens(workflow: str, name: str, job: dict[str, Any]) -> None:
    made = {target for step in job["steps"] if "run" in step for target in made_by(step)}
    kept = [step for step in job["steps"] if step.get("uses") == "./.github/actions/keep-run"]
    assert [step["if"] for step in kept] == (["always()"] if made & MAKES_A_RUN else [])


def test_the_kept_run_is_uploaded_and_its_summary_shown() -> None:
    upload, show = loaded(ACTIONS["keep-run"])["runs"]["steps"]
    assert upload["with"]["path"].split() == ["runs/", "!runs/latest", "!runs/latest/**"]
    assert upload["with"]["if-no-files-found"] == "error"
    assert (show["if"], made_by(show)) == ("always()", ["summary"])


def test_the_published_action_makes_a_run_from_its_own_folder_and_keeps_it() -> None:
    cache, judge, upload, tell, show = loaded(PUBLISHED)["runs"]["steps"]
    assert made_by(judge) == ["conformance"]
    assert judge["env"] == {
        "PYTEST_ARGS": "${{ inputs.arguments }}",
        "INCONCLUSIVE": "${{ inputs.inconclusive }}",
        "CRASHLOOP_CACHE_DIR": cache["with"]["path"],
    }
    kept = re.search(r"--preserve-env=(\S+)", judge["run"])
    assert kept is not None
    assert set(kept[1].split(",")) == judge["env"].keys()
    assert (tell["if"], made_by(tell)) == ("always()", ["outputs"])
    runs = "${{ github.action_path }}/runs/"
    assert upload["with"]["path"].splitlines() == [runs, f"!{runs}latest", f"!{runs}latest/**"]
    assert (upload["if"], upload["with"]["if-no-files-found"]) == ("always()", "error")
    assert (show["if"], made_by(show)) == ("always()", ["summary"])


WITHOUT_SUDO = re.compile(r"^sudo (--preserve-env=\S+ )?")
RUNNABLE = sorted({WITHOUT_SUDO.sub("", step["run"].strip()) for _, step in steps() if "run" in step})


@pytest.mark.parametrize("script", RUNNABLE)
def test_make_can_do_what_a_step_asks_for(script: str, tmp_path: Path) -> None:
    """As the step's shell runs it, up to the programs that the targets would start."""
    environment = {
        "GITHUB_ACTION_PATH": str(ROOT),
        "RELEASE_URL": "https://example.org",
        "TAG": "v0",
        "PATH": "/usr/bin:/bin",
    }
    environment |= {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script.replace("make", "make --dry-run", 1)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (done.stdout or (tmp_path / script.rpartition("$")[2].rstrip('"')).read_text()).strip()


@pytest.mark.parametrize("target", ["summary", "outputs"])
def test_what_later_steps_are_told_comes_from_the_newest_run_if_there_is_one(target: str, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text(encoding="utf-8"), encoding="utf-8")
    asked = ["make", "-s", "--assume-old=python", target, f"BIN={ROOT / '.venv/bin'}"]
    said = subprocess.run(
        asked,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        text=True,
        capture_output=True,
        check=True,
    )
    assert said.stdout.splitlines()[0] == {"summary": "No run was judged.", "outputs": "outcome=ERROR"}[target]


def test_the_published_action_is_used_by_a_job_with_inputs_that_it_has() -> None:
    used = [step for _, step in steps() if step.get("uses") == "./"]
    assert used
    assert all(step.get("with", {}).keys() <= loaded(PUBLISHED)["inputs"].keys() for step in used)


def nightly_images() -> list[str]:
    matrix = loaded(WORKFLOWS["conformance"])["jobs"]["conformance"]["strategy"]["matrix"]["image"]
    (listed,) = re.findall(r"'(\[ .+? \])'", matrix)
    images: list[str] = yaml.safe_load(listed)
    return images


def test_conformance_runs_every_night_on_each_release_by_an_image_of_kind_and_on_one_of_our_own() -> None:
    triggers = loaded(WORKFLOWS["conformance"])[True]  # YAML 1.1 reads the key `on` so
    assert len(triggers["schedule"]) == 1
    assert triggers["workflow_dispatch"]["inputs"]["image"]["options"] == ["all", *nightly_images()]
    own, *official = nightly_images()
    assert own == OWN
    assert [each for each in official if not PINNED_IMAGE.fullmatch(each)] == []
    releases = [KubernetesVersion.parse(version_in_tag(each) or "").release for each in official]
    assert releases == [(1, 37), (1, 36), (1, 35), (1, 34), (1, 33)]
    assert min(releases) == KubernetesVersion.parse(OLDEST_RELEASE).release


def test_a_job_on_kind_names_its_node_image() -> None:
    """Otherwise crashloop's own image takes the place of one that cannot be pulled."""
    on_kind = {name: job for _, name, job in jobs() if re.search(r"\bkind\b", str(job))}
    assert set(on_kind) == {"provider", "quick", "conformance"}
    assert [name for name, job in on_kind.items() if "--node-image " not in str(job)] == []
    assert [name for name, job in on_kind.items() if "${{ matrix.image }}" not in str(job["steps"])] == []


def test_self_tests_run_on_every_python_that_is_supported() -> None:
    tried = loaded(WORKFLOWS["ci"])["jobs"]["selftest"]["strategy"]["matrix"]["python"]
    assert tried == ["3.11", "3.12", "3.13", "3.14"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={tried[0]}"' in project
    assert re.findall(r"Python :: (3\.\d+)", project) == tried


def test_a_run_on_clusters_has_the_newest_python_that_is_supported() -> None:
    jobs = loaded(WORKFLOWS["ci"])["jobs"]
    newest = jobs["selftest"]["strategy"]["matrix"]["python"][-1]
    assert [each["with"]["python-version"] for each in jobs["quick"]["steps"] if "setup-python" in str(each)] == [
        newest
    ]


def test_the_quick_scope_runs_on_every_provider_that_makes_clusters() -> None:
    tried = loaded(WORKFLOWS["ci"])["jobs"]["quick"]["strategy"]["matrix"]["provider"]
    assert set(tried) == set(PROVIDERS) - set(LENDING)


def test_the_kit_runs_on_every_provider_that_makes_clusters() -> None:
    tried = loaded(WORKFLOWS["ci"])["jobs"]["provider"]["strategy"]["matrix"]["provider"]
    assert set(tried) == set(PROVIDERS) - set(LENDING)


def test_the_quick_runs_of_all_providers_are_compared() -> None:
    job = loaded(WORKFLOWS["ci"])["jobs"]["diff"]
    fetched = [step for step in job["steps"] if step.get("uses", "").startswith("actions/download-artifact@")]
    assert job["needs"] == "quick"
    assert [step["with"]["pattern"] for step in fetched] == ["run-*"]
    assert made_by(job["steps"][-1]) == ["diff"]


def test_zizmor_finds_nothing() -> None:
    zizmor = str(Path(sys.executable).with_name("zizmor"))
    command = [
        zizmor,
        "--offline",
        "--no-progress",
        "--quiet",
        "--strict-collection",
        "--persona=pedantic",
        "--color=never",
        ".github",
        "action.yml",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "No findings to report. Good job!\n")
