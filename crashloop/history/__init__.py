"""What was seen: events, their JSON Lines form, and the reduction to container instances. Pure.

In the order in which to read: event.py (one line, and what may be wrong with the lines), lines.py and payload.py (what a line
holds), recording.py (what remains of a file), reduction.py and pod_reduction.py (how), instances.py (two ground truths made
one), clock.py, host.py, statuses.py (moments and clocks, stalls, statements), journal.py (a container's own journal).
"""
