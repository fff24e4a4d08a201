"""What a status shows after RestartAllContainers."""

from crashloop.model.restart_all import shown_exit_code
from crashloop.model.variants import RESTART_ALL_HIDES_EXIT_CODE


def test_the_previous_exit_is_shown_as_promised_and_137_by_the_kubelet() -> None:
    assert shown_exit_code(88) == 88
    assert shown_exit_code(88, frozenset({RESTART_ALL_HIDES_EXIT_CODE})) == 137
