"""`python -m quality`: runs the wrong kubelets, judges them, and reports whether all of them were caught."""

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.errors import CrashloopError, UsageError
from crashloop.progress import default_progress
from crashloop.report.results import Results
from crashloop.run.judging import wait_until_sealed
from crashloop.rundir import RunDir, new_run_path
from crashloop.settings import resolve_settings
from crashloop.spec.plan import Budgets
from crashloop.verdict import ExitCode
from fixtures.owner import Owner, write_plan
from quality.comparison import compare
from quality.executable import write_api_server, write_executable
from quality.fault import Fault
from quality.faults import TRUE
from quality.planning import SUITE, build_plan
from quality.planted import PLANTED, Planted
from quality.table import render, to_markdown

DOCUMENT = Path(__file__).parents[1] / "docs" / "quality.md"
PLAIN_WIDTH = 180
"""Width of the table in a file or a CI log."""


def main() -> int:
    """The exit code: 0 if every kubelet was judged as expected, else 1; 2 and 70 as in `crashloop`."""
    options = _options()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    began = time.monotonic()
    try:
        planted = _chosen(options.only)
        run, results = _record(planted, keep=options.keep)
        rows = compare(list(planted), results.verdicts)
    except UsageError as error:
        console.print(f"quality: {error}", markup=False, soft_wrap=True)
        return ExitCode.USAGE
    except CrashloopError as error:
        console.print(f"quality: {error}", markup=False, soft_wrap=True)
        return ExitCode.ERROR
    render(rows, console)
    console.print(f"Evidence: {run.root}", markup=False, soft_wrap=True)
    if options.write:
        version = run.plan().kubernetes_version
        before = DOCUMENT.read_text(encoding="utf-8")
        took_s = time.monotonic() - began
        text = to_markdown(rows, planted=PLANTED, before=before, kubernetes_version=version, took_s=took_s)
        DOCUMENT.write_text(text, encoding="utf-8")
    return ExitCode.OK if all(row.as_expected for row in rows) else ExitCode.FAIL


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m quality", description=__doc__)
    parser.add_argument("--only", action="append", metavar="FAULT", help="only this fault (may be given again)")
    parser.add_argument("--write", action="store_true", help=f"write docs/{DOCUMENT.name}; with --only these rows")
    parser.add_argument("--keep", action="store_true", help="leave the cluster up; `crashloop down` removes it")
    return parser.parse_args()


def _chosen(only: Sequence[str] | None) -> tuple[Planted, ...]:
    """The nodes, reduced to the faults that were requested. Raises UsageError for an unknown one."""
    names = {each.fault.name for each in PLANTED}
    unknown = sorted(set(only or ()) - names)
    if unknown:
        raise UsageError(f"--only {unknown[0]}: unknown fault; expected one of {', '.join(sorted(names))}.")
    return tuple(each for each in PLANTED if only is None or each.fault.name in only)


def _record(planted: Sequence[Planted], *, keep: bool) -> tuple[RunDir, Results]:
    """Record a run of these nodes in a new run directory, and judge it."""
    settings = resolve_settings()
    version = settings.versions.kubernetes
    binaries = ensure_binaries(settings, kubernetes_version=version, progress=default_progress())
    path = new_run_path(settings.paths.runs_dir, SUITE, datetime.now(UTC)).absolute()
    kubelets, api_server = path / "kubelets", path / "api-server"
    drops_of = {each.profile: each.fault.drops for each in planted if each.fault.drops}

    def kubelet_of(planted: Planted) -> str | None:
        fault: Fault = planted.fault
        return None if fault == TRUE or fault.drops else str(kubelets / fault.name)

    plan = build_plan(planted, kubernetes_version=version, budgets=Budgets(), kubelet_of=kubelet_of)
    own = {"bin_dir": str(api_server)} if drops_of else {}
    run = write_plan(path, plan, {"provider": plan.provider, "keep": keep, **own})
    if drops_of:
        write_api_server(api_server, drops_of, binaries.kube_apiserver)
    kubelets.mkdir()
    for each in planted:
        write_executable(kubelets, each.fault, binaries.kubelet)
    owner = Owner(run.root, sys.stderr)
    owner.start()
    try:
        for scenario in plan.scenarios:
            wait_until_sealed(run, plan, scenario.name)
    finally:
        results = owner.finish()
    assert results is not None
    return run, results


if __name__ == "__main__":
    sys.exit(main())
