"""Executes plans: one object per cluster that starts its processes and knows their ids."""

from pathlib import Path

from crashloop.cluster.files import last_lines, write_file
from crashloop.cluster.local.layout import ClusterLayout
from crashloop.cluster.local.ledger import Ledger, Process
from crashloop.cluster.local.namespaces import HOLDER, enter
from crashloop.cluster.local.plan import FilePlan, LinkPlan, ProcessPlan
from crashloop.cluster.processes import Daemon, Starter, exit_code, is_alive
from crashloop.errors import ClusterError, ProcessEnded

HOLDER_ROLE = "holder"


class Machinery:
    """Starts the processes of one cluster and writes each into the ledger."""

    def __init__(self, layout: ClusterLayout) -> None:
        self.layout = layout
        self.ledger = Ledger(layout.root)
        self.starter = Starter(layout.root)

    def write(self, folders: tuple[str, ...], files: tuple[FilePlan, ...], links: tuple[LinkPlan, ...] = ()) -> None:
        """Make folders, write files, and make links or let them point elsewhere."""
        for folder in folders:
            Path(folder).mkdir(parents=True, exist_ok=True)
        for file in files:
            write_file(Path(file.path), file.text)
        for link in links:
            Path(link.path).unlink(missing_ok=True)
            Path(link.path).symlink_to(link.target)

    def hold(self, node: str, log: Path) -> int:
        """Make the namespaces of the hub or a node; the holder's process id."""
        daemon = self.starter.start_holder(HOLDER, node=node, log=log)
        self.ledger.add(Process(role=HOLDER_ROLE, node=node, daemon=daemon))
        return daemon.pid

    def holder(self, node: str) -> int:
        """The holder's process id. Raises ClusterError if it has gone."""
        return self.daemon(HOLDER_ROLE, node).pid

    def start(self, plan: ProcessPlan) -> Daemon:
        """Start a process in its namespaces."""
        argv = enter(self.holder(plan.namespace), plan.argv)
        daemon = self.starter.start(argv, node=plan.node, log=Path(plan.log), search_path=plan.search_path)
        self.ledger.add(Process(role=plan.role, node=plan.node, daemon=daemon))
        return daemon

    def daemon(self, role: str, node: str) -> Daemon:
        """The running process of a role. Raises ClusterError if there is none."""
        daemon = self.ledger.daemon(role, node)
        if daemon is None or not is_alive(daemon):
            raise ClusterError(f"{role} of {node}: it is not running.")
        return daemon

    def runs(self, plan: ProcessPlan) -> bool:
        """Whether the process runs; one that has ended while it was starting does not."""
        daemon = self.ledger.daemon(plan.role, plan.node)
        return daemon is not None and is_alive(daemon)

    def require_alive(self, plan: ProcessPlan, daemon: Daemon, *, subject: str) -> None:
        """Raise ProcessEnded with the log's last lines if the process has ended."""
        if is_alive(daemon):
            return
        code = exit_code(daemon)
        how = "" if code is None else f" with exit code {code}" if code >= 0 else f" by signal {-code}"
        raise ProcessEnded(f"{subject}: {plan.role} ended{how} while it was starting.\n{log_excerpt(plan)}")


def log_excerpt(plan: ProcessPlan, lines: int = 12) -> str:
    """The last lines of a process's log, introduced."""
    path = Path(plan.log)
    text = "\n".join(f"  {line[:400]}" for line in last_lines(path, lines).splitlines())
    return f"Last lines of {path.name}:\n{text}"
