"""A container that does not count time as its node does accuses nobody: journal and clock contradict each other."""

import pytest

from crashloop.history.event import Channel, Kind
from suites.selftest.kit.cases import CRASHING
from suites.selftest.kit.histories import History

OURS, OTHER = "3f2a0c1e-5b7d-4c1a-9a53-0d7c1f2e4b6a", "99999999-5b7d-4c1a-9a53-0d7c1f2e4b6a"


def recorded(*boots: str | None, node: str | None = OURS) -> tuple[str, ...]:
    """What contradicts in a history of one life per boot id, written down on a node of that boot."""
    history = History(CRASHING).clock(0, boot_id=node)
    for number, boot in enumerate(boots):
        data = {"line": "x"} | ({} if boot is None else {"boot_id": boot})
        at_s = 1.0 + 2 * number
        history.add(at_s, Channel.JOURNAL, Kind.STARTED, data, pod=True, container="app", instance=number, boot=True)
    (pod,) = history.ends(30).recording().pods
    return tuple(each.problem for each in pod.contradictions)


@pytest.mark.parametrize(
    ("boots", "node"),
    [((OURS, OURS), OURS), ((None, None), OURS), ((OURS, OURS), None), ((None, None), None)],
    ids=["the-same", "an-older-journal", "an-older-heartbeat", "an-older-run"],
)
def test_journals_of_the_nodes_own_boot_are_used(boots: tuple[str | None, ...], node: str | None) -> None:
    assert recorded(*boots, node=node) == ()


@pytest.mark.parametrize(
    ("boots", "node"),
    [((OTHER,), OURS), (("-",), OURS), (("-",), "-"), ((OURS, OTHER), None)],
    ids=["another-kernel", "cannot-see-it", "neither-can", "not-even-one"],
)
def test_a_journal_of_another_boot_contradicts(boots: tuple[str, ...], node: str | None) -> None:
    (problem,) = recorded(*boots, node=node)
    assert problem == f"the journal counts from boot {boots[-1]}, and no clock of the node does"


def journal(*stamps: tuple[float, Kind, int]) -> tuple[str, ...]:
    """What contradicts in a journal with these stamps, in the order in which they stand in the file."""
    history = History(CRASHING)
    for at_s, kind, life in stamps:
        data = {"line": "x"} | ({"exit_code": 1} if kind is Kind.EXITED else {})
        history.add(
            at_s, Channel.JOURNAL, kind, data, pod=True, container="app", instance=life, boot=True, received_s=25
        )
    (pod,) = history.ends(30).recording().pods
    return tuple(each.problem for each in pod.contradictions)


def test_a_life_that_begins_before_the_one_before_it_ended_by_a_clock_of_its_own_contradicts() -> None:
    lives = ((5.0, Kind.STARTED, 0), (9.0, Kind.EXITED, 0), (0.1, Kind.STARTED, 1))
    assert journal(*lives) == ("the journal's clock runs backwards from life 0 to life 1",)


def test_a_life_that_was_written_down_before_the_one_before_it_ended_is_evidence_of_two_at_once() -> None:
    assert journal((5.0, Kind.STARTED, 0), (7.0, Kind.STARTED, 1), (9.0, Kind.EXITED, 0)) == ()
