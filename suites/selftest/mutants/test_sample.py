"""The lot takes mutants of all functions in turn, and always the same ones."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mutants.mutant import Mutant, sample

counts = st.dictionaries(st.sampled_from(["Next", "getPhase", "doBackOff"]), st.integers(1, 12), min_size=1)


def mutants_of(counted: dict[str, int]) -> tuple[Mutant, ...]:
    names = [name for name, number in sorted(counted.items()) for _ in range(number)]
    return tuple(
        Mutant(number=number, id=f"{name}-{number}", function=name, line=number, operator="drop", before="x", after="")
        for number, name in enumerate(names, start=1)
    )


@given(counts, st.integers(0, 40), st.integers(0, 5))
def test_a_larger_sample_continues_a_smaller_one(counted: dict[str, int], size: int, seed: int) -> None:
    mutants = mutants_of(counted)
    assert sample(reversed(mutants), None, seed)[:size] == sample(mutants, size, seed)


@given(counts, st.integers(0, 40), st.integers(0, 5))
def test_no_function_is_a_turn_ahead_of_one_that_has_mutants_left(
    counted: dict[str, int], size: int, seed: int
) -> None:
    taken = Counter(each.function for each in sample(mutants_of(counted), size, seed))
    left = [name for name, number in counted.items() if taken[name] < number]
    assert max(taken.values(), default=0) <= min((taken[name] + 1 for name in left), default=40)


@given(counts)
def test_all_means_every_mutant_once(counted: dict[str, int]) -> None:
    mutants = mutants_of(counted)
    assert sorted(each.number for each in sample(mutants, None, 0)) == [each.number for each in mutants]


def test_another_seed_takes_others() -> None:
    mutants = mutants_of({"Next": 100})
    assert sample(mutants, 5, 0) != sample(mutants, 5, 1)
