"""The document of `crashloop observe`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from crashloop.inference.judging import Agreement, CurveRange, NodeFinding, Observation, readings
from crashloop.inference.loops import CrashLoop
from crashloop.inference.windows import window
from crashloop.model.config import Curve
from crashloop.report.curves import PlottedCurve, ReportedDelay, panels_of
from crashloop.report.document import (
    Article,
    Badge,
    Bullets,
    Cell,
    Document,
    Figure,
    Figures,
    Headline,
    Medium,
    Paragraph,
    Row,
    Section,
    Span,
    Table,
)
from crashloop.report.standing import Standing
from crashloop.report.text import counted, seconds, took
from crashloop.spec.version import KubernetesVersion

HEADER = ("verdict", "node", "crash loops", "waits", "curve inferred", "all that fit", "configured")
NODES = (
    "A curve is inferred from the waits between exit and next start of every restarting container, in whole seconds of the "
    "pod statuses. The percentage is the probability of that curve among all that maxContainerRestartPeriod in whole seconds "
    "can select; “all that fit” are those that no wait rules out."
)
LOOPS = (
    "The bar of a restart reaches from the due delay, by the configured curve or else the most likely one, to the latest "
    "start by the kubelet's retry and the container's own start. The tick is the reported wait."
)
MAX_PANELS = 6
"""Crash loops of a node that are drawn, those with the most waits."""
MAX_DRAWN, MAX_LISTED = 40, 500
"""Nodes with drawings and nodes with a row: the page of a cluster of thousands stays below 1 MB."""

STANDINGS = {
    Agreement.CONTRADICTS: Standing.FAIL,
    Agreement.TOO_LITTLE: Standing.INCONCLUSIVE,
    Agreement.AGREES: Standing.PASS,
    Agreement.NOT_COMPARED: Standing.SKIPPED,
}


def cells_of(finding: NodeFinding) -> tuple[str, ...]:
    """The cells of one node, in the order of HEADER, without the verdict."""
    likely = "–" if finding.likely is None else f"{curve_text(finding.likely)} ({finding.confidence:.0%})"
    configured = "–" if finding.configured is None else f"{curve_text(finding.configured)} ({finding.configured_by})"
    return (
        finding.node,
        str(finding.loops),
        f"{finding.used} of {finding.waits}",
        likely,
        "; ".join(range_text(each) for each in finding.fitting[:3]) + ("; …" if len(finding.fitting) > 3 else ""),
        configured,
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
        if seen.restarting:
            loops = counted(seen.restarting, "restarting container")
            return f"No wait of {loops} could be used, so no node showed a curve. Observe for longer (--for)."
        return "No container restarted, so no node showed a curve."
    match seen.agreement:
        case Agreement.CONTRADICTS:
            nodes = counted(numbers[Agreement.CONTRADICTS], "node")
            return f"{nodes} of {len(seen.nodes)} did not follow the curve configured for them."
        case Agreement.AGREES:
            return f"{counted(numbers[Agreement.AGREES], 'node')} followed the curve configured for them."
        case _ if numbers[Agreement.NOT_COMPARED] == len(seen.nodes):
            return _not_compared(seen)
        case _:
            return f"Too few waits were seen on {counted(numbers[Agreement.TOO_LITTLE], 'node')}. Observe for longer (--for)."


def _not_compared(seen: Observation) -> str:
    """Why no node was compared: each reason once."""
    reasons = {each.note or _REFUSED if each.configured_by else each.note for each in seen.nodes}
    unknown = (
        "The nodes' configuration was neither read (--read-configz) nor declared (--expect)." if "" in reasons else ""
    )
    known = [f"Not compared: {reason}." for reason in sorted(reasons - {""})]
    return " ".join(filter(None, (unknown, *known)))


_REFUSED = "its kubelet does not start with the expected profile"
MAX_STATED = 12
"""Delays stated by kubelets that are written out."""


def _counts(seen: Observation) -> str:
    """What became of each restarting container, as far as it was seen."""
    stated = sorted(loop.stated[-1].seconds for loop in seen.loops if loop.stated)
    said = ", ".join(f"{each:g}" for each in stated[:MAX_STATED]) + (", …" if len(stated) > MAX_STATED else "")
    gave = sum(bool(loop.waits) for loop in seen.loops)
    parts = [
        f"{seen.waiting} wait now" if seen.waiting else "",
        f"delays that the kubelets state: {said} s" if said else "",
        f"{gave} gave a wait" if gave else "",
        *(f"{number} left out: {reason}" for reason, number in seen.left_out_because.items()),
    ]
    return "; ".join(filter(None, parts))


def facts(seen: Observation) -> str:
    """The observation's scope, in one line."""
    where = seen.namespace or "all namespaces"
    duration = took(seen.finished - seen.started)
    gaps = f"; the watch was lost {counted(seen.gaps, 'time')}"
    counts = _counts(seen)
    text = f"{counted(seen.restarting, 'restarting container')} in {where}, watched for {duration}"
    text += (f": {counts}" if counts else "") + (gaps if seen.gaps else "") + "."
    if seen.unheard is None:
        return text
    why = " ".join(seen.unheard.why.split())
    return f"{text} The watch was lost after {seen.unheard.since:%H:%M:%S} UTC: {why}"


def observation_document(seen: Observation) -> Document:
    """The nodes, worst first, and the longest crash loops of each."""
    by_node: dict[str, list[CrashLoop]] = {}
    for loop in seen.loops:
        by_node.setdefault(loop.node, []).append(loop)
    listed = seen.nodes[:MAX_LISTED]
    nodes = Table(HEADER, tuple(map(_row, listed)), look="plain")
    said = Bullets(tuple(f"{each.node}: {text}" for each in listed for text in _said(each)))
    plots = (_article(each, by_node.get(each.node, [])) for each in listed)
    drawn = tuple(islice((each for each in plots if each is not None), MAX_DRAWN))
    rest = (Paragraph(_rest(seen), "note"),) if len(seen.nodes) > len(listed) else ()
    return Document(
        title=f"{seen.agreement.value}: crashloop observe, Kubernetes {seen.kubernetes_version}",
        kicker=f"crashloop observe · Kubernetes {seen.kubernetes_version} · {seen.namespace or 'all namespaces'}",
        headline=Headline(STANDINGS[seen.agreement], sentence(seen), facts(seen), label=seen.agreement.value),
        facts=(("started", f"{seen.started:%Y-%m-%d %H:%M:%S %Z}"), ("crashloop", seen.crashloop_version)),
        exit_code=seen.exit_code,
        sections=(
            Section(
                "nodes", "Nodes", (Paragraph(NODES, "note", Medium.PAGE), *rest, nodes, said) if seen.nodes else ()
            ),
            Section("loops", "Crash loops", (Paragraph(LOOPS, "note"), *drawn) if drawn else (), Medium.PAGE),
        ),
        origin=f"Written by crashloop {seen.crashloop_version} from observe.json ({seen.format}).",
    )


def _rest(seen: Observation) -> str:
    """What the page leaves out of many nodes."""
    numbers = Counter(each.agreement for each in seen.nodes)
    counts = ", ".join(f"{each.value} {numbers[each]:,}" for each in STANDINGS if numbers[each])
    return f"{len(seen.nodes):,} nodes ({counts}). The {MAX_LISTED} worst are listed; observe.json has all of them."


def _row(finding: NodeFinding) -> Row:
    standing = STANDINGS[finding.agreement]
    return Row((Cell((Badge.of(standing, finding.agreement.value),)), *map(Cell, cells_of(finding))), standing)


def _article(finding: NodeFinding, loops: Sequence[CrashLoop]) -> Article | None:
    panels = _panels(finding, loops)
    if not panels:
        return None
    kubelet = Paragraph((Span("kubelet: ", "muted"), finding.kubelet_version))
    return Article(finding.node, (kubelet,), (Figures(panels, look="panels"),), "profile-block")


def _said(finding: NodeFinding) -> Iterable[str]:
    yield from finding.objections
    if finding.note:
        yield f"{finding.note}."


def _panels(finding: NodeFinding, loops: Sequence[CrashLoop]) -> tuple[Figure, ...]:
    """The longest loops of a node beside its configured curve, or else the most likely one."""
    reference = finding.configured or finding.likely
    if reference is None:
        return ()
    longest = sorted(loops, key=lambda loop: -len(loop.waits))[:MAX_PANELS]
    version = KubernetesVersion.parse(finding.kubelet_version)
    curves = [(loop, _curve(loop, reference, finding, version)) for loop in longest]
    drawn = [(f"{finding.node}-{number}", curve) for number, (_, curve) in enumerate(curves) if curve.delays]
    return tuple(each._replace(numbers=None, sub="") for each in panels_of(drawn))


def _curve(loop: CrashLoop, reference: Curve, finding: NodeFinding, version: KubernetesVersion) -> PlottedCurve:
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
        if reading.is_judged and (reading.wait.seen_whole or reading.wait.seconds >= reading.due_s)
    ]
    return PlottedCurve(
        scenario=f"{loop.namespace}/{loop.pod}",
        container=loop.container,
        profile=finding.node,
        standing=STANDINGS[finding.agreement],
        requirements=(),
        delays=tuple(delays),
    )
