"""The backoff model agrees with client-go's own flowcontrol.Backoff, driven by a fake clock as the kubelet drives it."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crashloop.model.backoff import Due, dues
from crashloop.model.config import Curve
from crashloop.model.lives import Lived
from crashloop.model.variants import COUNTER_COLLECTED
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

SEQUENCES = 100_000
PROGRAM = Path(__file__).parent / "client_go"
VERSION = KubernetesVersion(1, 37, 1)
CURVES = ((1, 1), (2, 2), (10, 10), (10, 11), (10, 20), (10, 60), (1, 60), (10, 300), (1, 300))
LIVES_S = (0, 1, 5, 30, 120, 299, 301, 400, 539, 560, 580, 590, 598, 602, 605, 610, 900)
LOOKS_EVERY_S = 1.0


class Sequence(msgspec.Struct, frozen=True):
    """How long each instance of a container ran, on a kubelet with that curve."""

    initial_ms: int
    maximum_ms: int
    lives_ms: tuple[int, ...]
    collects: bool


def sequences(count: int, *, collects: bool) -> Iterator[Sequence]:
    random_ = random.Random(20260101)
    for _ in range(count):
        initial, maximum = random_.choice(CURVES)
        short = random_.randint(0, 6)
        lives = [random_.choice(LIVES_S[:4]) for _ in range(short)] + random_.choices(LIVES_S, k=3)
        yield Sequence(initial * 1000, maximum * 1000, tuple(life * 1000 for life in lives), collects)


@pytest.fixture(scope="module")
def client_go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small Go program beside this file, built."""
    if shutil.which("go") is None:
        if "CI" in os.environ:
            pytest.fail("needs go on PATH: install Go 1.26 or newer")
        pytest.skip("needs go on PATH")
    program = tmp_path_factory.mktemp("client_go") / "client_go"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=PROGRAM, check=True)
    return program


def waits_s(program: Path, cases: list[Sequence]) -> list[list[float]]:
    lines = b"\n".join(msgspec.json.encode(case) for case in cases)
    answer = subprocess.run([str(program)], input=lines, capture_output=True, check=True).stdout
    return [[wait / 1000 for wait in msgspec.json.decode(line, type=list[int])] for line in answer.splitlines()]


def lives(case: Sequence, waits: list[float]) -> list[Lived]:
    now, lived = 0.0, []
    for life_ms, wait in zip(case.lives_ms, waits, strict=True):
        lived.append(Lived(now, now + life_ms / 1000))
        now += life_ms / 1000 + wait
    lived.append(Lived(now, None))
    return lived


def strangers(
    client_go: Path, cases: list[Sequence], deviations: frozenset[str]
) -> Iterator[tuple[Sequence, float, tuple[Due, ...]]]:
    """Delays of client-go that the model does not name, with what it names instead."""
    for case, waits in zip(cases, waits_s(client_go, cases), strict=True):
        curve = Curve(initial_s=case.initial_ms / 1000, maximum_s=case.maximum_ms / 1000)
        named = dues(curve, lives(case, waits), version=VERSION, mode=Mode.ANNOTATED, deviations=deviations)
        for wait, due in zip(waits, named, strict=True):
            if not any(
                each.delay_s <= wait + LOOKS_EVERY_S and wait <= each.latest_s + LOOKS_EVERY_S for each in due.windows
            ) or (not deviations and not due.alternatives and wait != due.delay_s):
                yield case, wait, due.windows


@pytest.mark.parametrize("collects", [False, True], ids=["documented", "with-collection"])
def test_every_delay_of_client_go_is_one_that_the_model_names(client_go: Path, collects: bool) -> None:
    cases = list(sequences(SEQUENCES // 2, collects=collects))
    assert next(strangers(client_go, cases, frozenset({COUNTER_COLLECTED} if collects else ())), None) is None


def test_the_documented_model_does_not_explain_collected_counters(client_go: Path) -> None:
    cases = list(sequences(100, collects=True))
    assert next(strangers(client_go, cases, frozenset()), None) is not None
