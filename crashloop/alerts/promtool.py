"""Prometheus' own evaluation of rules: `promtool test rules` on generated files. No rule is evaluated by code of this project.

Each test of the file asks for values and expects none, so that promtool prints what it got:
cmd/promtool/unittest.go@v2.42.0, "exp: ..., got: ..."; @v3.16.0 prints the same.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from crashloop.alerts.rules import Rules
from crashloop.cluster.processes import CommandFailed, run
from crashloop.errors import UsageError

TEST_S = 1800.0
"""Promtool takes about a second for six hours of one loop at ten phases."""
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
_GOT = re.compile(r'\{alertname="((?:[^"\\]|\\.)*)", crashloop="([a-z]+)-(\d+)"\} (\S+)')
_FAULT = re.compile(r"^\s*(?:rule|expr): .*\berr: .*$", re.MULTILINE)


Case = list[dict[str, str]]
"""`input_series` of a rule test: series that the rules are evaluated on, every scrape."""


class Fired(NamedTuple):
    """What one alert did in one case."""

    first_s: float
    """When it fired first, since the first scrape."""
    evaluations: int
    """At so many it fired."""
    pods: int
    """For so many pods, where its labels name them; else 1."""


def evaluated(
    rules: Rules, cases: Sequence[Case], *, promtool: Path, scrape_s: float, until_s: float
) -> list[Mapping[str, Fired]]:
    """What each alert did in each case, by its name; one that never fired is missing.

    Rules are evaluated as often as series are scraped. Raises UsageError if one of them cannot be evaluated on these series.
    """
    step, end = _spelt(scrape_s), _spelt(until_s)
    window = _spelt(until_s + scrape_s)  # since 3.0 a range has no left edge
    tests = [
        {
            "interval": step,
            "input_series": case,
            "promql_expr_test": [{"expr": each, "eval_time": end} for each in _questions(number, step, window)],
        }
        for number, case in enumerate(cases)
    ]
    file = {"rule_files": [str(rules.path.resolve())], "evaluation_interval": step, "tests": tests}
    said = _tested(file, promtool)
    got: list[dict[str, dict[str, float]]] = [{} for _ in cases]
    for name, what, number, value in _GOT.findall(said):
        got[int(number)].setdefault(name, {})[what] = float(value)
    if (fault := _FAULT.search(said)) or ("FAILED" in said and not any(got)):
        raise UsageError(f"rules {rules.path}: cannot be evaluated: {fault[0].strip() if fault else said.strip()}")
    return [
        {name: Fired(each["first"], int(each["firing"]), int(each["pods"])) for name, each in one.items()}
        for one in got
    ]


def _spelt(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def _questions(number: int, step: str, window: str) -> tuple[str, ...]:
    asked = {
        "first": f"min_over_time(timestamp({FIRING})[{window}:{step}])",
        "firing": f"count_over_time(({FIRING})[{window}:{step}])",
        "pods": f'count by (alertname) (count by (alertname, pod) (count_over_time(ALERTS{{alertstate="firing"}}[{window}])))',
    }
    return tuple(f'label_replace({each}, "crashloop", "{what}-{number}", "", "")' for what, each in asked.items())


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
