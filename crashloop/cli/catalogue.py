"""Commands about the catalogue of requirements and the kubelet profiles: list, explain, check."""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crashloop.cli.command import Command, JsonOption, KubernetesVersionOption, out, print_json, print_table
from crashloop.errors import UsageError
from crashloop.verdict import ExitCode

if TYPE_CHECKING:
    from crashloop.spec.requirement import Requirement

RESTS_ON = {
    "promise": "a promise of Kubernetes",
    "source": "no promise of Kubernetes: its source code, or an article",
}
"""By `crashloop.spec.requirement.Basis`, without its imports."""
DECIDES = {
    "gate": "a FAIL fails the run",
    "report": "report only: a FAIL fails no run",
    "text": "report only: a FAIL says that a text is wrong",
}
"""By `crashloop.verdict.VerdictMode`, without its imports."""
StateName = Literal["judged", "planned", "untestable"]
"""Values of `crashloop.spec.requirement.State`, without its imports."""


def list_requirements(
    topic: Annotated[list[str] | None, typer.Option(metavar="TOPIC", help="Only this topic; repeatable.")] = None,
    state: Annotated[StateName | None, typer.Option(help="Only requirements in this state.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the requirements of the catalogue."""
    from crashloop.requirements import load_requirements
    from crashloop.run.selection import Selection
    from crashloop.spec.requirement import State
    from crashloop.verdict import VerdictMode

    catalogue = load_requirements()
    selection = Selection.of(catalogue, topics=topic or ())
    chosen = [each for each in catalogue.values() if selection.has(each) and state in (None, each.state.value)]
    if as_json:
        print_json(chosen)
        return
    rows = ((each.id, each.scope.value, each.state.value, each.sentence) for each in chosen)
    print_table(("id", "scope", "state", "sentence"), rows)
    shown = sum(each.state is State.JUDGED and each.mode is not VerdictMode.GATE for each in chosen)
    out.print(f"{len(chosen)} requirements, of which {shown} report only. `crashloop explain ID` says more.")


def explain(
    requirement: Annotated[str, typer.Argument(metavar="ID", help="A requirement, such as CAP-3.")],
    as_json: JsonOption = False,
) -> None:
    """Explain a requirement: sentence, source, releases, least evidence, tests, and its verdicts in the newest run."""
    from crashloop.requirements import load_requirements

    catalogue = load_requirements()
    wanted = requirement.strip().upper()
    if wanted not in catalogue:
        hint = "`crashloop list` shows all of them."
        if any(each.partition("-")[0] == wanted for each in catalogue):
            hint = f"`crashloop list --topic {wanted}` shows that topic."
        elif close := get_close_matches(wanted, catalogue, 1):
            hint = f"Did you mean {close[0]}? {hint}"
        raise UsageError(f"{requirement}: the catalogue has no such requirement.\n{hint}")
    found = catalogue[wanted]
    if as_json:
        print_json(found)
        return
    out.print(f"{found.id}: {found.sentence}", soft_wrap=not out.is_terminal, style="bold")
    print_table(("", ""), _facts(found))


def _facts(found: "Requirement") -> Iterator[tuple[str, str]]:
    until = f" to {found.until}" if found.until else " or newer"
    yield "source", found.source
    yield "rests on", RESTS_ON[found.basis.value]
    yield "decides", DECIDES[found.mode.value]
    if found.bound.value == "ours":
        yield "bound", "ours: no text names a number"
    yield "releases", f"Kubernetes {found.since}{until}"
    if found.gates:
        yield "gates", ", ".join(found.gates)
    if found.needs:
        yield "needs", ", ".join(found.needs)
    yield "scope", found.scope.value
    yield "evidence", found.evidence
    judges = (*found.checkers, *found.slos, *(f"{name}, on every pod" for name in found.everywhere))
    yield "judged by", "; ".join(judges) or f"nothing: {found.state.value}, {found.reason}"
    if found.note:
        yield "note", found.note
    if found.moving:
        from crashloop.model.variants import IN_MOTION

        yield "moving", f"{found.moving} is open. {IN_MOTION[found.moving].sentence}"
        yield "", "A kubelet newer than every release that this suite knows may do either."
    yield from _tests(found.id)
    yield from _last_verdicts(found.id)


def _tests(identifier: str) -> Iterator[tuple[str, str]]:
    from crashloop.run.selection import requirements_with_tests

    for each in requirements_with_tests(text=f'("{identifier}")').get(identifier, ()):
        yield "test", f"{each.path}::{each.test}"


def _last_verdicts(identifier: str) -> Iterator[tuple[str, str]]:
    """From runs/latest, if there is a run."""
    from crashloop.settings import resolve_settings

    latest = resolve_settings().paths.runs_dir / "latest"
    if (latest / "results.json").exists():
        from crashloop.run.analysis import published
        from crashloop.rundir import RunDir

        try:
            verdicts = published(RunDir(latest)).verdicts
        except UsageError as error:
            yield "newest run", str(error)
            return
        for each in verdicts:
            if each.requirement == identifier:
                yield "newest run", f"{each.outcome} on {each.scenario}"


def check(
    profiles: Annotated[
        list[str], typer.Argument(metavar="PROFILE...", help="Kubelet profiles: names, files, or drop-in directories.")
    ],
    kubernetes_version: KubernetesVersionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check kubelet configurations: what a kubelet of the version refuses or drops, and the delays that follow.

    Files may be those of kubeadm, kind, ConfigMaps, /configz and cloud providers.
    """
    from crashloop.kubelet_values import CHECKED
    from crashloop.report.text import printable
    from crashloop.run.profile_check import UNREADABLE, checked
    from crashloop.settings import resolve_settings
    from crashloop.spec.version import KubernetesVersion, check_supported

    version = KubernetesVersion.parse(kubernetes_version or resolve_settings().versions.kubernetes)
    check_supported("--kubernetes-version", version)
    rows = [checked(each, version) for each in profiles]
    if as_json:
        print_json(rows)
    else:
        print_table(
            ("profile", "Kubernetes", "", "delays, or why not"),
            [(each.profile, each.kubernetes, each.outcome, each.text) for each in rows],
        )
        for each in rows:
            for note in each.notes:
                out.print(printable(f"{each.profile}: {note}."), markup=False)
        out.print(CHECKED)
    outcomes = {each.outcome for each in rows}
    raise typer.Exit(
        ExitCode.USAGE if UNREADABLE in outcomes else ExitCode.FAIL if outcomes - {"accepted"} else ExitCode.OK
    )


def manifests(
    name: Annotated[str | None, typer.Argument(metavar="FILE", help="Such as rbac/observe.yaml.")] = None,
) -> None:
    """List the manifests that come with crashloop, or print one: `crashloop manifests rbac/observe.yaml | kubectl apply -f -`."""
    from crashloop.resources import MANIFESTS

    files = sorted(path for path in MANIFESTS.rglob("*") if path.suffix in (".yaml", ".json"))
    known = {path.relative_to(MANIFESTS).as_posix(): path for path in files}
    if name is None:
        out.print("\n".join(known))
        return
    if name not in known:
        raise UsageError(f"manifest {name!r}: there is none of that name.\n`crashloop manifests` lists them.")
    out.file.write(Path(known[name]).read_text(encoding="utf-8"))


profile_group = typer.Typer(help="Commands for kubelet profiles.", no_args_is_help=True)
Command(check).add_to(profile_group)

COMMANDS = (Command(list_requirements, {"name": "list"}), Command(explain), Command(manifests))
