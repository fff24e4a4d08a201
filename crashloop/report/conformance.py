"""The document of a conformance run."""

from crashloop.report.curves import PlottedCurve
from crashloop.report.deviations import deviations
from crashloop.report.document import (
    Article,
    Block,
    CurveKey,
    Document,
    Figure,
    Figures,
    Listing,
    Medium,
    Pairs,
    Paragraph,
    Section,
    Span,
)
from crashloop.report.flatten import config_yaml, flattened
from crashloop.report.headline import headline
from crashloop.report.panels import panels_of
from crashloop.report.results import ProfileSummary, Results, RunResults
from crashloop.report.text import seconds, took
from crashloop.report.timeline_svg import timeline_svg
from crashloop.report.verdicts import panel_anchor, timeline_anchor, verdict_sections

PAGE = Medium.PAGE
NOTE = (
    "The kubelet's actual behaviour. The history matches the prediction of the deviating model, so these verdicts do not "
    "fail the run; a deviation that is gone does."
)


def conformance_document(results: Results) -> Document:
    """Verdicts, curves, known deviations, environment, and how to reproduce the run."""
    said = headline(results)
    return Document(
        title=f"{said.standing.label}: crashloop {results.suite}, Kubernetes {results.kubernetes_version}",
        kicker=(
            f"crashloop {results.suite} · Kubernetes {results.kubernetes_version} · provider {results.provider}"
            f"{_image(results)} · scope {results.scope}"
        ),
        headline=said,
        tally=tuple(results.counts.items()),
        facts=facts_of(results),
        exit_code=results.exit_code,
        coverage="" if results.coverage is None else results.coverage.sentence,
        sections=(
            *verdict_sections(results),
            Section("curves", "Profiles and curves", _profiles(results), PAGE),
            Section("timelines", "What happened", _timelines(results), PAGE),
            Section("deviations", "Known deviations", deviations(results, NOTE), PAGE),
            Section("environment", "Environment", environment(results.environment), PAGE),
            Section("reproduce", "Reproduce", _reproduce(results), PAGE),
        ),
        origin=f"Written by crashloop {results.crashloop_version} from results.json ({results.format}).",
    )


def facts_of(results: RunResults) -> tuple[tuple[str, str], ...]:
    """The circumstances of any run."""
    return (
        ("run", results.run or "–"),
        ("started", f"{results.started:%Y-%m-%d %H:%M:%S %Z}"),
        ("took", took(results.finished - results.started)),
        ("crashloop", results.crashloop_version),
    )


def environment(facts: dict[str, object]) -> tuple[Block, ...]:
    """environment.json, or a note that it is missing."""
    rows = tuple(flattened(facts))
    return (Pairs(rows) if rows else Paragraph("environment.json was not written.", "muted"),)


def _image(results: Results) -> str:
    """The image of the nodes, if they are made from one."""
    image = results.environment.get("node_image")
    return f" (nodes of {image})" if isinstance(image, str) else ""


def _profiles(results: Results) -> tuple[Block, ...]:
    """Profiles with plots first: those without were only tried."""
    if not results.profiles:
        return ()
    curves = [(panel_anchor(position), curve) for position, curve in enumerate(results.curves)]
    by_profile = {each.name: [pair for pair in curves if pair[1].profile == each.name] for each in results.profiles}
    ordered = sorted(results.profiles, key=lambda each: not by_profile[each.name])
    note = (
        "Every profile is one node. A plot shows the delays of one container, from the exit of an instance to the next; all "
        "plots of a profile share an axis, logarithmic where delays span more than a factor of eight. In a natural scenario "
        "nothing touches the pod, so the kubelet's own lateness shows; in an annotated one a patch every 0.7 to 1.3 s makes "
        "the kubelet sync the pod, so the due delay itself shows."
    )
    return (Paragraph(note, "note"), CurveKey(), *(_profile(each, by_profile[each.name]) for each in ordered))


def _timelines(results: Results) -> tuple[Block, ...]:
    figures = tuple(
        Figure(
            heading=(Span(each.scenario, "scenario"), f" ({each.profile})"),
            svg=timeline_svg(each, name=timeline_anchor(position)),
            caption=f"Pod {each.pod}, {seconds(each.length_s)} s.",
            emphasis="muted",
            anchor=timeline_anchor(position),
        )
        for position, each in enumerate(results.timelines)
    )
    note = (
        "The pods behind every FAIL, ERROR, INCONCLUSIVE and known deviation. Solid bars are instances of a container by the "
        "ground truth, pale bars the windows in which restarts were due; the lanes below show the statements of the kubelet. "
        "Each part has a title with its time and its line of the history. Kubernetes Events are merged, limited and dropped on "
        "their way: nothing is judged by them."
    )
    return (Paragraph(note, "note"), Figures(figures, look="timelines")) if figures else ()


def _profile(profile: ProfileSummary, curves: list[tuple[str, PlottedCurve]]) -> Article:
    facts = (("due", profile.curve), ("kubelet", profile.kubernetes_version), ("binary", profile.kubelet_binary))
    plots: Block = Figures(panels_of(curves), look="panels")
    return Article(
        profile.name,
        (
            *(Paragraph((Span(f"{name}: ", "muted"), text)) for name, text in facts if text),
            *((Paragraph(profile.description),) if profile.description else ()),
            *(Listing(config_yaml(each)) for each in (profile.config, *profile.drop_ins)),
        ),
        beside=(plots if curves else Paragraph("No delay was judged on this profile.", "muted"),),
        look="profile-block",
    )


def _reproduce(results: Results) -> tuple[Block, ...]:
    again = (
        f"pytest suites/{results.suite} --provider {results.provider} --scope {results.scope} "
        f"--kubernetes-version {results.kubernetes_version}"
    )
    return (
        Paragraph("Judge the recording again; no cluster is needed, and the same checkers give the same verdict:"),
        Listing(f"crashloop analyze {results.run or 'RUN'}"),
        Paragraph("Repeat the run on your own cluster; run.json has every resolved setting:"),
        Listing(again),
        files_of(
            "plan.json",
            "results.json",
            "recorder.log",
            rest="history/ with one file per scenario, logs/ with every component's log.",
        ),
    )


def files_of(*files: str, rest: str) -> Paragraph:
    """Where the evidence is."""
    links = [part for file in files for part in (Span(file, "code", file), ", ")]
    return Paragraph(("The run directory holds the evidence: ", *links, rest), "note")
