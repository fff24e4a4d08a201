"""The document of a conformance run: its headline with its meaning and what to do next, verdicts, curves, and what happened."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

from crashloop.errors import UsageError
from crashloop.model.gates import judged_by
from crashloop.report.causes import answer, causes_of
from crashloop.report.curves import PlottedCurve, panels_of
from crashloop.report.document import (
    Article,
    Block,
    CurveKey,
    Document,
    Figure,
    Figures,
    Headline,
    Listing,
    Medium,
    Pairs,
    Paragraph,
    Section,
    Span,
)
from crashloop.report.results import ProfileSummary, Results, RunResults, analyze_again, run_again
from crashloop.report.standing import Standing
from crashloop.report.text import config_yaml, counted, flattened, seconds, took
from crashloop.report.timeline import timeline_svg
from crashloop.report.verdicts import deviations, panel_anchor, timeline_anchor, verdict_sections
from crashloop.spec.requirement import Basis
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict


def headline(results: Results) -> Headline:
    """The headline of a run. Its standing is that of the worst verdict which no known deviation explains."""
    standing = Standing(results.outcome.value)
    number = results.counts[standing]
    if not results.verdicts:
        return Headline(
            standing,
            "Nothing was judged.",
            "No requirement was selected, so this run proves nothing about Kubernetes.",
            "Select tests with --scope, or by path.",
        )
    return Headline(standing, *_WORDS[standing](results, number))


def _fail_words(results: Results, number: int) -> tuple[str, str, str]:
    broken = {verdict.requirement for verdict in results.verdicts if verdict.fails_the_run}
    causes = causes_of(results)
    found = sum(each.standing is Standing.FAIL for each in causes)
    return (
        f"{answer(results, causes)}: {counted(found, 'cause breaks', 'causes break')} "
        f"{counted(len(broken), 'requirement')}{_by_basis(results, broken)}.",
        f"{counted(number, 'verdict')} {'accuses' if number == 1 else 'accuse'} {_kubernetes_and_kubelets(results)}. "
        "The container runtime's events or the containers' own journals prove the breach, and neither the host nor lost "
        "evidence explains it.",
        "Read the causes, then the lines of the history that they quote. "
        "If upstream knows about it, describe it in deviations.yaml; if not, this run directory is the bug report.",
    )


def _kubernetes_and_kubelets(results: Results) -> str:
    """`Kubernetes 1.37.1`; where kubelets have versions of their own, with all that the run has."""
    cluster = results.kubernetes_version
    kubelets = {each.kubernetes_version or cluster for each in results.profiles}
    named = f" (kubelets {', '.join(sorted(kubelets))})" if kubelets - {cluster} else ""
    own = f" with your kubelet {results.kubelet_binary}" if results.kubelet_binary else ""
    return f"Kubernetes {cluster}{named}{own}"


def _by_basis(results: Results, broken: Iterable[str]) -> str:
    """`: 1 of a promise, 1 of the source`; empty where a catalogue did not say."""
    bases = Counter(results.requirement(name).basis for name in broken)
    parts = [f"{bases[basis]} of {words}" for basis, words in _BASES_IN_WORDS.items() if bases[basis]]
    return f": {', '.join(parts)}" if parts and not bases[None] else ""


_BASES_IN_WORDS = {Basis.PROMISE: "a promise", Basis.SOURCE: "the source"}


def _error_words(_: Results, number: int) -> tuple[str, str, str]:
    return (
        f"{counted(number, 'verdict')} could not be reached.",
        "The fault lies with this suite or the host, not with Kubernetes; the recording is kept.",
        "Read the findings and recorder.log. After a fix of the suite judge the same history again: see Reproduce.",
    )


def _inconclusive_words(results: Results, number: int) -> tuple[str, str, str]:
    if number == 0 and results.coverage is not None:
        return (
            f"Too little was judged: {results.coverage.sentence}",
            "Nothing that was judged accuses Kubernetes, but a run that judges so little proves little.",
            "The findings name what was missing. Give the run what it lacks, or lower --at-least.",
        )
    return (
        f"Evidence is missing for {counted(number, 'verdict')}.",
        "Nothing accuses Kubernetes, but the recording does not suffice to prove that the requirement holds.",
        "The findings name the missing evidence. Repeat the run on a quieter host, or with a wider --scope.",
    )


def _pass_words(results: Results, number: int) -> tuple[str, str, str]:
    shown, wrong = results.counts.get(Standing.REPORTED, 0), results.counts.get(Standing.TEXT, 0)
    besides = f"; {counted(shown, 'verdict is', 'verdicts are')} only reported" if shown else ""
    besides += f"; {counted(wrong, 'text', 'texts')} with wrong sums" if wrong else ""
    others = "other " if results.counts[Standing.DEVIATION] else ""
    return (
        f"{_kubernetes_and_kubelets(results)} {_kept_in_words(results, number)}{besides}.",
        f"All {others}judged requirements hold in both directions, with at least the evidence that they require.",
        "Nothing. The run directory can be judged again at any time.",
    )


def _kept_in_words(results: Results, passes: int) -> str:
    """What is kept, what is known to be broken, and where that is seen most."""
    known = [each for each in results.verdicts if Standing.of(each) is Standing.DEVIATION]
    if not known:
        as_documented = f"restarts containers as documented: {counted(passes, 'verdict passes', 'verdicts pass')}"
        return as_documented if passes else "was measured only, and nothing was judged that could fail"
    broken = {each.requirement for each in known}
    kept = {each.requirement for each in results.verdicts if Standing.of(each) is Standing.PASS} - broken
    most = max(known, key=lambda each: _failed_pods(each)[0])
    failed, pods = _failed_pods(most)
    where = f" ({failed} of {counted(pods, 'pod')})" if pods else ""
    breaks = f"breaks {len(broken)} that it is known to break, above all {most.requirement}{where}"
    return f"keeps {counted(len(kept), 'requirement')} and {breaks}" if kept else breaks


def _failed_pods(verdict: Verdict) -> tuple[int, int]:
    """Of a verdict on every pod, those that did not keep the requirement, and all of them."""
    pods = verdict.facts.get("pods")
    return (pods.get(Outcome.FAIL.value, 0), sum(pods.values())) if isinstance(pods, dict) else (0, 0)


def _skipped_words(results: Results, _: int) -> tuple[str, str, str]:
    return (
        f"Nothing was judged: {counted(len(results.verdicts), 'verdict')} skipped.",
        "The provider, the Kubernetes version or the feature gates lack a need of the selected requirements.",
        "The findings name the missing needs.",
    )


_WORDS = {
    Standing.FAIL: _fail_words,
    Standing.ERROR: _error_words,
    Standing.INCONCLUSIVE: _inconclusive_words,
    Standing.PASS: _pass_words,
    Standing.SKIPPED: _skipped_words,
}


PAGE = Medium.PAGE
DEVIATIONS_NOTE = (
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
            f"{_node_image(results)} · scope {results.scope}"
        ),
        headline=said,
        tally=tuple(results.counts.items()),
        facts=(
            *((("judged by", f"the rules of {results.model_version}, as asked for"),) if results.model_version else ()),
            *facts_of(results),
            *((("control", results.control.sentence),) if results.control else ()),
        ),
        exit_code=results.exit_code,
        coverage="" if results.coverage is None else results.coverage.sentence,
        sections=(
            *verdict_sections(results),
            Section("curves", "Profiles and curves", _profile_blocks(results), PAGE),
            Section("timelines", "What happened", _timeline_blocks(results), PAGE),
            Section("deviations", "Known deviations", deviations(results, DEVIATIONS_NOTE), PAGE),
            Section("environment", "Environment", environment(results.environment), PAGE),
            Section(
                "reproduce",
                "Reproduce",
                reproduce(
                    analyze_again(results),
                    run_again(results),
                    *("plan.json", "results.json", "recorder.log"),
                    rest="history/ with one file per scenario, logs/ with every component's log.",
                ),
                PAGE,
            ),
        ),
        origin=f"Written by crashloop {results.crashloop_version} from results.json ({results.format}).",
    )


def facts_of(results: RunResults) -> tuple[tuple[str, str], ...]:
    """The circumstances of any run."""
    newer = judged_by(_versions(results))
    return (
        *((("judged by", newer),) if newer else ()),
        ("run", results.run or "–"),
        ("started", f"{results.started:%Y-%m-%d %H:%M:%S %Z}"),
        ("took", took(results.finished - results.started)),
        ("crashloop", results.crashloop_version),
    )


def _versions(results: RunResults) -> Iterator[KubernetesVersion]:
    """Those of the cluster and of the kubelets that ran."""
    nodes = results.environment.get("nodes") or ()
    of_nodes = (each.get("kubelet") for each in nodes if isinstance(each, dict))
    for version in (results.kubernetes_version, *of_nodes):
        with suppress(UsageError):
            yield KubernetesVersion.parse(str(version or ""))


def environment(facts: dict[str, object]) -> tuple[Block, ...]:
    """environment.json, rows of equal values as one; or a note that it is missing."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, value in flattened(facts):
        group, _, own = name.partition(".")
        alike.setdefault((group, value), []).append(own)
    rows = tuple(
        (f"{group}.{names[0]}" if names[0] else group, value)
        if len(names) == 1
        else (f"{len(names)} {group}" if group == "nodes" else group, f"{', '.join(names)}: {value}")
        for (group, value), names in alike.items()
    )
    return (Pairs(rows) if rows else Paragraph("environment.json was not written.", "muted"),)


def _node_image(results: Results) -> str:
    """The image of the nodes, if they are made from one."""
    image = results.environment.get("node_image")
    return f" (nodes of {image})" if isinstance(image, str) else ""


def _profile_blocks(results: Results) -> tuple[Block, ...]:
    """Profiles with plots first: those without were only tried."""
    if not results.profiles:
        return ()
    curves = [(panel_anchor(position), curve) for position, curve in enumerate(results.curves)]
    by_profile = {each.name: [pair for pair in curves if pair[1].profile == each.name] for each in results.profiles}
    ordered = sorted(results.profiles, key=lambda each: not by_profile[each.name])
    note = (
        "Every profile is one node. A plot shows the delays of one container, from the exit of an instance to the next, on an "
        "axis of its own, logarithmic where delays span more than a factor of eight. In a natural scenario "
        "nothing touches the pod, so the kubelet's own lateness shows; in an annotated one a patch every 0.7 to 1.3 s makes "
        "the kubelet sync the pod, so the due delay itself shows."
    )
    return (
        Paragraph(note, "note"),
        CurveKey(),
        *(_profile_article(each, by_profile[each.name]) for each in ordered),
    )


def _timeline_blocks(results: Results) -> tuple[Block, ...]:
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
    shown = Figures(figures, look="timelines", folded=counted(len(figures), "pod"))
    return (Paragraph(note, "note"), CurveKey("timelines"), shown) if figures else ()


def _profile_article(profile: ProfileSummary, curves: list[tuple[str, PlottedCurve]]) -> Article:
    facts = (("due", profile.curve), ("kubelet", profile.kubernetes_version), ("binary", profile.kubelet_binary))
    outside = sum(each.is_outside for _, curve in curves for each in curve.delays)
    seen = (counted(len(curves), "curve") if curves else "no delay judged") + (
        f", {counted(outside, 'delay')} outside" if outside else ""
    )
    return Article(
        f"{profile.name}: {seen}",
        (
            *(Paragraph((Span(f"{name}: ", "muted"), text)) for name, text in facts if text),
            *((Paragraph(profile.description),) if profile.description else ()),
            *(Listing(config_yaml(each)) for each in (profile.config, *profile.drop_ins)),
        ),
        beside=(Figures(panels_of(curves), look="panels"),) if curves else (),
        look="profile-block",
        is_folded=True,
    )


def reproduce(again: str, repeat: str, *files: str, rest: str) -> tuple[Block, ...]:
    """The commands that judge a recording again and that repeat its run, and where the evidence is."""
    links = [part for file in files for part in (Span(file, "code", file), ", ")]
    return (
        Paragraph("Judge the recording again; no cluster is needed, and the same checkers give the same verdict:"),
        Listing(again),
        Paragraph("Repeat the run; run.json has every resolved setting:"),
        Listing(repeat),
        Paragraph(("The run directory holds the evidence: ", *links, rest), "note"),
    )
