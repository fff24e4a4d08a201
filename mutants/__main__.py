"""`python -m mutants`: runs mutants of the kubelet against the conformance suite, and reports which of them survive."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence

from rich.console import Console

import suites.conformance
from crashloop.cluster.binaries.components import architecture
from crashloop.errors import CrashloopError, UsageError
from crashloop.progress import default_progress
from crashloop.settings import resolve_settings
from crashloop.spec.requirement import Scope
from crashloop.spec.scenario import PodScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import ExitCode
from fixtures.requirements import declared_in, in_scope
from mutants import bugs_page
from mutants.bugs import battery_of, known_of, load_bugs, numbered, sources_of
from mutants.build import ensure_kubelet
from mutants.data import FOLDER, Battery, load_batteries, load_known, load_sources
from mutants.live import Batch, cluster
from mutants.mutant import Mutant, MutantKubelet, sample
from mutants.page import Report, headline, to_markdown
from mutants.planning import ITSELF, Work, itself
from mutants.result import Fate, Seen, control_of, with_seen
from mutants.store import Store

DOCUMENT, BUGS = (FOLDER.parent / "docs" / name for name in ("mutants.md", "bugs.md"))
BATCH = 40
"""Mutants of a run directory: a cluster has at most 200 nodes in a recorder's life."""
DEFAULT_SAMPLE = 200


class Session:
    """One call: chosen mutants meet the steps of their batteries until all are done or time is over."""

    def __init__(self, options: argparse.Namespace, console: Console) -> None:
        self.options = options
        self._console = console
        self.settings = resolve_settings()
        self.version = KubernetesVersion.parse(self.settings.versions.kubernetes)
        self._listed = load_bugs(self.version) if options.bugs is not None else ()
        self.bugs = numbered(self._listed, options.bugs or ())
        self.sources = sources_of(self.bugs) if self.bugs else load_sources(self.version)
        self.declared = tuple(declared_in(suites.conformance))
        self.batteries = load_batteries() | self._batteries_of_bugs()
        self.kubelet: MutantKubelet = ensure_kubelet(self.settings, self.version, self.sources, default_progress())
        number = None if self.bugs else options.mutants
        self.chosen = sample(self.kubelet.listing.mutants, number, options.seed)
        under = f"bugs-{self.version}-linux-{architecture()}" if self.bugs else self.kubelet.name
        self.store = Store(self.settings.paths.runs_dir, under, {bug.id: bug.stored_as for bug in self.bugs})
        self._ends: float = time.monotonic() + 60 * options.minutes
        self._tried: set[tuple[int, str]] = set()

    def run(self) -> None:
        """Meet what is missing. Raises ClusterError if a recorder failed."""
        if not any(self._pending(step) for step in range(self._steps)):
            return
        with cluster(f"mutants-{os.getpid()}", str(self.version), default_progress()) as name:
            for step in range(self._steps):
                for works in _batches(self._pending(step)):
                    if self._is_over():
                        return
                    self._meet(works, name)

    def report(self) -> Report:
        results = {each.id: self.store.result(each) for each in self.chosen}
        return Report(
            version=str(self.version),
            sources=self.sources,
            listing=self.kubelet.listing,
            chosen=self.chosen,
            results={name: result for name, result in results.items() if result.met},
            unfinished=frozenset(each.id for each in self.chosen if self._is_unfinished(each)),
            known=known_of(self.bugs, str(self.version)) if self.bugs else load_known(),
        )

    @property
    def _steps(self) -> int:
        return 4 if self.options.battery == "full" else 3

    def _is_over(self) -> bool:
        return time.monotonic() > self._ends

    def _battery(self, mutant: Mutant) -> Battery:
        return self.batteries[mutant.id if self.bugs else self.sources.batteries()[mutant.function]]

    def _batteries_of_bugs(self) -> dict[str, Battery]:
        quick, full = (self._scenarios(scope) for scope in (Scope.QUICK, Scope.FULL))
        return {each.id: battery_of(each, quick, full) for each in self.bugs}

    def _scenarios(self, scope: Scope) -> tuple[str, ...]:
        """The pods of a scope, each once."""
        ours = (each for each in self.declared if isinstance(each.scenario, PodScenario) and in_scope(each, scope))
        return tuple(dict.fromkeys(each.scenario.name for each in ours))

    def page(self) -> str:
        """The document of this arm, as markdown."""
        if self.bugs:
            earlier = BUGS.read_text(encoding="utf-8") if self.options.bugs else ""
            return bugs_page.to_markdown(self._listed, self.report(), self._scenarios(Scope.QUICK), earlier)
        return to_markdown(self.report())

    def _pending(self, step: int) -> tuple[Work, ...]:
        """What is to be met in a step by mutants that are alive and not known to be equivalent."""
        equivalent = () if self.bugs else load_known().equivalent
        works = []
        for mutant in self.chosen:
            result = self.store.result(mutant)
            scenarios = tuple(
                name
                for name in self._battery(mutant).steps(full=True)[step]
                if name not in result.scenarios and (mutant.number, name) not in self._tried
            )
            if scenarios and result.fate is not Fate.KILLED and mutant.id not in equivalent:
                works.append(Work(number=mutant.number, scenarios=scenarios))
        return tuple(works)

    def _is_unfinished(self, mutant: Mutant) -> bool:
        """Whether it is alive, and some scenario has not been tried."""
        result = self.store.result(mutant)
        wanted = {name for step in self._battery(mutant).steps(full=self.options.battery == "full") for name in step}
        return result.fate is not Fate.KILLED and not wanted <= {*result.scenarios, *result.undecided}

    def _meet(self, works: Sequence[Work], name: str) -> None:
        batch = Batch(
            (itself(works, self.store.controls()), *works),
            self.declared,
            self.kubelet,
            version=str(self.version),
            nodes=self.options.nodes,
            runs_dir=self.settings.paths.runs_dir,
            cluster=name,
        )
        try:
            batch.record(self._judged, known=self.store.controls().keys(), is_over=self._is_over)
        finally:
            batch.run.write_text(batch.run.summary_md, self.page())

    def _judged(self, work: Work, seen: tuple[Seen, ...]) -> None:
        self._tried |= {(work.number, each.scenario) for each in seen}
        if work.number == ITSELF:
            self.store.keep_controls(control_of(seen))
            return
        mutant = next(each for each in self.chosen if each.number == work.number)
        result = with_seen(self.store.result(mutant), seen, self.store.controls())
        self.store.keep(result)
        by = f" by {result.kills[0].requirement} on {result.kills[0].scenario}" if result.kills else ""
        self._console.print(f"{mutant.id}: {result.fate}{by}", markup=False, soft_wrap=True)


def main() -> int:
    """0 if known.yaml has every survivor and nobody else, 1 otherwise, 3 without a result; 2 and 70 as in `crashloop`."""
    options = _options()
    for number in (signal.SIGTERM, signal.SIGINT):  # also where a shell has made the second one ignored
        signal.signal(number, _interrupted)
    console = Console(highlight=False)
    try:
        session = Session(options, console)
        if not options.page:
            session.run()
        report = session.report()
    except UsageError as error:
        console.print(f"mutants: {error}", markup=False, soft_wrap=True)
        return ExitCode.USAGE
    except CrashloopError as error:
        console.print(f"mutants: {error}", markup=False, soft_wrap=True)
        return ExitCode.ERROR
    page = session.page()
    if options.write:
        (BUGS if session.bugs else DOCUMENT).write_text(page, encoding="utf-8")
    for lost in report.listing.left_out if session.bugs else ():
        console.print(f"cannot be put back: {lost.id}: {lost.reason}", markup=False, soft_wrap=True)
    for each in report.surprises:
        console.print(f"survived: {each.id}: {each.before} -> {each.after or 'dropped'}", markup=False, soft_wrap=True)
    for each in report.contradicted:
        where = "`missing` off mutants/bugs" if session.bugs else "it off mutants/known.yaml"
        console.print(f"killed: {each.id}: take {where}", markup=False, soft_wrap=True)
    console.print(bugs_page.headline(page) if session.bugs else headline(report), markup=False, soft_wrap=True)
    if not any(report.of(fate) for fate in Fate):
        return ExitCode.INCONCLUSIVE
    return ExitCode.FAIL if report.surprises or report.contradicted else ExitCode.OK


def _interrupted(_number: int, _frame: object) -> None:
    """End with the cluster removed, as at an exception."""
    sys.exit(ExitCode.INTERRUPTED)


def _batches(works: Sequence[Work]) -> Iterator[Sequence[Work]]:
    return (works[start : start + BATCH] for start in range(0, len(works), BATCH))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=DEFAULT_SAMPLE, help="size of the sample (%(default)s)")
    parser.add_argument(
        "--bugs",
        type=int,
        nargs="*",
        metavar="NUMBER",
        help="take bugs that upstream had instead of a sample: all, or those of the issues named",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the lot (%(default)s)")
    parser.add_argument("--battery", choices=["quick", "full"], default="quick", help="(%(default)s)")
    parser.add_argument("--minutes", type=float, default=55.0, help="longest duration of the recording (%(default)s)")
    parser.add_argument("--nodes", type=int, default=8, help="nodes that are up at once (%(default)s)")
    parser.add_argument("--page", action="store_true", help="record nothing: report what is known")
    parser.add_argument("--write", action="store_true", help=f"write docs/{DOCUMENT.name}, or docs/{BUGS.name}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
