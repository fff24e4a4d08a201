"""One control start serves all refusals of a node, and is marked as what it is."""

from crashloop.cluster.kubelets import candidate_event
from crashloop.history.event import Event, Kind
from crashloop.record.site import ControlStarts


class Starts:
    """Kubelets that become healthy, counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> tuple[Event, ...]:
        self.count += 1
        return (candidate_event("node-1", Kind.PROCESS_HEALTHY, configz={"number": self.count}),)


def test_a_control_start_is_made_once_per_node_and_profile() -> None:
    controls, start = ControlStarts(), Starts()
    first = controls.of("node-1", "valid", start)
    assert controls.of("node-1", "valid", start) == first
    assert start.count == 1
    controls.of("node-2", "valid", start)
    controls.of("node-1", "other", start)
    assert start.count == 3


def test_its_events_name_their_profile() -> None:
    (event,) = ControlStarts().of("node-1", "valid", Starts())
    assert (event.kind, event.data) == (Kind.PROCESS_HEALTHY, {"configz": {"number": 1}, "control": "valid"})


def test_one_that_could_not_be_made_is_tried_again() -> None:
    controls, start = ControlStarts(), Starts()

    def fail() -> tuple[Event, ...]:
        raise OSError("no room")

    try:
        controls.of("node-1", "valid", fail)
    except OSError:
        assert len(controls.of("node-1", "valid", start)) == 1
    assert start.count == 1
