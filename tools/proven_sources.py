"""The sources for which the whole fault matrix and all random kubelets were last proven, by one digest.

Every run of the self-tests takes the short form of each proof, and the whole one if today's sources have another digest
than tools/proven_sources.sha256. `python -m tools.fault_matrix --write` records it once the whole proof holds.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

RECORDED = Path("tools/proven_sources.sha256")
RULES = (
    "crashloop/checks",
    "crashloop/history",
    "crashloop/model",
    "crashloop/restarts",
    "sim",
    "crashloop/spec",
    "crashloop/catalogue",
    "crashloop/deviations.py",
    "crashloop/deviations.yaml",
    "crashloop/kubelet_files.py",
    "crashloop/kubelet_values.py",
    "crashloop/profiles.py",
    "crashloop/requirements.py",
    "crashloop/verdict.py",
    "crashloop/words.py",
    "manifests/kubelet",
)
"""What a verdict on a simulated history depends on: everything that judges or simulates imports, but for reading files."""
PROOF = (
    "crashloop/run/planning.py",
    "docs/fault-matrix.md",
    "suites/conformance",
    "suites/selftest/checks/test_first_restarts.py",
    "suites/selftest/checks/test_pooled.py",
    "suites/selftest/kit/fault_scenarios.py",
    "suites/selftest/kit/proof.py",
    "suites/selftest/kit/random_kubelets.py",
    "suites/selftest/kit/random_scenarios.py",
    "suites/selftest/tools/test_dead_pods.py",
    "suites/selftest/tools/test_every_release.py",
    "suites/selftest/tools/test_fault_matrix.py",
    "suites/selftest/tools/test_fault_matrix_correct.py",
    "tools/fault_matrix.py",
    "tools/fault_matrix_page.py",
    "tools/trials.py",
    "tools/uncaught_faults.yaml",
)
"""What is tried, and the page that says what was found."""


def digest(root: Path = Path()) -> str:
    """The digest of these files below a checkout: of their paths and contents, in hexadecimal."""
    found = hashlib.sha256()
    for path in files(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()


def files(root: Path = Path()) -> Iterator[Path]:
    """The files, in the order of their paths. Raises FileNotFoundError for a source that is not there any more."""
    for name in sorted((*RULES, *PROOF)):
        source = root / name
        below = sorted(each for each in source.rglob("*") if each.is_file() and each.suffix != ".pyc")
        if not below and not source.is_file():
            raise FileNotFoundError(f"{name}: tools/proven_sources.py names it; there is no such source.")
        yield from below or (source,)


def are_proven(root: Path = Path()) -> bool:
    """Whether the whole proof was recorded for today's sources."""
    recorded = root / RECORDED
    return recorded.is_file() and digest(root) in recorded.read_text(encoding="utf-8").split()


def record(root: Path = Path()) -> None:
    """Record that it holds for them."""
    (root / RECORDED).write_text(f"{digest(root)}\n", encoding="utf-8")
