"""Container programs: how long each life of a container runs, and how it exits."""

from itertools import chain, repeat

import msgspec


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """`times` lives in a row that each run `run_s` seconds and then exit with `exit_code`."""

    run_s: float = 0.0
    exit_code: int = 1
    times: int = 1

    def __post_init__(self) -> None:
        if self.run_s < 0 or not 0 <= self.exit_code <= 255 or self.times < 1:
            raise ValueError(f"{self}: run_s is at least 0, exit_code 0 to 255, times at least 1")


class Program(msgspec.Struct, frozen=True):
    """The lives of a container, in order. After the last of them the container holds: it runs until it is killed.

    A program is finite on purpose: once its evidence is complete it stops loading the node.
    """

    lives: tuple[Life, ...] = ()

    def each_life(self) -> tuple[Life, ...]:
        """One entry a life, repetitions spelled out."""
        return tuple(
            chain.from_iterable(repeat(msgspec.structs.replace(life, times=1), life.times) for life in self.lives)
        )

    @property
    def exits(self) -> int:
        """How often the program exits by itself before it holds."""
        return sum(life.times for life in self.lives)


def exits_with(exit_code: int, *, after_s: float = 1.0, times: int = 1) -> Program:
    """A program that exits `times` times in the same way and then holds."""
    return Program((Life(run_s=after_s, exit_code=exit_code, times=times),))


def runs(*lives: tuple[float, int]) -> Program:
    """A program from pairs of seconds run and exit code; it holds after the last."""
    return Program(tuple(Life(run_s=run_s, exit_code=exit_code) for run_s, exit_code in lives))


HOLDS = Program()
"""A program that never exits by itself."""
