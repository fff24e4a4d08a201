"""The oracle: what Kubernetes owes a crashing container. Pure: no I/O, no clock, no randomness.

Theory of operation. One question a file, in the order in which to read them:

- gates.py: which feature gates are in force on a node?
- config.py (duration.py): which curve does its configuration stand for, or why does the kubelet refuse it?
- in_force.py: what holds while one kubelet process runs, where a restart may change it?
- restart.py: is a container restarted after this exit?
- backoff.py (lives.py, counter.py, disturbance.py): when is each restart due?
- pulls.py: how often is an image pulled, and when again after a failure?
- lateness.py: how much later may it come?
- phase.py: which phase is the pod in?
- restart_all.py: what does a container show and do after RestartAllContainers?
- admission.py, validation.py: what do a node and the API server make of a pod?
- waiting_reason.py: when does CrashLoopBackOff show? (observation only)
- prediction.py (planned_exit.py, rehearsed_container.py, rehearsal.py, completion.py): all of it put together for one scenario.
- restart_counts.py: how many restarts does a curve give in a time?

By default the answer is what the KEPs and the documentation promise. variants.py names each rule that the kubelet is
known to have instead; `deviations` exchanges them, one name a rule.
"""
