"""The oracle: what Kubernetes owes a crashing container. Pure: no I/O, no clock, no randomness.

Theory of operation. One question a file, in the order in which to read them:

- gates.py: which feature gates are in force on a node?
- config.py: which curve does its configuration stand for, or why does the kubelet refuse it? what holds while it runs?
- restart.py: is a container restarted after this exit?
- backoff.py (counter.py, lives.py): when is each restart due?
- lateness.py: how much later may it come?
- pod_status.py: which phase is the pod in, and when does CrashLoopBackOff show (observation only)?
- after_restart.py: what does a container find anew after a restart, and what does it keep?
- api_server.py: what does the API server make of a pod, and of other requests?
- prediction.py (planned_exit.py, rehearsal.py): what does a node make of a pod? all of it put together for one scenario.
- course.py: how long does a scenario take, and when does it start processes?
- owner.py: what do a Job and a ReplicaSet do when a pod has ended?
- restart_counts.py: how many restarts does a curve give in a time, and what follows from that for the numbers of a text?
- student.py: Student's t, for comparisons of lateness.

By default the answer is what the KEPs and the documentation promise. variants.py names each rule that the kubelet is
known to have instead; `deviations` exchanges them, one name a rule.
"""
