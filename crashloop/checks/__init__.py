"""Checkers: compare a recording with the model. Pure generators of findings from a case.

Theory of operation. `judge.py` asks in order: is the file intact (integrity.py), did the node run with its profile
(configuration.py), what do the requirement's checkers find (kinds.py), does a known deviation explain it. What a
checker is stands in checker.py, its output in finding.py, its input in crashloop.restarts. The rooms by subject:

- delays.py, restart_rates.py, samples.py, pooled.py: restarts against their delays, one by one, counted, and many together, of
  several scenarios or of a whole run, by what chance does not explain;
- decisions.py, jobs.py, pods.py, deletion.py: what is restarted, what a Job does, which pods others make, how deleted ones end;
- starts.py, blocked_starts.py: in which order containers start, and what they wait for;
- kills.py, grace.py, probes.py, probe_periods.py, pulls.py: what ends a container from outside, and how, when and how often
  probes are asked, when images are pulled;
- circumstances.py, kept.py, restart_cost.py: what a life runs in, what restarts keep, what they cost;
- restart_all.py, restart_all_stated.py: RestartAllContainers, and what statuses say of it;
- statements.py, last_exit.py, phase.py, readiness.py, started.py, initialized.py, completeness.py: what statuses say, against
  ground truth and themselves;
- metrics.py, configuration.py, api.py: what the kubelet counts, which configuration it runs with, what the API server answers;
- disturbances.py: what a scenario does to the kubelet and its control plane, and how restarts go on;
- comparisons.py: several recordings together.

FAIL accuses Kubernetes and needs proof by ground truth; a deviation that the host or a lost channel may explain is
INCONCLUSIVE.
"""
