"""Power and false alarms of A/B comparisons, counted in live runs: of a dearer kubelet, and of equal ones (A/A).

A row of the table has one primary effect of the runs with one treatment, or all of its primary effects together. *Higher* are
the runs that read it as higher: of a treatment that is dearer, their share is the power. *Higher or lower* are those that called
it a difference: of A/A their share is that of false alarms. Readings are those of the run, by Holm among its primary effects. A
run without a reading found nothing, and counts; interrupted runs and those without a comparison are named and left out.
Intervals of shares are Wilson's, of 95 %. An A/A run also has the shares of its relabellings with a false alarm, and with a
planted difference found (relabelled.py).
"""
