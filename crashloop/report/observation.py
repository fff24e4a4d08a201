"""The findings of `crashloop observe`, as rows for a terminal and as a page. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crashloop.inference.judging import Agreement, CurveRange, NodeFinding, readings
from crashloop.inference.loops import CrashLoop
from crashloop.inference.observation import Observation
from crashloop.inference.windows import window
from crashloop.model.config import Curve
from crashloop.report.curves import PlottedCurve
from crashloop.report.delay import ReportedDelay
from crashloop.report.html import page
from crashloop.report.panels import Panel, panels_of
from crashloop.report.standing import Standing
from crashloop.report.text import counted, seconds, took
from crashloop.spec.version import KubernetesVersion

HEADER = ("node", "crash loops", "waits", "curve inferred", "all that fit", "configured", "verdict")
MAX_PANELS = 6
"""Crash loops of a node that are drawn, those with the most waits."""

STANDINGS = {
    Agreement.CONTRADICTS: Standing.FAIL,
    Agreement.TOO_LITTLE: Standing.INCONCLUSIVE,
    Agreement.AGREES: Standing.PASS,
    Agreement.NOT_COMPARED: Standing.SKIPPED,
}


class Row(NamedTuple):
    """One node: the cells of the table, in the order of HEADER, and the text below it."""

    finding: NodeFinding
    standing: Standing
    cells: tuple[str, ...]
    said: tuple[str, ...]
    panels: tuple[Panel, ...] = ()


def rows_of(seen: Observation) -> tuple[Row, ...]:
    """The nodes, worst first, without plots."""
    return tuple(
        Row(finding, STANDINGS[finding.agreement], cells_of(finding), tuple(_said(finding))) for finding in seen.nodes
    )


def cells_of(finding: NodeFinding) -> tuple[str, ...]:
    """The cells of one node."""
    likely = "–" if finding.likely is None else f"{curve_text(finding.likely)} ({finding.confidence:.0%})"
    configured = "–" if finding.configured is None else f"{curve_text(finding.configured)} ({finding.configured_by})"
    return (
        finding.node,
        str(finding.loops),
        f"{finding.used} of {finding.waits}",
        likely,
        "; ".join(range_text(each) for each in finding.fitting[:3]) + ("; …" if len(finding.fitting) > 3 else ""),
        configured,
        finding.agreement.value,
    )


def curve_text(curve: Curve) -> str:
    """`10 s to 300 s`, or `2 s` where the delay never grows."""
    if curve.initial_s == curve.maximum_s:
        return f"{seconds(curve.maximum_s)} s"
    return f"{seconds(curve.initial_s)} s to {seconds(curve.maximum_s)} s"


def range_text(each: CurveRange) -> str:
    """`10 s to 264–300 s`."""
    if each.lowest_maximum_s == each.highest_maximum_s:
        return curve_text(Curve(each.initial_s, each.lowest_maximum_s))
    return f"{seconds(each.initial_s)} s to {seconds(each.lowest_maximum_s)}–{seconds(each.highest_maximum_s)} s"


def sentence(seen: Observation) -> str:
    """The observation in one sentence."""
    numbers = {agreement: sum(each.agreement is agreement for each in seen.nodes) for agreement in Agreement}
    if not seen.nodes:
        return "No container restarted, so no node showed a curve."
    match seen.agreement:
        case Agreement.CONTRADICTS:
            nodes = counted(numbers[Agreement.CONTRADICTS], "node")
            return f"{nodes} of {len(seen.nodes)} did not follow the curve configured for them."
        case Agreement.AGREES:
            return f"{counted(numbers[Agreement.AGREES], 'node')} followed the curve configured for them."
        case _ if numbers[Agreement.NOT_COMPARED] == len(seen.nodes):
            return "The nodes' configuration was neither read (--read-configz) nor declared (--expect)."
        case _:
            return f"Too few waits were seen on {counted(numbers[Agreement.TOO_LITTLE], 'node')}. Observe for longer (--for)."


def facts(seen: Observation) -> str:
    """The observation's scope, in one line."""
    where = seen.namespace or "all namespaces"
    duration = took(seen.finished - seen.started)
    left_out = f"; {counted(seen.left_out, 'restarted container')} left out (probes, RestartAllContainers)"
    gaps = f"; the watch was lost {counted(seen.gaps, 'time')}"
    text = f"{counted(len(seen.loops), 'crash loop')} in {where}, watched for {duration}"
    text += (left_out if seen.left_out else "") + (gaps if seen.gaps else "") + "."
    if seen.unheard is None:
        return text
    why = " ".join(seen.unheard.why.split())
    return f"{text} The watch was lost after {seen.unheard.since:%H:%M:%S} UTC: {why}"


def to_html(seen: Observation) -> str:
    """The whole page."""
    by_node: dict[str, list[CrashLoop]] = {}
    for loop in seen.loops:
        by_node.setdefault(loop.node, []).append(loop)
    rows = [row._replace(panels=_panels(row, by_node.get(row.finding.node, []))) for row in rows_of(seen)]
    return page(
        "observation.html.j2",
        seen=seen,
        rows=rows,
        header=HEADER,
        sentence=sentence(seen),
        facts=facts(seen),
        standing=STANDINGS[seen.agreement],
    )


def _said(finding: NodeFinding) -> Iterable[str]:
    yield from finding.objections
    if finding.note:
        yield f"{finding.note}."


def _panels(row: Row, loops: Sequence[CrashLoop]) -> tuple[Panel, ...]:
    """The longest loops of a node beside its configured curve, or else the most likely one."""
    reference = row.finding.configured or row.finding.likely
    if reference is None:
        return ()
    longest = sorted(loops, key=lambda loop: -len(loop.waits))[:MAX_PANELS]
    version = KubernetesVersion.parse(row.finding.kubelet_version)
    curves = [(loop, _curve(loop, reference, row, version)) for loop in longest]
    drawn = [(f"{row.finding.node}-{number}", curve) for number, (_, curve) in enumerate(curves) if curve.delays]
    return panels_of(drawn)


def _curve(loop: CrashLoop, reference: Curve, row: Row, version: KubernetesVersion) -> PlottedCurve:
    delays = [
        ReportedDelay(
            restart=reading.wait.restart,
            due_s=(allowed := window(reading.due_s, version)).earliest,
            latest_s=allowed.latest,
            seen_s=reading.wait.seconds,
            channel="status",
            reason=reading.objection,
        )
        for reading in readings(loop, reference, version)
        if reading.told and (reading.wait.seen_whole or reading.wait.seconds >= reading.due_s)
    ]
    return PlottedCurve(
        scenario=f"{loop.namespace}/{loop.pod}",
        container=loop.container,
        profile=row.finding.node,
        standing=row.standing,
        requirements=(),
        delays=tuple(delays),
    )
