"""A load beside today's curve, at rising numbers of pods: the steps of a prediction."""

import msgspec

from crashloop.model.config import DEFAULT_CURVE
from crashloop.predict.costs import Costs
from crashloop.predict.kep import Claim, claims
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
    """The requested load with the default curve."""
    claims: tuple[Claim, ...]
    """The KEPs' own arithmetic, beside the results for a node with these costs."""


def predictions(load: CrashLoad, costs: Costs) -> Predictions:
    """A load, the same with fewer pods, and the same with the default curve."""
    steps = (*(step for step in _STEPS if step < load.pods), load.pods)
    return Predictions(
        costs=costs,
        predictions=tuple(predict(msgspec.structs.replace(load, pods=step), costs) for step in steps),
        today=predict(msgspec.structs.replace(load, curve=DEFAULT_CURVE), costs),
        claims=claims(costs),
    )
