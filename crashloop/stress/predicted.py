"""The predicted restarts of a stage: by the number of its crashing pods, their curve, and the default costs. Pure.

A run that the default costs are from is not predicted by them: it would be judged by itself.
"""

from datetime import datetime

from crashloop.model.config import Refusal, effective_curve
from crashloop.model.gates import kubelet_version
from crashloop.model.variants import as_shipped
from crashloop.predict.load import CrashLoad, settled_per_s, settles_within_s
from crashloop.predict.measured import MEASURED, is_source
from crashloop.spec.pod import Action
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.loads import Crash
from crashloop.stress.plan import StressPlan
from crashloop.stress.plan_text import restarted_share
from crashloop.stress.profile import Stage

OWN_COSTS = "the default costs of crashloop predict are from this run, which would be judged by itself"


def why_unpredicted(started: datetime) -> str:
    """Why no stage of the run that started then is predicted; empty if the stages decide."""
    return OWN_COSTS if is_source(started) else ""


def predicted_per_s(plan: StressPlan, stage: Stage) -> float | None:
    """Restarts per second by `crashloop predict`, if its costs are those of another run.

    None unless exactly one load of known lives restarts, container by container, with delays at their maximum before the
    measurement.
    """
    found = [
        (load, int(count)) for name, count in stage.users.items() if restarted_share(load := plan.load.loads[name])
    ]
    if len(found) != 1:
        return None
    ((load, count),) = found
    pods = round(count * restarted_share(load))
    restarts_all = isinstance(load, Crash) and load.rule and load.rule.action is Action.RESTART_ALL_CONTAINERS
    if not isinstance(load, Crash) or load.own is not None or restarts_all or not pods:
        return None
    kubelet, version = plan.kubelet(load.node), KubernetesVersion.parse(plan.kubernetes_version)
    curve = effective_curve(kubelet, version, deviations=as_shipped(kubelet_version(kubelet, version)))
    if isinstance(curve, Refusal):
        return None
    nodes = len(plan.spread) or 1
    crashing = CrashLoad(
        nodes=nodes,
        pods=max(1, round(pods / nodes)),
        curve=curve,
        containers=load.containers,
        run_s=load.run_s,
        cores=float(plan.cores),
    )
    settled = settles_within_s(crashing, MEASURED) <= stage.settle_s
    return settled_per_s(crashing, MEASURED) if settled else None
