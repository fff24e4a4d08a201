"""How the services of a node are operated: one table row for each kind of node image. Pure."""

import msgspec

from crashloop.cluster.kind.plan import Init

KUBELET = "kubelet"
RUNTIME = "containerd"


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """Shell commands in a node; `{service}` is filled in."""

    start: str
    stop: str
    """Ends the service with SIGTERM; returns once it has ended, and it stays down."""
    kill: str
    """The same with SIGKILL."""
    exits: str
    """Prints the exit code of every time that the service ended by itself, one per line."""
    follow_log: str
    """Prints the service's log and follows it."""
    log: str
    """Prints the service's log."""
    log_file: str | None
    """Path in the node of the service's log, where it is a file."""

    def argv(self, command: str, service: str) -> tuple[str, ...]:
        """One of the commands for a service."""
        return ("sh", "-c", command.format(service=service))


DIALECTS = {
    Init.SERVICE: Dialect(
        start="/kind/service start {service}",
        stop="/kind/service stop {service}",
        kill="/kind/service kill {service}",
        exits="/kind/service exits {service}",
        follow_log="exec tail -n +1 -F /var/log/{service}.log",
        log="exec cat /var/log/{service}.log",
        log_file="/var/log/{service}.log",
    ),
    Init.SYSTEMD: Dialect(
        start="systemctl start {service}",
        stop="systemctl stop {service}",
        # The unit would restart itself a second later; stopping it prevents that.
        kill="systemctl kill --kill-whom=main --signal=KILL {service}; systemctl stop {service}",
        exits="journalctl --unit={service} --output=cat"
        " | sed -n 's/.*Main process exited, code=exited, status=\\([0-9]*\\).*/\\1/p'",
        follow_log="exec journalctl --unit={service} --output=cat --lines=all --follow",
        log="exec journalctl --unit={service} --output=cat",
        log_file=None,
    ),
}
