"""What rules do on generated series, by `promtool test rules` of Prometheus itself: no rule is evaluated by code of this project.

Each test of the file asks for values and expects none, so that promtool prints what it got:
cmd/promtool/unittest.go@v2.42.0, "exp: ..., got: ..."; @v3.16.0 prints the same.
"""

import json
import math
import operator
import re
from ast import literal_eval
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from crashloop.alerts.rules import Rules, in_a_file
from crashloop.cluster.processes import CommandFailed, run
from crashloop.errors import UsageError

TEST_S = 1800.0
"""Promtool takes about a second for six hours of one loop at ten phases."""
_GOT = re.compile(r'\{alertname="((?:[^"\\]|\\.)*)", crashloop="([a-z]+)-(\d+)"\} ([^\s,]+)')
_FAULT = re.compile(r"^\s*(?:rule|expr): .*\berr: .*$", re.MULTILINE)


InputSeries = list[dict[str, str]]
"""Of a rule test: series that the rules are evaluated on, every scrape."""


class Case(NamedTuple):
    """A pod of its own."""

    pod: str
    series: InputSeries


class Fired(NamedTuple):
    """What one alert did in one case."""

    first_s: float
    """When it fired first, since the first scrape."""
    evaluations: int
    """At so many it fired."""


class Evaluated(NamedTuple):
    """What alerts did, by their names; one that never fired is missing."""

    cases: list[Mapping[str, Fired]]
    crowd: Mapping[str, int]
    """For so many pods of the crowd; 1 for an alert that names no pod."""
    of_no_pod: frozenset[str] = frozenset()
    """Alerts that fired for the crowd without a label `pod`."""


def evaluated(
    rules: Rules, cases: Sequence[Case], crowd: InputSeries, *, promtool: Path, scrape_s: float, until_s: float
) -> Evaluated:
    """What each alert did in each case, and for how many pods of a crowd.

    Rules are evaluated as often as series are scraped. Raises UsageError if one of them cannot be evaluated on these series.
    A case is a test of its own; where rules keep pods apart, one test has many of them, which is several times as fast.
    """
    alone = [{number: ""} for number in range(len(cases))]
    if rules.keeps_pods_apart():
        try:
            return _evaluated(rules, cases, _of_different_pods(cases), crowd, promtool, scrape_s, until_s)
        except UsageError:
            pass  # such as too many samples for one query, or more alerts than a group's `limit`
    return _evaluated(rules, cases, alone, crowd, promtool, scrape_s, until_s)


def _of_different_pods(cases: Sequence[Case]) -> list[dict[int, str]]:
    """As few groups of cases as can be: a pod is once in each."""
    seen, groups = Counter[str](), defaultdict[int, dict[int, str]](dict)
    for number, case in enumerate(cases):
        groups[seen[case.pod]][number] = case.pod
        seen[case.pod] += 1
    return [*groups.values()]


def _evaluated(
    rules: Rules,
    cases: Sequence[Case],
    groups: Iterable[Mapping[int, str]],
    crowd: InputSeries,
    promtool: Path,
    scrape_s: float,
    until_s: float,
) -> Evaluated:
    """With a test for each group of cases, by number; what is asked of one is of all pods, or of the pod that is named."""
    step, last = _spelt(scrape_s), math.floor(round(until_s / scrape_s, 6))
    end, pieces = _spelt(last * scrape_s), list(_pieces(last + 1, scrape_s))
    of_cases = [
        (
            [each for number in group for each in cases[number].series],
            [each for number, pod in group.items() for each in _questions(number, pod, rules.alerts, step, pieces)],
        )
        for group in groups
    ]
    of_all = [_labelled(_firing(by, pieces), what, 0) for what, by in _OF_A_CROWD.items()]
    tests = [
        {
            "interval": step,
            "input_series": series,
            "promql_expr_test": [{"expr": each, "eval_time": end} for each in questions],
        }
        for series, questions in (*of_cases, (crowd, of_all))
    ]
    with in_a_file(rules.text) as path:
        said = _tested({"rule_files": [str(path)], "evaluation_interval": step, "tests": tests}, promtool)
    got: list[dict[str, dict[str, float]]] = [{} for _ in cases]
    of_crowd: dict[str, dict[str, int]] = {what: {} for what in _OF_A_CROWD}
    for quoted, what, number, value in _GOT.findall(said):
        name = literal_eval(f'"{quoted}"')  # as Go quotes it: with \x1b, which JSON does not know
        if what in of_crowd:
            of_crowd[what][name] = int(float(value))
        else:
            of_alert, of_piece = got[int(number)].setdefault(name, {}), float(value)
            of_alert[what] = _OF_PIECES[what](of_alert[what], of_piece) if what in of_alert else of_piece
    if (fault := _FAULT.search(said)) or ("FAILED" in said and not any((*got, *of_crowd.values()))):
        why = fault[0].strip() if fault else said.strip()
        remedy = f"\n{_FEWER}" if _TOO_MANY in why else ""
        raise UsageError(f"rules {rules.path}: cannot be evaluated: {why}{remedy}")
    fired: list[Mapping[str, Fired]] = [
        {name: Fired(each["first"], int(each["firing"])) for name, each in one.items()} for one in got
    ]
    return Evaluated(fired, of_crowd["pods"], frozenset(of_crowd["podless"]))


def _spelt(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


MOST_AT_ONCE = 1000
"""Evaluations of one question: promtool takes 10,000 samples in a query, and a subquery has several of each at once."""
_TOO_MANY = "too many samples"
_FEWER = "promtool takes 10,000 samples in a query; give a longer --scrape, or rules with shorter subqueries."


def _pieces(evaluations: int, scrape_s: float) -> Iterator[tuple[str, str]]:
    """Windows, each with its offset from the last evaluation, that have each evaluation once.

    Before 3.0 a range has a left edge, and since then none; no evaluation is where one of these begins.
    """
    for begin in range(0, evaluations, MOST_AT_ONCE):
        number = min(MOST_AT_ONCE, evaluations - begin)
        yield f"{round(number * scrape_s * 1000) - 1}ms", f" offset {_spelt(begin * scrape_s)}" if begin else ""


_OF_PIECES: Mapping[str, Callable[[float, float], float]] = {"first": min, "firing": operator.add}
"""What is asked of the evaluations of one loop, and how two answers become one."""
_OF_A_CROWD = {"pods": "", "podless": ', pod=""'}


def _firing(by: str, pieces: Iterable[tuple[str, str]]) -> str:
    """For how many pods each alert fires in any of the pieces."""
    each = (
        f'count by (alertname, pod) (count_over_time(ALERTS{{alertstate="firing"{by}}}[{window}]{offset}))'
        for window, offset in pieces
    )
    return f"count by (alertname) ({' or '.join(each)})"


def _questions(
    number: int, pod: str, alerts: Iterable[str], step: str, pieces: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """One alert and one piece of the time at a time."""
    for name in alerts:
        which = f'alertstate="firing", alertname={json.dumps(name, ensure_ascii=False)}' + (
            f', pod="{pod}"' if pod else ""
        )
        firing = f"count by (alertname) (ALERTS{{{which}}})"
        for window, offset in pieces:
            yield _labelled(f"min_over_time(timestamp({firing})[{window}:{step}]{offset})", "first", number)
            yield _labelled(f"count_over_time(({firing})[{window}:{step}]{offset})", "firing", number)


def _labelled(expression: str, what: str, number: int) -> str:
    return f'label_replace({expression}, "crashloop", "{what}-{number}", "", "")'


def _tested(file: dict[str, Any], promtool: Path) -> str:
    """What promtool prints; JSON is YAML."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tests.yaml"
        path.write_bytes(msgspec.json.encode(file))
        try:
            return run([promtool, "test", "rules", path], describe="promtool test rules", timeout_s=TEST_S)
        except CommandFailed as error:
            if error.exit_code is None:
                raise
            return error.output
