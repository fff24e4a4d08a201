"""A kind of scenario has a row in every table, and states what plans need of it."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

import crashloop
from crashloop.checks import kinds as judging
from crashloop.record import stage as recording
from crashloop.report import curves as drawing
from crashloop.run import kinds as planning
from crashloop.spec.control_plane import ApiRequest
from crashloop.spec.scenario import AnyScenario, ApiScenario, Scenario
from sim import kinds as simulating

ROOT = Path(crashloop.__file__).parents[1]
KINDS = set(get_args(Scenario))
TABLES: dict[str, Mapping[type[AnyScenario], Any]] = {
    "record": recording.KINDS,
    "checks": judging.KINDS,
    "sim": simulating.SIMULATIONS,
    "run": planning.KINDS,
    "report": drawing.CAPTIONS,
}


@pytest.mark.parametrize("layer", TABLES)
def test_every_layer_has_one_row_per_kind(layer: str) -> None:
    assert set(TABLES[layer]) == KINDS


def test_no_code_tells_kinds_apart_but_by_these_tables() -> None:
    names = {kind.__name__ for kind in KINDS}
    found = []
    for folder in ("crashloop", "fixtures", "tools", "quality"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Name(id="isinstance"), args=[_, asked]):
                        pass
                    case ast.MatchClass(cls=asked):
                        pass
                    case _:
                        continue
                distinguished = names & {each.id for each in ast.walk(asked) if isinstance(each, ast.Name)}
                found += [f"{path.relative_to(ROOT)}:{node.lineno}" for _ in distinguished]
    assert found == []


def test_an_api_scenario_needs_a_request() -> None:
    with pytest.raises(ValueError, match="scenario 'empty' has no request"):
        ApiScenario(name="empty", requests=())


def test_an_api_scenario_names_no_node() -> None:
    bound = {"kind": "Pod", "metadata": {"name": "bound"}, "spec": {"nodeName": "node-1", "containers": []}}
    with pytest.raises(ValueError, match="scenario 'bound' needs no node, but names 'node-1'"):
        ApiScenario(name="bound", requests=(ApiRequest(object=bound),))


def test_an_api_scenario_stores_nothing_for_a_user_who_may_do_nothing() -> None:
    request = ApiRequest(object={"metadata": {"name": "theirs"}}, as_user="stranger", dry_run=False)
    with pytest.raises(ValueError, match="scenario 'stored' stores 'theirs' for a user who may do nothing"):
        ApiScenario(name="stored", requests=(request,))
