"""docs/matrix.md: a run on several versions, and runs on one, become a column for each version of the kubelet."""

import msgspec

from crashloop.checks.everywhere import EVERY_POD
from crashloop.report.results import ProfileSummary, Results
from crashloop.verdict import Outcome, Verdict
from suites.selftest.kit.comparison_example import NEWER, judged
from tools.release_page import by_kubelet, release_page


def verdict(
    profile: str, outcome: Outcome = Outcome.PASS, *findings: str, deviation: str | None = None, scenario: str = ""
) -> Verdict:
    return Verdict(
        requirement="CAP-3",
        scenario=scenario or f"on-{profile}",
        profile=profile,
        outcome=outcome,
        findings=findings,
        deviation=deviation,
    )


def results(*verdicts: Verdict, cluster: str = "1.37.1") -> Results:
    return msgspec.structs.replace(
        NEWER,
        kubernetes_version=cluster,
        verdicts=verdicts,
        profiles=(
            ProfileSummary(name="max-2s"),
            ProfileSummary(name="max-2s@1.36.4", kubernetes_version="1.36.4"),
            ProfileSummary(name="theirs", kubernetes_version="1.35.8"),
        ),
    )


OLD, OWN = verdict("max-2s@1.36.4"), verdict("max-2s")


def versions_of(*verdicts: Verdict) -> list[tuple[str, int]]:
    return [
        (each.results.kubernetes_version, len(each.results.verdicts))
        for each in by_kubelet([judged(results(*verdicts))])
    ]


def row(page: str, requirement: str = "CAP-3") -> list[str]:
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {requirement}:")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def header(page: str) -> list[str]:
    (line,) = [line for line in page.splitlines() if line.startswith("| Requirement")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_a_verdict_belongs_to_the_version_of_its_kubelet() -> None:
    assert versions_of(OLD, OWN, verdict("theirs")) == [("1.35.8", 1), ("1.36.4", 1), ("1.37.1", 1)]


def test_a_verdict_on_the_api_server_belongs_to_the_version_of_the_cluster() -> None:
    assert versions_of(OLD, verdict("kube-apiserver")) == [("1.36.4", 1), ("1.37.1", 1)]


def test_a_comparison_belongs_to_the_newest_of_its_kubelets() -> None:
    assert versions_of(verdict("max-2s@1.36.4, theirs")) == [("1.36.4", 1)]


def test_a_verdict_on_every_pod_is_about_no_version_where_there_are_several() -> None:
    assert versions_of(OLD, verdict("9 profiles", scenario=EVERY_POD)) == [("1.36.4", 1)]


def test_what_was_skipped_belongs_to_the_version_in_its_name() -> None:
    assert versions_of(verdict("max-2s@1.34.4", Outcome.SKIPPED, "needs Kubernetes 1.35")) == [("1.34.4", 1)]


def test_one_version_beside_two_api_servers_has_one_column_with_the_worst() -> None:
    early = verdict("max-2s@1.36.4", Outcome.FAIL, "restart 2 came early.")
    page = release_page([judged(results(OLD, OWN)), judged(results(early, cluster="1.36.4"))])
    assert header(page) == ["1.36.4", "1.37.1"]
    assert row(page) == ["FAIL", "PASS"]
    assert "- **CAP-3**, 1.36.4: FAIL. restart 2 came early." in page


def test_each_cell_that_is_no_pass_has_its_reason_below() -> None:
    known = verdict("max-2s@1.36.4", Outcome.FAIL, "restart 2 came after 1 s.", deviation="restart-all-without-backoff")
    skip = verdict("max-2s@1.34.4", Outcome.SKIPPED, "needs Kubernetes 1.35 or newer.")
    page = release_page([judged(results(known, skip, OWN))])
    assert header(page) == ["1.34.4", "1.36.4", "1.37.1"]
    assert row(page) == ["–", "deviation", "PASS"]
    assert "- **CAP-3**, 1.36.4: KNOWN DEVIATION. restart 2 came after 1 s." in page
    assert "- needs Kubernetes 1.35 or newer. CAP-3." in page


def test_the_runs_are_named() -> None:
    (line,) = [line for line in release_page([judged(results(OLD))]).splitlines() if line.startswith("- `")]
    assert line.startswith("- `runs/20261121T160012Z-conformance`, 2026-11-21: scope ")
    assert "API server 1.37.1" in line
