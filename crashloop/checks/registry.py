"""The checkers of pods by their names in the catalogue."""

from collections.abc import Callable

from crashloop.checks.case import Case
from crashloop.checks.decision import check_no_restart, check_restart_decision
from crashloop.checks.delays import (
    check_cap,
    check_delays,
    check_doubling,
    check_first_restart_free,
    check_independent_counters,
    check_never_early,
    check_never_late,
)
from crashloop.checks.effective_config import check_effective_config
from crashloop.checks.finding import Checked
from crashloop.checks.in_place import check_in_place
from crashloop.checks.last_exit import check_last_exit
from crashloop.checks.pod_phase import check_pod_phase
from crashloop.checks.probe_kill import check_probe_kill
from crashloop.checks.reset import check_reset
from crashloop.checks.restart_count import check_restart_count
from crashloop.checks.starts_once import check_starts_once

POD_CHECKERS: dict[str, Callable[[Case], Checked]] = {
    "cap": check_cap,
    "delays": check_delays,
    "doubling": check_doubling,
    "effective-config": check_effective_config,
    "first-restart-free": check_first_restart_free,
    "in-place": check_in_place,
    "independent-counters": check_independent_counters,
    "last-exit": check_last_exit,
    "never-early": check_never_early,
    "never-late": check_never_late,
    "no-restart": check_no_restart,
    "pod-phase": check_pod_phase,
    "probe-kill": check_probe_kill,
    "reset": check_reset,
    "restart-count": check_restart_count,
    "restart-decision": check_restart_decision,
    "starts-once": check_starts_once,
}
