"""Self-tests do not fail because a machine is busy or a shell unusual, and say at their end what they have proven."""

import os
import secrets
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

from suites.selftest.kit import cpu_time, proof
from tools import proven_sources

settings.register_profile("crashloop", parent=settings(), deadline=None)
settings.load_profile("crashloop")

# Variables of the shell about terminal, clusters and proxies, and of a `make` that runs the tests, are no input of a test.
_SHELL = (
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "COLUMNS",
    "LINES",
    "TERM",
    "FORCE_COLOR",
    "NO_COLOR",
    "PY_COLORS",
    "GITHUB_ACTIONS",
    "KUBECONFIG",
)
for _name in list(os.environ):
    if _name in _SHELL or _name.startswith("CRASHLOOP_") or _name.lower().endswith("_proxy"):
        del os.environ[_name]


_WHOLE, _RANDOM_SEED, _SEEDS = "--whole", "--random-seed", "--seeds"
_slow_key = pytest.StashKey[dict[str, str]]()
_OF_THE_12_000 = 1_665
"""From each seed below, 2,016 random kubelets are among those that a whole run tries: suites/selftest/kit/random_kubelets.py."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("crashloop: self-tests")
    group.addoption(
        _WHOLE,
        action="store_true",
        help="every cell of docs/fault-matrix.md and 12,000 random kubelets, though tools/proven_sources.sha256 has them",
    )
    group.addoption(
        _RANDOM_SEED,
        type=int,
        metavar="SEED",
        help="try 2,016 random kubelets from this seed on; default: some of the 12,000",
    )
    group.addoption(
        _SEEDS,
        type=int,
        default=1,
        metavar="N",
        help="recordings of each pod of the suite on each model of a host, of which none may accuse a correct kubelet",
    )


def pytest_configure(config: pytest.Config) -> None:
    """What is decided once; xdist hands its workers the options."""
    if config.getoption(_RANDOM_SEED) is None:
        config.option.random_seed = secrets.randbelow(_OF_THE_12_000)
    config.stash[_slow_key] = cpu_time.load_listed(config.rootpath / cpu_time.LISTED)
    config.option.whole = config.getoption(_WHOLE) or not proven_sources.are_proven(config.rootpath)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test that needs much CPU without a reason fails. Wall time is not limited: a machine may be busy."""
    before_s = cpu_time.used_s()
    yield
    wrong = cpu_time.objection(item.nodeid, cpu_time.used_s() - before_s, item.config.stash[_slow_key])
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)


@pytest.fixture
def whole(pytestconfig: pytest.Config) -> bool:
    """Whether everything is proven anew that `python -m tools.fault_matrix --write` proves."""
    return bool(pytestconfig.getoption(_WHOLE))


@pytest.fixture
def random_seed(pytestconfig: pytest.Config) -> int:
    """The first seed of the random kubelets that this run tries."""
    return int(pytestconfig.getoption(_RANDOM_SEED))


@pytest.fixture
def share(whole: bool, random_seed: int) -> proof.Share:
    """What this run tries of cases that are proven by the record in tools/proven_sources.sha256."""
    return lambda cases: cases if whole else proof.share_of(cases, random_seed)


@pytest.fixture
def seeds(pytestconfig: pytest.Config) -> range:
    """What to add to the seed of each pod of the suite."""
    return range(int(pytestconfig.getoption(_SEEDS)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How the fault matrix was tried, and the count of false alarms."""
    proven = "the whole fault matrix" if config.getoption(_WHOLE) else "the fault matrix by its page"
    terminalreporter.write_line(f"proven: {proven}; random kubelets: {_RANDOM_SEED} {config.getoption(_RANDOM_SEED)}")
    reports = [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]
    for line in proof.lines(reports):
        terminalreporter.write_line(line)
