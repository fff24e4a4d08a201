"""Image, Jobs and plugins: what they name exists, and their pods need no rights that their manifests do not grant."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from crashloop.cli import app
from crashloop.kube.kubeconfig import read_context
from crashloop.run.options import OPTIONS

ROOT = Path(__file__).parents[3]
IN_CLUSTER = ROOT / "manifests" / "in-cluster"
RBAC = {"observe": "observe.yaml", "run": "existing-namespace.yaml", "load-worker": "existing-namespace.yaml"}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def loaded(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def job_of(name: str) -> dict[str, Any]:
    (job,) = loaded(IN_CLUSTER / f"{name}.yaml")
    return job


def options_of(command: str) -> set[str]:
    group: Any = typer.main.get_command(app)
    found = group.get_command(group.context_class(group), command)
    return {name for parameter in found.params for name in parameter.opts}


@pytest.mark.parametrize("name", RBAC)
def test_a_job_uses_a_service_account_that_its_permissions_are_for(name: str) -> None:
    job = job_of(name)
    accounts = [
        each["metadata"] for each in loaded(ROOT / "manifests/rbac" / RBAC[name]) if each["kind"] == "ServiceAccount"
    ]
    used = {"name": job["spec"]["template"]["spec"]["serviceAccountName"], "namespace": job["metadata"]["namespace"]}
    assert accounts == [used]


@pytest.mark.parametrize("name", RBAC)
def test_a_job_satisfies_the_restricted_pod_security_standard_and_runs_once(name: str) -> None:
    job = job_of(name)
    pod = job["spec"]["template"]["spec"]
    assert (job["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert [each["securityContext"] for each in pod["containers"]] == [
        {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    ]


@pytest.mark.parametrize("name", RBAC)
def test_a_job_gives_its_command_options_that_it_has(name: str) -> None:
    command, *words = job_of(name)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert command == name
    assert {word for word in words if word.startswith("--")} <= options_of(command)


def test_the_kubeconfig_of_a_pod_names_its_service_account() -> None:
    named = read_context(str(IN_CLUSTER / "kubeconfig.yaml"))
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert named.cluster["certificate-authority"] == f"{account}/ca.crt"
    assert named.user["tokenFile"] == f"{account}/token"


def test_the_image_copies_files_that_exist_and_that_docker_is_shown() -> None:
    shown = [
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    ]
    copied = [
        word for words in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for word in words.split()
    ]
    assert {each for each in copied if not each.startswith("dist")} == {
        each for each in shown if not each.startswith("dist")
    }
    assert [each for each in shown if "*" not in each and not (ROOT / each).exists()] == []


def test_the_image_has_the_kubeconfig_of_a_pod_and_no_root() -> None:
    (target,) = re.findall(r"^COPY manifests/in-cluster/kubeconfig.yaml (\S+)$", DOCKERFILE, re.MULTILINE)
    assert f"KUBECONFIG={target} " in DOCKERFILE
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["65534:65534"]


def test_the_image_has_the_locked_versions_as_constraints_which_have_no_extras() -> None:
    (script,) = re.findall(r"sed -n '(.+)' /dist/requirements.lock", DOCKERFILE)
    lock = ROOT / "requirements.lock"
    constraints = subprocess.run(["sed", "-n", script, lock], stdout=subprocess.PIPE, text=True, check=True).stdout
    packages = re.findall(r"^[a-z0-9].*==.*(?= \\$)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    assert [re.sub(r"\[.*?\]", "", each) for each in packages] == constraints.splitlines()


def test_the_plugin_of_sonobuoy_hands_over_a_run_by_options_that_exist() -> None:
    (plugin,) = loaded(IN_CLUSTER / "sonobuoy.yaml")
    assert (plugin["sonobuoy-config"]["driver"], plugin["sonobuoy-config"]["result-format"]) == ("Job", "junit")
    (script,) = plugin["spec"]["args"]
    (command,) = (shlex.split(line) for line in script.splitlines() if line.startswith("crashloop "))
    assert command[1] == "run"
    assert {word for word in command if word.startswith("--")} <= {option.name for option in OPTIONS}
    mounted = [each["mountPath"] for each in plugin["spec"]["volumeMounts"]]
    assert f"${{SONOBUOY_RESULTS_DIR:-{mounted[0]}}}" in script
    assert script.splitlines()[-1].endswith('> "$results/done"')
