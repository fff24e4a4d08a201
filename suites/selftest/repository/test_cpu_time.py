"""A self-test that needs much CPU is cheap or has a reason."""

from crashloop.resources import HOME
from suites.selftest.kit.cpu_time import LIMIT_S, LISTED, ROOM, load_listed, objection, used_s

TEST = "suites/selftest/a/test_b.py::test_c"


def test_a_cheap_test_is_accepted() -> None:
    assert objection(TEST, LIMIT_S * ROOM, {}) is None


def test_a_dear_test_is_named_with_what_it_used() -> None:
    assert objection(f"{TEST}[x]", 8.26, {}) == (
        f"{TEST}[x]: 8.3 s of CPU; 5 s is the most.\nMake it cheaper, or list it in {LISTED} with a reason."
    )


def test_a_dear_test_with_a_reason_is_accepted_for_all_its_parameters() -> None:
    assert objection(f"{TEST}[x]", 99.0, {TEST: "because"}) is None


def test_cpu_time_grows_with_work() -> None:
    before = used_s()
    while used_s() == before:
        sum(range(10_000))
    assert used_s() > before


def test_each_listed_test_exists_and_has_a_reason() -> None:
    for name, reason in load_listed(HOME / LISTED).items():
        path, _, function = name.partition("::")
        assert f"def {function}(" in (HOME / path).read_text(encoding="utf-8"), name
        assert reason.strip(), name
