"""The page of an observation stays readable, whatever the number of nodes."""

from datetime import UTC, datetime, timedelta

import msgspec

from crashloop.inference.judging import Agreement, judge_node, observation
from crashloop.model.config import Curve
from crashloop.report.html import to_html
from crashloop.report.observation import MAX_DRAWN, MAX_LISTED, observation_document
from suites.selftest.kit.observed_loops import V1_37, loop_of

NODES = 3000


def test_a_page_of_thousands_of_nodes_has_the_worst_of_them_and_counts_the_rest() -> None:
    loop = loop_of(10, 10, 10, 10, 10, 10)
    finding = judge_node("worker", [loop], V1_37, configured=Curve(10.0, 10.0))
    bad = msgspec.structs.replace(finding, node="node-2999", agreement=Agreement.CONTRADICTS)
    names = [f"node-{number}" for number in range(NODES - 1)]
    seen = observation(
        [*(msgspec.structs.replace(finding, node=name) for name in names), bad],
        (msgspec.structs.replace(loop, node=name) for name in (*names, "node-2999")),
        crashloop_version="1",
        started=datetime(2026, 1, 1, tzinfo=UTC),
        finished=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=10),
        kubernetes_version="1.37.1",
        namespace=None,
        left_out={},
        gaps=0,
        restarting=NODES,
    )
    page = to_html(observation_document(seen))
    assert f"3,000 nodes (contradicts 1, agrees 2,999). The {MAX_LISTED} worst are listed" in page
    assert page.index("node-2999") < page.index("node-0")
    assert page.count('class="profile-block"') == MAX_DRAWN
    assert len(page) < 1_000_000
