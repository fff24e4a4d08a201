"""Wheel and sdist, installed outside of the checkout, each in an environment of its own."""

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from crashloop.cluster.images import PROGRAM_IMAGE

ROOT = Path(__file__).parents[2]
CLUSTER = "wheel-test"


class Installed(NamedTuple):
    """An environment, and a folder to work in."""

    environment: Path
    work: Path

    @property
    def packages(self) -> Path:
        (found,) = self.environment.glob("lib/python*/site-packages")
        return found

    def crashloop(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output of a command."""
        return self.program("crashloop", *arguments)

    def program(self, name: str, *arguments: str, timeout_s: float = 240.0) -> tuple[int, str]:
        """Exit code and output of an installed program; no variable of pytest or Python reaches it."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
        done = subprocess.run(
            [self.environment / "bin" / name, *arguments],
            cwd=self.work,
            env=kept,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return done.returncode, done.stdout


class Cluster(NamedTuple):
    """A cluster from `crashloop up`."""

    kubeconfig: str
    image: str


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel that is made from it."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="session")
def core(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel without extras."""
    (wheel,) = distributions.glob("*.whl")
    return _installed(str(wheel), tmp_path_factory)


@pytest.fixture(scope="session")
def full(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with the extra `run`."""
    (wheel,) = distributions.glob("*.whl")
    return _installed(f"crashloop[run] @ {wheel.as_uri()}", tmp_path_factory)


@pytest.fixture(scope="session")
def from_source(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The sdist without extras."""
    (sdist,) = distributions.glob("*.tar.gz")
    return _installed(str(sdist), tmp_path_factory)


@pytest.fixture(scope="session")
def cluster(full: Installed) -> Iterator[Cluster]:
    """Two nodes, brought up and removed by the installed command."""
    status, output = full.crashloop("up", "--name", CLUSTER, "--profile", "stock", "--profile", "max-2s")
    assert status == 0, output
    yield Cluster(output.splitlines()[-1].strip(), PROGRAM_IMAGE)
    status, output = full.crashloop("down", CLUSTER)
    assert status == 0, output


@pytest.fixture(scope="session")
def run(full: Installed) -> Path:
    """The directory of a conformance run on the provider `local`."""
    status, output = full.crashloop("run", "--requirement", "CAP-3", "--requirement", "VAL-1", "--run-dir", "local")
    assert status == 0, output
    return full.work / "local"


def _installed(what: str, folders: pytest.TempPathFactory) -> Installed:
    """Install it with the versions of requirements.lock."""
    environment = folders.mktemp("environment")
    venv.create(environment, with_pip=True)
    constraints = environment / "constraints.txt"
    constraints.write_text("\n".join(_locked()), encoding="utf-8")
    pip = (str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
    _run(*pip, "install", "--quiet", "--constraint", str(constraints), what)
    return Installed(environment, folders.mktemp("work"))


def _locked() -> list[str]:
    """As constraints of pip, which have no extras."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    packages = (line.removesuffix("\\").strip() for line in lock.splitlines() if re.match(r"[a-z0-9]", line))
    return [re.sub(r"\[.*\]", "", each) for each in packages]


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
