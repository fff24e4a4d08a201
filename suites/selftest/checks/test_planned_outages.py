"""The checker of what a scenario does to its control plane: what was not carried out shows nothing."""

import msgspec

from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from suites.selftest.kit.cases import CRASHING, checked, told
from suites.selftest.kit.histories import History

STOP, START = (
    Intervention(trigger=Trigger(after_s=at_s), action=action, arguments={"component": "etcd"})
    for at_s, action in ((5.0, InterventionKind.STOP_COMPONENT), (9.0, InterventionKind.START_COMPONENT))
)
STOPPED = msgspec.structs.replace(CRASHING, control_plane=ControlPlane(), interventions=(STOP, START))


def test_accepts_what_was_carried_out() -> None:
    history = History(STOPPED).intervention(5.0, STOP.action).intervention(9.0, START.action, index=1).ends(30)
    assert told(checked("outages-as-planned", history)) == []


def test_what_was_not_carried_out_shows_nothing() -> None:
    history = History(STOPPED).intervention(5.0, STOP.action).ends(30)
    assert told(checked("outages-as-planned", history)) == ["INCONCLUSIVE: start-component etcd was not carried out."]


def test_what_has_failed_shows_nothing() -> None:
    failed = History(STOPPED).intervention(5.0, STOP.action, outcome="it does not run")
    history = failed.intervention(9.0, START.action, index=1).ends(30)
    line = next(each.line for each in history.recording().interventions)
    assert told(checked("outages-as-planned", history)) == [
        f"INCONCLUSIVE: stop-component etcd has failed (history line {line}): it does not run"
    ]
