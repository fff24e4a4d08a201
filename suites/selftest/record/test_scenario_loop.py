"""The loop launches what is due, gives each scenario one task at a time, and ends with every history sealed.

Threads that crash while something is recorded.
The recorder knows every kind of scenario.
"""

import threading
from collections.abc import Callable, Iterable
from typing import cast, get_args

import pytest

from crashloop.errors import UsageError
from crashloop.record.node_keeper import NodeKeeper, Stranded
from crashloop.record.scenario_loop import ActiveScenario, Lifeline, ScenarioLoop, ScenarioStage, ThreadCrashes
from crashloop.record.schedule import Schedule
from crashloop.record.stage import AT_ONCE, KINDS
from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import ApiScenario, Scenario, StartupScenario

REQUEST = ApiRequest(object={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})


def scenarios(*names: str) -> tuple[ApiScenario, ...]:
    return tuple(ApiScenario(name=name, requests=(REQUEST,)) for name in names)


class InSteps:
    """A scenario that is sealed after some steps; at most one of them is under way."""

    def __init__(self, name: str, steps: int, do: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.node_name = None
        self.stage = ScenarioStage.LAUNCHING
        self.done = 0
        self.interrupted: list[str] = []
        self._steps = steps
        self._do = do
        self._busy = threading.Lock()

    def step(self) -> Callable[[], None] | None:
        return self._step

    def interrupt(self, detail: str) -> None:
        self.interrupted.append(detail)

    def _step(self) -> None:
        assert self._busy.acquire(blocking=False), "two steps at a time"
        self._do()
        self.done += 1
        if self.done == self._steps:
            self.stage = ScenarioStage.SEALED
        self._busy.release()


class Line:
    """A life line that breaks when the test says so."""

    def __init__(self) -> None:
        self.broken = threading.Event()


class NoNodes:
    """A keeper without nodes, which hands over what it is given once."""

    def __init__(self, stranded: Iterable[Stranded] = ()) -> None:
        self._stranded = tuple(stranded)

    def tend(self) -> tuple[Stranded, ...]:
        stranded, self._stranded = self._stranded, ()
        return stranded


def loop_of(
    active: dict[str, InSteps], line: Line, *, at_once: int = 9, stranded: tuple[Stranded, ...] = ()
) -> tuple[ScenarioLoop, list[Stranded]]:
    plan = Plan(
        suite="test",
        provider="p",
        kubernetes_version="1.37.1",
        scope="quick",
        profiles=(),
        scenarios=scenarios(*active),
        judgements=(),
    )
    seen: list[Stranded] = []

    def made(scenario: Scenario) -> ActiveScenario:
        return active[scenario.name]

    loop = ScenarioLoop(
        schedule=Schedule(plan, at_once={ApiScenario: at_once}, node_pods=0),
        nodes=cast("NodeKeeper", NoNodes(stranded)),
        active=made,
        strand=seen.append,
        lifeline=cast("Lifeline", line),
        follows_host=True,
        call_s=lambda: 0.0,
    )
    return loop, seen


def test_every_scenario_takes_its_steps_until_it_is_sealed() -> None:
    active = {name: InSteps(name, steps) for name, steps in (("a", 1), ("b", 3), ("c", 2))}
    loop, _ = loop_of(active, Line())
    loop.run()
    assert {name: each.done for name, each in active.items()} == {"a": 1, "b": 3, "c": 2}
    assert not any(each.interrupted for each in active.values())


def test_a_scenario_makes_room_for_the_next_once_it_is_sealed() -> None:
    order: list[str] = []
    active = {name: InSteps(name, 1, lambda name=name: order.append(name)) for name in ("a", "b", "c")}  # type: ignore[misc]
    loop, _ = loop_of(active, Line(), at_once=1)
    loop.run()
    assert order == ["a", "b", "c"]


def test_a_broken_life_line_interrupts_what_is_open() -> None:
    line = Line()
    active = {"a": InSteps("a", 1), "b": InSteps("b", 99, line.broken.set)}
    loop, _ = loop_of(active, line)
    loop.run()
    assert active["b"].interrupted[0] == "the recorder was stopped"
    assert active["b"].done < 99


def test_an_error_of_the_recorder_ends_the_run_and_interrupts_the_others() -> None:
    def fails() -> None:
        raise RuntimeError("planted")

    active = {"a": InSteps("a", 1, fails), "b": InSteps("b", 99)}
    loop, _ = loop_of(active, Line())
    with pytest.raises(RuntimeError, match="planted"):
        loop.run()
    assert active["b"].interrupted[0] == "the recorder failed while the scenario was recorded"


def test_scenarios_that_have_lost_their_node_are_handed_on() -> None:
    (lost,) = scenarios("lost")
    stranded = Stranded(scenario=lost, error="node n: it did not come up")
    loop, seen = loop_of({"a": InSteps("a", 2)}, Line(), stranded=(stranded,))
    loop.run()
    assert seen == [stranded]


def crashed(*errors: Exception) -> ThreadCrashes:
    """After threads that raise these, one after the other."""

    def raise_it(error: Exception) -> None:
        raise error

    with ThreadCrashes() as crashes:
        for error in errors:
            thread = threading.Thread(target=raise_it, args=(error,))
            thread.start()
            thread.join()
    return crashes


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    """What the hook of before got."""
    seen: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda crash: seen.append(crash.exc_value))
    return seen


def test_the_first_crash_is_noted(printed: list[BaseException | None]) -> None:
    first = UsageError("credentials")
    assert crashed(first, UsageError("later")).first is first
    assert crashed().first is None
    assert printed == []


def test_a_fault_of_the_suite_is_printed_as_well(printed: list[BaseException | None]) -> None:
    fault = KeyError("x")
    assert crashed(fault).first is fault
    assert printed == [fault]


def test_afterwards_crashes_go_where_they_went_before(printed: list[BaseException | None]) -> None:
    before = threading.excepthook
    crashed()
    assert threading.excepthook is before


def test_every_kind_of_scenario_is_recorded_by_something() -> None:
    assert set(KINDS) == set(get_args(Scenario))


def test_kubelets_are_tried_two_at_a_time() -> None:
    assert AT_ONCE[StartupScenario] == 2
