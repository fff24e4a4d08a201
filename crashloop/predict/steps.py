"""A load beside the curve before it, at rising numbers of pods: the steps of a prediction."""

import msgspec

from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.predict.costs import Costs
from crashloop.predict.kep import Claim, claims
from crashloop.predict.limits import ControlPlaneLimit, limits
from crashloop.predict.load import CrashLoad, LoadPrediction, predict

PREDICTION_FORMAT = "crashloop.prediction/1"
_STEPS = (1, 5, 10, 20, 40, 80, 110)


class Predictions(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `crashloop predict`: measured costs, and arithmetic on them."""

    format: str = PREDICTION_FORMAT
    costs: Costs
    predictions: tuple[LoadPrediction, ...]
    """At rising numbers of pods per node; the last is the requested one."""
    today: LoadPrediction
    """The requested load with the curve before: the default one, or that of --from."""
    every_pod: LoadPrediction | None = None
    """The same if every pod of the cluster crashes, as when all depend on one thing; None if all do anyway."""
    limits: tuple[ControlPlaneLimit, ...] = ()
    """What the requested load uses of the control plane."""
    claims: tuple[Claim, ...]
    """The KEPs' own arithmetic, beside the results for a node with these costs."""

    @property
    def requested(self) -> LoadPrediction:
        return self.predictions[-1]


def predictions(load: CrashLoad, costs: Costs, *, before: Curve = DEFAULT_CURVE) -> Predictions:
    """A load, the same with fewer pods, with the curve before, and with every pod of the cluster."""
    steps = (*(step for step in _STEPS if step < load.pods), load.pods)
    found = tuple(predict(msgspec.structs.replace(load, pods=step), costs) for step in steps)
    worst = _all_crash(load)
    return Predictions(
        costs=costs,
        predictions=found,
        today=predict(msgspec.structs.replace(load, curve=before), costs),
        every_pod=None if worst is None else predict(worst, costs),
        limits=limits(found[-1]),
        claims=claims(costs),
    )


def _all_crash(load: CrashLoad) -> CrashLoad | None:
    if load.of_pods is None or load.of_pods * load.cluster_nodes <= load.pods * load.nodes:
        return None
    return msgspec.structs.replace(load, nodes=load.cluster_nodes, pods=load.of_pods)
