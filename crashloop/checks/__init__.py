"""Checkers: compare a recording with the model. Pure functions from a case to findings.

Theory of operation. `judge.py` asks in order: is the file intact (integrity.py), did the node run with its profile
(effective_config.py), what do the requirement's checkers find (evaluate.py, registry.py), does a known deviation explain
it. In reading order, the rest:

- case.py, finding.py: input and output of a checker;
- restart_all_triggers.py, model_input.py, measured_delay.py: recorded instances in the words of the model;
- evidence.py, absence.py, outages.py, restart_window.py: the limits of a recording, and how long a restart can be expected;
- delay_bounds.py, missing_restart.py: one delay against its bounds, and a restart that never came;
- delays.py, recovery.py, reset.py, decision.py, restarts_within.py, restart_all_containers.py: the checkers of restarts;
- while_unreachable.py: the checkers of a kubelet without a control plane;
- restart_all_order.py, restart_all_statements.py, restart_all_first_start.py, logs_kept.py: the other checkers of
  RestartAllContainers;
- first_start.py, starts_once.py, start_order.py, no_start_while.py, retried_start.py, looks.py,
  awaited.py: the checkers of single starts;
- in_place.py, probe_kill.py, startup_again.py, resize_restart.py, surroundings.py, runtime_cost.py, log_growth.py: the
  checkers of the circumstances of restarts;
- pulls.py, pull_backoff.py, pull_credentials.py, pull_wait.py (images.py): the checkers of image pulls;
- objects.py: what a container could take from ConfigMaps and Secrets at a time, and which image its tag named;
- restart_count.py, last_exit.py (exit_words.py), final_status.py, final_phase.py, pod_phase.py: statements of the kubelet
  against ground truth;
- compared_delays.py, compared_events.py, mean_lateness.py, first_restarts.py, prompt_starts.py, restart_all_first_start.py
  (waits.py): the checkers of several recordings together;
- ready_conditions.py, ready_truth.py, ready_unprobed.py, started_truth.py, initialized.py: what statuses say of
  being ready, started and initialized;
- kubelet_metrics.py, state_metrics.py: the kubelet's metrics, and those of kube-state-metrics;
- shown_waiting.py: what a status shows of a delay, reported only;
- effective_config.py, startup.py: the kubelet's configuration.

FAIL accuses Kubernetes and needs proof by ground truth; a deviation that the host or a lost channel may explain is
INCONCLUSIVE.
"""
