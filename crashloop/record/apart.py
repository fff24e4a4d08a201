"""The scenarios that have a control plane for themselves: one after the other, each on a cluster of its own."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.errors import CrashloopError
from crashloop.record.history_ends import seal_unrecorded
from crashloop.record.lifeline import Lifeline
from crashloop.record.run_cluster import own_cluster
from crashloop.record.stage import Stage
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan

log = logging.getLogger(__name__)


def record_apart(
    run: RunDir,
    plan: Plan,
    request: Callable[[Plan, str], ClusterRequest],
    interruptible: Callable[[], AbstractContextManager[None]],
    lifeline: Lifeline,
    progress: Progress,
) -> None:
    """Record these scenarios of a plan; returns early when the life line breaks.

    `request` makes the request for the cluster of a part, whose scenario's name it is given; the cluster comes up inside of
    `interruptible`. The history of a scenario whose cluster does not come up says so, and the others go on.
    """
    for part in plan.apart():
        (scenario,) = part.scenarios
        name = scenario.name
        if lifeline.broken.is_set():
            return
        wanted, logs = request(part, name), run.logs_of(name)
        try:
            with own_cluster(part.provider, wanted, interruptible(), progress, logs=logs, keep=False) as cluster:
                Stage(run, part, cluster, lifeline, progress, apart=name).record()
        except CrashloopError as error:
            log.warning("scenario %s: %s", name, error)
            if not run.history(name).exists():
                seal_unrecorded(run.history(name), scenario, plan, "failed", str(error))
