"""SLO rows say what is wrong with them: file, row, field, value and what was expected."""

import re
from pathlib import Path

import pytest

from crashloop.errors import UsageError
from crashloop.requirements import SLO_ROWS
from crashloop.slo.row_faults import read_rows
from crashloop.slo.rows import HistogramSli, Precondition, RateSli, SampleSli, families_of
from crashloop.slo.scrapes import HELD, SOURCES
from crashloop.stress.folder import load_rows

GOOD = """
description: made up
slos:
  - id: relist
    sli: {kind: histogram, source: kubelet, metric: kubelet_pleg_relist_duration_seconds, of: relists}
    percentile: 99
    target: {at_most: 1, unit: s}
    min_samples: 100
    preconditions:
      - {fact: pods_per_node, at_most: 110, at_most_per_core: 10}
    definition: how long a relist takes
    source: made up
"""


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as raised:
        read_rows(text, name="own.yaml")
    return str(raised.value)


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return refusal(GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("requirement", "fault"),
    [
        ("LOAD-99", "requirement 'LOAD-99': the catalogue does not have it."),
        (
            "LOAD-11",
            "requirement 'LOAD-11': the catalogue names healthy-neighbour-startup for it, not this row.",
        ),
        ("CAP-3", "requirement 'CAP-3': the catalogue names no row for it, not this row."),
    ],
    ids=["unknown", "of-another-row", "of-no-row"],
)
def test_a_row_of_a_requirement_that_it_does_not_judge_is_refused(tmp_path: Path, requirement: str, fault: str) -> None:
    (tmp_path / "own.yaml").write_text(GOOD + f"    requirement: {requirement}\n", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        load_rows(tmp_path / "own.yaml")
    assert str(raised.value) == f"own.yaml: relist: {fault}"


def test_a_lower_bound_per_core_is_the_lower_of_two() -> None:
    condition = Precondition(fact="pods_per_node", at_least=88, at_least_per_core=8)
    assert [condition.least(cores) for cores in (2, 64, None)] == [16, 88, None]


def test_a_good_row_is_read() -> None:
    (row,) = read_rows(GOOD, name="own.yaml").slos
    assert isinstance(row.sli, HistogramSli)
    assert (row.id, row.target.bound, row.mode, row.decided_by, row.phase) == ("relist", 1.0, "report", "value", None)
    assert row.budget == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("percentile: 99", "percentile: 100", "percentile is 100; expected more than 0 and less than 100."),
        ("percentile: 99\n", "\n", "percentile is missing; an SLI of kind histogram needs one."),
        ("min_samples: 100", "min_samples: 25", "min_samples is 25; p99 of fewer than 100 is simply the largest."),
        (
            "min_samples: 100",
            "min_samples: 100\n    deviation: {up_to: 1, sentence: s, evidence: e}",
            "deviation: up_to is 1, which keeps the target; expected a value that misses it.",
        ),
        ("at_most: 1, unit", "at_most: -1, unit", "target is -1 s; expected a number that is not negative."),
        ("at_most: 1, unit", "at_most: .inf, unit", "target is inf s; expected a number that is not negative."),
        ("at_most: 1, unit", "at_most: .nan, unit", "target is nan s; expected a number that is not negative."),
        ("{at_most: 1, unit", "{unit", "target has 0 bounds; expected one of at_most, below, at_least."),
        ("at_most: 1, unit", "at_most: 1, below: 2, unit", "target has 2 bounds; expected one of"),
        ("at_most: 1, unit", "at_least: 1, unit", "target is at_least; an SLI of kind histogram is a duration, which"),
        ("unit: s", "unit: ms", "target has the unit 'ms'; an SLI of kind histogram is in s."),
        ("source: kubelet", "source: kubelets", "source 'kubelets' is not known; expected kubelet."),
        ("fact: pods_per_node", "fact: pods", "precondition 'pods' is not known; expected"),
        (
            ", at_most: 110, at_most_per_core: 10",
            "",
            "precondition pods_per_node has no bound; expected at_most or at_",
        ),
        (
            "    preconditions:",
            "    requirement_preconditions:",
            "requirement_preconditions is given, but no requirement.",
        ),
        (
            "at_most: 110",
            "at_most: -3",
            "precondition pods_per_node: bound -3; expected a number that is not negative.",
        ),
        ("min_samples: 100", "min_sample: 100", "there is no field min_sample."),
        ("kind: histogram", "kind: histgram", "sli.kind: 'histgram' is none of its values."),
        ("min_samples: 100", "min_samples: 100\n    slice_s: 0", "slice_s is 0; expected seconds above zero."),
        ("min_samples: 100", "min_samples: 100\n    mode: fail", "mode: 'fail' is none of its values."),
        ("definition: how long a relist takes", "definition: ' '", "definition and source cannot be empty."),
        ("id: relist", "id: PLEG relist", "id 'PLEG relist': expected words in small letters, joined by dashes."),
    ],
)
def test_a_wrong_row_is_refused_by_name(old: str, new: str, message: str) -> None:
    name = "PLEG relist" if "PLEG" in new else "relist"
    assert changed(old, new).startswith(f"own.yaml: {name}: {message}")


SLI = "sli: {kind: histogram, source: kubelet, metric: kubelet_pleg_relist_duration_seconds, of: relists}"
TIMES = "    percentile: 99\n    target: {at_most: 1, unit: s}"


@pytest.mark.parametrize(
    ("sli", "rest", "message"),
    [
        (
            "{kind: samples, of: restart-latenes}",
            TIMES,
            "of 'restart-latenes' is not known; expected restart-lateness.",
        ),
        (
            "{kind: share, of: unexpected-restarts}",
            "    target: {below: 101, unit: '%'}",
            "target is 101 %; expected a share below 100 %.",
        ),
        (
            "{kind: share, of: unexpected-restarts}",
            "    target: {at_least: 5, unit: '%'}",
            "target is at_least; a share is of what went wrong, and has an upper bound.",
        ),
        (
            "{kind: rate, of: restarts}",
            "    percentile: 99\n    target: {at_least: 5, unit: restarts/s}",
            "percentile is 99; an SLI of kind rate has none.",
        ),
        (
            "{kind: ratio, metric: rest_client_requests_total, per: restart}",
            "    target: {at_most: 5, unit: requests}",
            "per 'restart' is not known; expected restarts.",
        ),
        ("{kind: conservation}", "    target: {at_most: 2, unit: starts}", "target of a conservation is at_most: 0;"),
        ("{kind: conservation}", "    target: {at_most: 0, unit: starts}", "a conservation is decided_by: interval,"),
    ],
    ids=["samples", "share", "share-of-good", "rate", "ratio", "conservation-target", "conservation-decided"],
)
def test_each_kind_of_sli_has_its_own_faults(sli: str, rest: str, message: str) -> None:
    assert TIMES in GOOD
    assert refusal(GOOD.replace(SLI, f"sli: {sli}").replace(TIMES, rest)).startswith(f"own.yaml: relist: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slos: [", "own.yaml: it is neither JSON nor YAML: "),
        ("[]", "own.yaml: expected a description and a list of slos with at least one row."),
        ("description: x\nslos: []", "own.yaml: expected a description and a list of slos with at least one row."),
        ("slos: [3]", "own.yaml: row 1: expected a mapping, not a whole number."),
        ("slos: [{id: x}]", "own.yaml: x: sli is missing."),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_an_id_is_given_once() -> None:
    row = GOOD[GOOD.index("  - id") :]
    assert refusal(GOOD + row) == "own.yaml: relist is defined more than once; an id must be unique."


def test_a_file_that_is_missing_is_reported_with_what_there_is() -> None:
    shipped = ", ".join(sorted(path.stem for path in SLO_ROWS.glob("*.yaml")))
    assert "official, replicas, restart-all, restarts" in shipped
    with pytest.raises(UsageError) as raised:
        load_rows("offical")
    assert str(raised.value) == (
        f'SLOs "offical": unknown; expected one of {shipped}.\nGive the path of a file to use rows of your own.'
    )


def test_the_shipped_rows_are_good_and_have_ids_of_their_own() -> None:
    rows = load_rows()
    assert len({row.id for row in rows}) == len(rows) >= 13


def test_official_rows_keep_the_official_targets_and_preconditions() -> None:
    gates = {row.id: row for row in load_rows("official") if row.mode == "gate"}
    assert {name: (row.percentile, row.target.bound) for name, row in gates.items()} == {
        "api-call-latency-mutating": (99, 1),
        "api-call-latency-read-resource": (99, 1),
        "api-call-latency-read-many": (99, 30),
        "pod-startup-latency": (99, 5),
    }
    for row in gates.values():
        assert row.slice_s == 300
        assert row.min_samples == 1000
        durable, *load = row.preconditions
        assert (durable.fact, durable.at_least) == ("etcd_fsync", 1)
        assert [condition.most(2) for condition in load] == [20, 20]
        assert [condition.most(64) for condition in load] == [20, 110]


def conditions(row_id: str) -> dict[str, float | None]:
    (row,) = (row for row in load_rows("restarts") if row.id == row_id)
    return {condition.fact: condition.at_most for condition in row.preconditions}


def test_lateness_is_promised_only_for_the_delays_that_its_definition_names() -> None:
    assert conditions("restart-lateness") == {"pods_per_node": 110, "longest_due_s": 2}


@pytest.mark.parametrize("row_id", ["api-requests-per-restart", "kubelet-cpu-per-restart"])
def test_what_a_restart_costs_is_promised_only_of_a_host_that_keeps_up(row_id: str) -> None:
    assert conditions(row_id) == {"cpu_busy_share": 0.9}


def test_what_waits_for_a_full_host_misses_its_target_only_where_the_host_keeps_up() -> None:
    """And the requirement that is about full nodes is judged on full hosts too."""
    rows = {row.id: row for row in load_rows("restarts", "node") if row.own_preconditions}
    assert {name: [(each.fact, each.at_most) for each in row.own_preconditions] for name, row in rows.items()} == {
        "healthy-neighbour-startup": [("cpu_busy_share", 0.9)],
        "pleg-relist": [("cpu_busy_share", 0.9)],
    }
    facts = {each.fact for each in rows["healthy-neighbour-startup"].for_requirement.preconditions}
    assert facts == {"churn_per_s", "pods_per_node"}


def test_how_many_restarts_a_second_come_is_no_promise() -> None:
    """A load of few pods has few, and one that drives a node to its limit gets many: it is a figure of each stage."""
    assert not [row.id for row in load_rows("restarts") if isinstance(row.sli, RateSli)]


def test_rows_that_are_ours_say_so() -> None:
    official = re.compile(r"kubernetes/community|KEP-|pkg/kubelet/")
    ours = [row for row in load_rows("restarts", "node") if not official.match(row.source)]
    assert ours
    assert all(row.source.startswith("this suite") for row in ours)


def test_every_shipped_metric_is_known_and_scraped() -> None:
    for source, metrics in families_of(load_rows()).items():
        assert metrics <= SOURCES[source] | (HELD if source == "processes" else frozenset())


def test_every_shipped_file_says_what_it_is() -> None:
    for path in SLO_ROWS.glob("*.yaml"):
        assert read_rows(path.read_text(encoding="utf-8"), name=path.name).description


def test_the_official_startup_row_is_about_lifecycles() -> None:
    (row,) = (row for row in load_rows("official") if row.id == "pod-startup-latency")
    assert row.sli == SampleSli(of="pod-startup")
