"""What is expected of a kubelet that is started with a profile."""

import pytest

from crashloop.errors import UsageError
from crashloop.model.config import Curve, Refusal, RefusalKind
from crashloop.model.prediction import predict_startup
from crashloop.model.variants import (
    GATE_OFF_REFUSES_START,
)
from crashloop.spec.pod import Container
from crashloop.spec.profile import MAX_PERIOD_GATE, KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import StartupScenario
from suites.selftest.kit.model_inputs import V1_37, predicted, profile


def test_a_profile_that_the_kubelet_refuses_has_no_prediction() -> None:
    app = Container(program=exits_with(1))
    with pytest.raises(UsageError, match=r"kubelet profile 'node': a kubelet 1\.37\.0 does not start with it \(out-of"):
        predicted(app, node=profile("500ms"))
    off = profile("2s", **{MAX_PERIOD_GATE: False})
    assert predicted(app, node=off).curve == Curve(10, 300)
    with pytest.raises(UsageError, match="gate-off"):
        predicted(app, node=off, deviations=frozenset({GATE_OFF_REFUSES_START}))


def test_a_startup_is_predicted_from_its_candidate() -> None:
    startup = StartupScenario(name="start", profile="stock", candidate="node")
    assert predict_startup(startup, profile("11s"), V1_37) == Curve(10, 11)
    refusal = predict_startup(startup, profile("0s"), V1_37)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.OUT_OF_RANGE
    with pytest.raises(ValueError, match="tries profile node, not other"):
        predict_startup(startup, KubeletProfile(name="other"), V1_37)


def test_a_flag_that_the_kubelet_does_not_know_is_refused_whatever_the_configuration() -> None:
    startup = StartupScenario(name="start", profile="stock", candidate="node", unknown_flags=("--no-such-flag=2s",))
    refusal = predict_startup(startup, profile("11s"), V1_37)
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.panics) == (RefusalKind.UNKNOWN_FLAG, False)
    assert refusal.text == "failed to parse kubelet flag: unknown flag: --no-such-flag"
