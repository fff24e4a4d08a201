"""Lifecycles keep in a file; a damaged one is refused."""

from pathlib import Path

import pytest

from crashloop.errors import UsageError
from crashloop.measure.files import load_lifecycles, load_rows, load_scrapes, write_costs, write_lifecycles
from crashloop.predict.costs import read_costs
from crashloop.predict.measured import MEASURED
from suites.selftest.kit.slo_kit import crasher, restart, started

PODS = (crasher(restart(1, 2), restart(4, None), starts_ns={"app": (1, 2)}, restart_counts={"app": 1}), started(1, 2))


def test_lifecycles_come_back_as_they_were(tmp_path: Path) -> None:
    write_lifecycles(tmp_path, PODS)
    assert load_lifecycles(tmp_path) == PODS
    assert load_scrapes(tmp_path) == ()


def test_costs_come_back_as_they_were(tmp_path: Path) -> None:
    write_costs(tmp_path / "costs.json", MEASURED)
    assert read_costs((tmp_path / "costs.json").read_bytes(), name="costs.json") == MEASURED


def test_a_run_without_lifecycles_has_none(tmp_path: Path) -> None:
    assert load_lifecycles(tmp_path) == ()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lifecycles.jsonl").write_text('{"pod": "p"}\n')
    with pytest.raises(UsageError, match=r"damaged .*uid.*; expected one lifecycle a line"):
        load_lifecycles(tmp_path)


def test_rows_of_several_files_keep_their_order() -> None:
    rows = load_rows("node", "official")
    assert rows[0].id == "pleg-relist"
    assert {row.id for row in rows} < {row.id for row in load_rows()}


def test_an_id_is_given_once_over_all_files() -> None:
    with pytest.raises(UsageError) as raised:
        load_rows("node", "node")
    assert str(raised.value) == "SLOs container-create, pleg-relist: given more than once, in node, node."


def test_a_file_of_the_users_own_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    with pytest.raises(UsageError, match=f'SLOs "own": {path} cannot be read'):
        load_rows(path)
    path.write_text("slos: []")
    with pytest.raises(UsageError, match=r"own\.yaml: expected a description and a list of slos"):
        load_rows(str(path))
