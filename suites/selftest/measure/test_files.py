"""Files of SLO rows and lifecycles."""

from pathlib import Path

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.slo.measurements import Lifecycle
from crashloop.stress.folder import load_rows, load_scrapes, write_lifecycles
from suites.selftest.kit.slo_kit import crasher, restart, started

PODS = (crasher(restart(1, 2), restart(4, None), starts_ns={"app": (1, 2)}, restart_counts={"app": 1}), started(1, 2))


def test_lifecycles_are_written_one_pod_a_line_and_are_no_scrapes(tmp_path: Path) -> None:
    write_lifecycles(tmp_path, PODS)
    lines = (tmp_path / "lifecycles.jsonl").read_bytes().splitlines()
    assert tuple(msgspec.json.decode(line, type=Lifecycle) for line in lines) == PODS
    assert load_scrapes(tmp_path) == ()


def test_rows_of_several_files_keep_their_order() -> None:
    rows = load_rows("node", "official")
    assert rows[0].id == "pleg-relist"
    assert {row.id for row in rows} < {row.id for row in load_rows()}


def test_an_id_is_given_once_over_all_files() -> None:
    with pytest.raises(UsageError) as raised:
        load_rows("canary", "canary")
    assert str(raised.value) == (
        "SLOs api-get-latency, api-list-latency, api-reads-failed, api-watch-list-latency, nodes-ready: defined more than once, "
        "in canary, canary."
    )


def test_a_file_of_the_users_own_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    with pytest.raises(UsageError, match=f'SLOs "own": {path} cannot be read'):
        load_rows(path)
    path.write_text("slos: []")
    with pytest.raises(UsageError, match=r"own\.yaml: expected a description and a list of slos"):
        load_rows(str(path))
