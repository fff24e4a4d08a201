"""Checkers: what was recorded against what the model allows. Pure functions from a case to findings.

Theory of operation. `judge.py` asks in order: does the file hold together (integrity.py), did the node run with its
profile (effective_config.py), what do the requirement's checkers say (evaluate.py, registry.py), does a known deviation
explain it. In the order in which to read the rest:

- case.py, finding.py: what a checker is given and what it returns;
- restart_all_triggers.py, model_input.py, measured_delay.py: recorded instances in the words of the model;
- evidence.py, restart_window.py: what a recording can show, and until when a pod is owed a restart;
- delay_bounds.py, missing_restart.py: one delay against its bounds, and a restart that never came;
- delays.py, reset.py, decision.py, restart_all_containers.py: the checkers of restarts;
- in_place.py, starts_once.py, probe_kill.py: the checkers of what surrounds them;
- restart_count.py, last_exit.py, pod_phase.py: statements of the kubelet against ground truth;
- effective_config.py, startup.py: the kubelet's configuration.

FAIL accuses Kubernetes and needs proof by ground truth; what the host or a lost channel may explain is INCONCLUSIVE.
"""
