"""Official latencies are judged where etcd waits for its disk, as the recorded cluster says; one of others is taken as it is."""

from pathlib import Path

import msgspec
import pytest

from crashloop.slo.preconditions import fact_in_words, facts_of
from crashloop.stress.evidence_reader import read_evidence
from suites.selftest.kit.stress_kit import example_run


@pytest.mark.parametrize(
    ("cluster", "waits"),
    [({"etcd_disk": "ext4 on /dev/vda1"}, 1), ({"etcd_disk": ""}, 0), ({}, 0), (None, 0)],
    ids=["a disk", "none", "older recording", "no recording"],
)
def test_whether_etcd_waits_is_read_from_the_recorded_cluster(
    cluster: dict[str, str] | None, waits: int, tmp_path: Path
) -> None:
    run = example_run(tmp_path).run
    if cluster is not None:
        run.cluster_json.write_bytes(msgspec.json.encode(cluster))
    measured = read_evidence(run).measured
    assert facts_of(measured, measured.phases[0], ["etcd_fsync"]) == {"etcd_fsync": waits}


def test_a_cluster_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    run = example_run(tmp_path).run
    run.plan_json.write_bytes(run.plan_json.read_bytes().replace(b'"local"', b'"existing"'))
    measured = read_evidence(run).measured
    assert facts_of(measured, measured.phases[0], ["etcd_fsync"]) == {"etcd_fsync": 1}


def test_the_precondition_says_what_is_missing() -> None:
    assert fact_in_words("etcd_fsync", 0) == "0 % of etcd's writes wait for its disk"
