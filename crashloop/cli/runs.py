"""Commands about runs: run the suite, judge a run again."""

import os
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from crashloop.cli.command import (
    JUDGED,
    Command,
    Example,
    JsonOption,
    RunArgument,
    epilog,
    out,
    print_json,
    takes,
)
from crashloop.cli.suites import Report, judged_again, mention_damage, report_of
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.resources import HOME, IS_INSTALLED, SUITES
from crashloop.run.options import OF_PYTEST, OPTIONS, as_arguments
from crashloop.verdict import ExitCode

RUN_EPILOG = epilog(
    Example("crashloop run --requirement CAP-3", "one requirement"),
    Example("crashloop run --kubelet-binary ./kubelet --topic RULES", "your own kubelet"),
    Example("crashloop run --provider existing --kubeconfig FILE", "a cluster that exists"),
    Example("crashloop run --scope full --dry-run", "what would run, and for how long"),
    exit_codes=JUDGED,
)


@takes((*OPTIONS, *OF_PYTEST))
def run(invocation: typer.Context, **given: Any) -> None:
    """Judge how kubelets restart crashing containers. Options that are not listed, and files of tests, go to pytest."""
    import pytest

    from crashloop.cli.run_terminal import SETTINGS, Faults, RunTerminal, is_own
    from crashloop.cluster.prerequisites import limit_problems, limits_too_low
    from crashloop.run.requested import check_request

    for problem in limit_problems(limits_too_low("RLIMIT_NOFILE")):
        raise PrerequisiteError(f"crashloop run: {problem.text}")
    if sys.flags.optimize:
        raise UsageError("crashloop run: -O or PYTHONOPTIMIZE leaves out assertions, and they judge.\nDo without.")
    processes = given["n"]
    if processes is not None and not re.fullmatch(r"[0-9]+|auto|logical", processes):
        raise UsageError(f"-n {processes}: expected a number of processes, auto or logical.")
    check_request({each.name: given[each.field] for each in OPTIONS if given[each.field] not in (None, [])})
    for argument in invocation.args:
        _refuse_misspelt(argument)
    chosen = [named_tests(argument) for argument in invocation.args]
    if not any(map(selects, chosen)):
        chosen.append(str(SUITES / "conformance"))
    faults = Faults()
    for name in _OF_THE_SHELL:
        os.environ.pop(name, None)
    own = [RunTerminal()] if is_own(invocation.args) else []
    settings = [*_pytest_settings(), *(SETTINGS if own else ())]
    arguments = [*settings, *as_arguments((*OPTIONS, *OF_PYTEST), given), *chosen]
    status = pytest.main(arguments, plugins=[faults, *own])
    raise typer.Exit(ExitCode.ERROR if faults.seen else _EXIT_CODES.get(status, status))


def _refuse_misspelt(argument: str) -> None:
    """Raise UsageError for an option that is not listed and that is close to one that is; pytest takes the others."""
    name = argument.partition("=")[0]
    known = [each.name for each in (*OPTIONS, *OF_PYTEST)]
    if not name.startswith("--") or name.startswith(_OF_PLUGINS) or name in known:
        return
    meant = [each for each in known if len(name) > 4 and each.startswith(name)] or get_close_matches(
        name, known, 1, 0.8
    )
    if meant:
        raise UsageError(f"{name}: no such option. Did you mean {' or '.join(meant)}?")


_OF_PLUGINS = ("--k8s-", "--crashloop-")
_OF_THE_SHELL = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
"""Settings for the user's own pytest, which would change or break a run."""


def _pytest_settings() -> list[str]:
    """pyproject.toml is named: pytest looks for it only above the paths among its arguments."""
    settings = [f"--rootdir={HOME}", f"--config-file={HOME / 'pyproject.toml'}", *_UNUSED]
    # The versions of an installation are not those of requirements.lock, and a newer one may warn.
    return [*settings, "-W", "default"] if IS_INSTALLED else settings


_UNUSED = ("-p", "no:hypothesispytest", "-p", "no:syrupy")
"""Plugins of self-tests, which take longer to import than a selected scenario to collect."""

_EXIT_CODES = {4: ExitCode.USAGE, 5: ExitCode.USAGE}
"""Of pytest's own (pytest.ExitCode): usage error, no tests. The others are replaced by fixtures/run.py."""


def named_tests(argument: str) -> str:
    """A file of tests by its absolute path: named from here, or from the folder that holds suites/."""
    path, separator, test = argument.partition("::")
    if argument.startswith("-") or not ("/" in path or path.endswith(".py")):
        return argument
    for found in (Path(path).absolute(), HOME / path):
        if found.exists():
            return f"{found}{separator}{test}"
    return argument


def selects(argument: str) -> bool:
    """Whether an argument chooses tests."""
    path = argument.partition("::")[0]
    return Path(path).is_absolute() and (path.endswith(".py") or Path(path).is_relative_to(SUITES))


def report(
    run_dir: RunArgument,
    again: Annotated[
        bool, typer.Option("--again", help="Judge it again, with no cluster, and write its results and views again.")
    ] = False,
    model_version: Annotated[
        str | None,
        typer.Option(
            metavar="V", help="With --again: judge every kubelet by the rules of this release, and write nothing."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the verdicts of a run, or judge it again."""
    if model_version is not None and not again:
        raise UsageError(
            "--model-version: only with --again.\nIt judges the recording by the rules of another release."
        )
    found = judged_again(run_dir, model_version) if again else report_of(run_dir)
    _show(found, run_dir, as_json, code="Exit code" if again else "Exit code of the run")
    if again:
        raise typer.Exit(found.document.exit_code or ExitCode.OK)


def reproduce(
    run_dir: RunArgument,
    requirement: Annotated[
        str, typer.Argument(metavar="REQUIREMENT", help="A requirement that it judged; its worst verdict is shown.")
    ],
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write there. Default: reproduce-REQUIREMENT.")
    ] = None,
) -> None:
    """Write what shows a verdict of a run with kubectl alone: manifests, the kubelet's configuration, a shell script."""
    from crashloop.cli.compare import write_file
    from crashloop.run.analysis import published
    from crashloop.run.reproduce import SCRIPT, reproducer
    from crashloop.rundir import RunDir

    run, wanted = RunDir.open(run_dir), requirement.strip().upper()
    if (suite := run.info().suite) != "conformance":
        raise UsageError(
            f"run directory {run_dir}: it holds a {suite} run; only a conformance run is about single pods."
        )
    target = folder or Path(f"reproduce-{wanted}")
    for name, text in reproducer(published(run), run.plan(), wanted).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_file("--out", target / name, text)
    (target / SCRIPT).chmod(0o755)
    out.print(str(target / SCRIPT), soft_wrap=True, markup=False)


def _show(found: Report, run_dir: Path, as_json: bool, *, code: str) -> None:
    from crashloop.report.terminal import render

    page = run_dir / "report.html"
    if as_json:
        print_json(found.results)
    else:
        render(found.document, out, report=str(page) if page.exists() else "", code=code)
    mention_damage(run_dir)


COMMANDS = (
    Command(
        run, {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}, "epilog": RUN_EPILOG}
    ),
    Command(
        report,
        {
            "epilog": epilog(
                Example("crashloop report --again --model-version 1.36 RUN", "by other rules"),
                exit_codes=f"0 shown, whatever the verdicts are; with --again: {JUDGED}",
            )
        },
    ),
    Command(
        reproduce, {"epilog": epilog(Example("crashloop reproduce runs/latest X-3", "30 lines of shell for kubectl"))}
    ),
)
