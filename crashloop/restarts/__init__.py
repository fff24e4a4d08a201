"""One reading of a restart: for each exit of each container, whether a restart was owed, when it was due, and when it came.

Theory of operation. `case.py` is one recorded scenario beside what was promised of it. `lives.py` reads the instances of a
container and how each ended, `answers.py` what its probes were answered, `restart_all.py` finds RestartAllContainers among
them, `owed.py` says whether the model restarts after an exit, until when that is owed, and which phases of the pod follow,
and `model_input.py` gives the lives to the model of the backoff. `restart.py` joins both: a `Restart` has the exit, the due
delay, the create and the start, and says which delays of users' own pods are known. `bounds.py` compares one with its
bounds, `excuse.py` says what held it up, `evidence.py` what could have hidden it, `outages.py` when there was no kubelet or
control plane, and `dependencies.py` when a container lacked what it needs. Checkers, stress checks, SLO events, curves and
comparisons select from these; none of them reads the model of the backoff or a clock again.
"""
