"""Mutants as nodes of a real cluster: one cluster for a session, one run directory for each batch of mutants."""

import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from crashloop.cluster.ownership import mark_kept
from crashloop.cluster.provider import ClusterInfo, ClusterRequest, Progress
from crashloop.cluster.providers import owning_provider
from crashloop.cluster.removal import remove
from crashloop.errors import ClusterError
from crashloop.profiles import load_profile
from crashloop.run.judging import failure_of, has_ended, is_sealed, judge_scenario, read_history
from crashloop.run.planning import Declared
from crashloop.rundir import RunDir, new_run_path
from crashloop.spec.plan import Budgets, Plan
from crashloop.waiting import pause
from fixtures.owner import Owner, write_plan
from mutants.mutant import MutantKubelet
from mutants.planning import ITSELF, SUITE, Work, build_plan, name_for, to_judge
from mutants.result import Seen

_SCRIPT = """\
#!/bin/sh
# The kubelet as its mutant {number}.
MUTANT={number} exec {kubelet} "$@"
"""

LOOK_S = 0.5
_CRASHES = ("panic: ", "fatal error: ")

Judged = Callable[[Work, tuple[Seen, ...]], None]
"""Takes what was seen of a kubelet."""


@contextmanager
def cluster(name: str, version: str, progress: Progress) -> Iterator[str]:
    """The name of a cluster without nodes, for recorders to add some; it is gone afterwards."""
    made = owning_provider("local").up(ClusterRequest(name=name, kubernetes_version=version, nodes=()), progress)
    mark_kept(name)
    made.release()
    try:
        yield name
    finally:
        remove(name, force=True)


class Batch:
    """Records some mutants beside each other, and judges them."""

    def __init__(
        self,
        works: Sequence[Work],
        declared: Sequence[Declared],
        kubelet: MutantKubelet,
        *,
        version: str,
        nodes: int,
        runs_dir: Path,
        cluster: str,
    ) -> None:
        """`nodes` may be up at once."""
        self._works = tuple(works)
        path = new_run_path(runs_dir, SUITE, datetime.now(UTC)).absolute()
        kubelets = path / "kubelets"
        self._plan = build_plan(
            self._works,
            declared,
            kubernetes_version=version,
            budgets=Budgets(live_nodes=nodes),
            profile_of=load_profile,
            kubelet_of=lambda number: str(kubelets / f"mutant-{number}"),
        )
        self.run = write_plan(path, self._plan, {"provider": "local", "cluster": cluster})
        kubelets.mkdir()
        for work in self._works:
            _write_script(kubelets / f"mutant-{work.number}", work.number, kubelet.path)

    def record(self, judged: Judged, *, known: Collection[str], is_over: Callable[[], bool]) -> None:
        """Record, and hand over what was seen of each scenario as soon as it is sealed; stops early when time is over.

        A scenario of a mutant is handed over once the kubelet without one was judged on it, here or before (`known`).
        Raises ClusterError if the recorder failed.
        """
        owner, left = (
            Owner(self.run.root, sys.stderr),
            [(work, each) for work in self._works for each in work.scenarios],
        )
        owner.start()
        try:
            while left and not is_over():
                if (failure := failure_of(self.run)) is not None:
                    raise ClusterError(f"{self.run.root}: {failure.error}")
                due = to_judge(left, self._is_sealed, known)
                for work, scenario in due:
                    judged(work, (_seen(self.run, self._plan, work, scenario),))
                left = [each for each in left if each not in due]
                if not due:
                    if has_ended(self.run):
                        return
                    pause(LOOK_S)
        finally:
            owner.end()

    def _is_sealed(self, work: Work, scenario: str) -> bool:
        return is_sealed(self.run.history(name_for(scenario, work.number)))


def _seen(run: RunDir, plan: Plan, work: Work, scenario: str) -> Seen:
    name = name_for(scenario, work.number)
    judged = judge_scenario(run, plan, name)
    return Seen(scenario=scenario, verdicts=(*judged.verdicts, *judged.everywhere), death=_death(run, plan, name))


def _death(run: RunDir, plan: Plan, name: str) -> str | None:
    """Why the node of a scenario did not come up, or the last words of its kubelet."""
    recording = read_history(run, name)
    if recording is None or recording.begin is None or recording.end is None:
        return None
    if recording.begin.node is None:
        return recording.end.detail if recording.end.reason == "failed" else None
    return last_words(run, plan.placements[name])


def last_words(run: RunDir, node: str) -> str | None:
    """The line in a kubelet's log with which Go ends a program that crashes, if there is one."""
    cluster = msgspec.json.decode(run.cluster_json.read_bytes(), type=ClusterInfo)
    live = [Path(each.kubelet_log) for each in cluster.nodes if each.name == node and each.kubelet_log]
    for log in (
        *live,
        run.logs_dir / node / "kubelet.log",
    ):  # a node that is gone has left its log in the run directory
        with suppress(FileNotFoundError), log.open(errors="replace") as lines:
            return next((line.strip() for line in lines if line.startswith(_CRASHES)), None)
    return None


def _write_script(path: Path, number: int, kubelet: Path) -> None:
    text = _SCRIPT.format(number=number if number != ITSELF else "", kubelet=shlex.quote(str(kubelet)))
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
