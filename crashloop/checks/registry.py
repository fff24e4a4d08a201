"""The checkers of pods by their names in the catalogue."""

from collections.abc import Callable

from crashloop.checks.admission import check_admitted, check_placement
from crashloop.checks.awaited import check_network_awaited, check_volume_awaited
from crashloop.checks.decisions import check_no_restart, check_restart_decision, check_runs_on
from crashloop.checks.delays import (
    check_cap,
    check_delays,
    check_doubling,
    check_first_restart_free,
    check_independent_counters,
    check_never_early,
    check_never_late,
    check_punctual,
)
from crashloop.checks.effective_config import check_effective_config
from crashloop.checks.exit_reason import check_exit_reason
from crashloop.checks.finding import Checked
from crashloop.checks.first_start import check_first_start
from crashloop.checks.grace_period import check_pod_grace, check_probe_grace
from crashloop.checks.hook_kill import check_hook_kill
from crashloop.checks.in_place import check_in_place
from crashloop.checks.initial_delay import check_initial_delay
from crashloop.checks.jobs import check_job_ends
from crashloop.checks.kubelet_restarts import check_kubelet_restarts
from crashloop.checks.last_exit import check_final_status, check_last_exit
from crashloop.checks.log_growth import check_log_growth
from crashloop.checks.logs_kept import check_logs_kept
from crashloop.checks.looks import check_looks
from crashloop.checks.metrics import (
    check_gate_states,
    check_image_after_backoff,
    check_pod_starts_measured,
    check_starts_counted,
    check_state_metrics,
)
from crashloop.checks.mirror_returns import check_mirror_returns
from crashloop.checks.no_start_while import check_no_start_while
from crashloop.checks.phase import check_deadline, check_final_phase, check_pod_phase
from crashloop.checks.planned_outages import check_outages_as_planned
from crashloop.checks.pod_spacing import check_pod_spacing
from crashloop.checks.pods_made import check_pods_made
from crashloop.checks.previous_log import check_previous_log
from crashloop.checks.probe_kill import check_probe_kill
from crashloop.checks.pull_backoff import check_pull_backoff
from crashloop.checks.pull_credentials import check_pull_credentials
from crashloop.checks.pull_wait import check_pull_wait
from crashloop.checks.pulls import check_image_of_tag, check_pulls
from crashloop.checks.readiness import (
    check_initialized,
    check_ready_conditions,
    check_ready_truth,
    check_ready_unprobed,
    check_started_truth,
)
from crashloop.checks.recovery import check_recovery
from crashloop.checks.reset import check_reset
from crashloop.checks.resize_restart import check_resize_restart
from crashloop.checks.restart_all import (
    check_condition_without_rule,
    check_ephemeral_kept,
    check_restart_all_condition,
    check_restart_all_goes_on,
    check_restart_all_order,
    check_restart_all_phase,
    check_restart_all_within,
)
from crashloop.checks.restarts_within import check_restarts_within
from crashloop.checks.retried_start import check_retried_start
from crashloop.checks.runtime_cost import check_exited_bounded, check_runtime_operations
from crashloop.checks.start_order import check_start_order
from crashloop.checks.starts_once import check_starts_once
from crashloop.checks.startup_again import check_startup_again
from crashloop.checks.statements import (
    check_back_off_message,
    check_restart_count,
    check_shown_waiting,
    check_status_sequence,
)
from crashloop.checks.surroundings import check_environment, check_fresh_root, check_hook_runs, check_volume_stays
from crashloop.checks.unanswered_probes import check_unanswered_probes
from crashloop.checks.while_unreachable import check_delays_while_away, check_killed_once_connected
from crashloop.restarts.case import Case

POD_CHECKERS: dict[str, Callable[[Case], Checked]] = {
    "admitted": check_admitted,
    "back-off-message": check_back_off_message,
    "cap": check_cap,
    "condition-without-rule": check_condition_without_rule,
    "deadline": check_deadline,
    "delays": check_delays,
    "delays-while-away": check_delays_while_away,
    "doubling": check_doubling,
    "effective-config": check_effective_config,
    "ephemeral-kept": check_ephemeral_kept,
    "environment": check_environment,
    "exit-reason": check_exit_reason,
    "exited-bounded": check_exited_bounded,
    "final-phase": check_final_phase,
    "final-status": check_final_status,
    "first-restart-free": check_first_restart_free,
    "first-start": check_first_start,
    "fresh-root": check_fresh_root,
    "gate-states": check_gate_states,
    "hook-kill": check_hook_kill,
    "hook-runs": check_hook_runs,
    "image-of-tag": check_image_of_tag,
    "image-after-backoff": check_image_after_backoff,
    "initial-delay": check_initial_delay,
    "initialized": check_initialized,
    "in-place": check_in_place,
    "independent-counters": check_independent_counters,
    "job-ends": check_job_ends,
    "kubelet-restarts": check_kubelet_restarts,
    "killed-once-connected": check_killed_once_connected,
    "last-exit": check_last_exit,
    "log-growth": check_log_growth,
    "logs-kept": check_logs_kept,
    "looks": check_looks,
    "mirror-returns": check_mirror_returns,
    "never-early": check_never_early,
    "never-late": check_never_late,
    "no-restart": check_no_restart,
    "no-start-while": check_no_start_while,
    "outages-as-planned": check_outages_as_planned,
    "placement": check_placement,
    "pod-grace": check_pod_grace,
    "pod-phase": check_pod_phase,
    "pod-starts-measured": check_pod_starts_measured,
    "pod-spacing": check_pod_spacing,
    "pods-made": check_pods_made,
    "previous-log": check_previous_log,
    "probe-grace": check_probe_grace,
    "probe-kill": check_probe_kill,
    "pull-backoff": check_pull_backoff,
    "punctual": check_punctual,
    "pull-credentials": check_pull_credentials,
    "pull-wait": check_pull_wait,
    "pulls": check_pulls,
    "recovery": check_recovery,
    "ready-conditions": check_ready_conditions,
    "ready-truth": check_ready_truth,
    "ready-unprobed": check_ready_unprobed,
    "reset": check_reset,
    "restart-all-condition": check_restart_all_condition,
    "restart-all-goes-on": check_restart_all_goes_on,
    "restart-all-order": check_restart_all_order,
    "restart-all-phase": check_restart_all_phase,
    "restart-all-within": check_restart_all_within,
    "restart-count": check_restart_count,
    "restart-decision": check_restart_decision,
    "restarts-within": check_restarts_within,
    "resize-restart": check_resize_restart,
    "retried-start": check_retried_start,
    "runs-on": check_runs_on,
    "runtime-operations": check_runtime_operations,
    "start-order": check_start_order,
    "shown-waiting": check_shown_waiting,
    "status-sequence": check_status_sequence,
    "startup-again": check_startup_again,
    "started-truth": check_started_truth,
    "starts-counted": check_starts_counted,
    "starts-once": check_starts_once,
    "unanswered-probes": check_unanswered_probes,
    "volume-awaited": check_volume_awaited,
    "state-metrics": check_state_metrics,
    "network-awaited": check_network_awaited,
    "volume-stays": check_volume_stays,
}
