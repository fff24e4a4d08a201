"""The part of a report about known deviations."""

from crashloop.report.document import Article, Block, Bullets, Paragraph, Span
from crashloop.report.results import DeviationText, Results
from crashloop.report.verdicts import web_link


def deviations(results: Results, note: str) -> tuple[Block, ...]:
    """An article per known deviation with its verdicts, below a note; nothing without any."""
    if not results.deviations:
        return ()
    return (Paragraph(note, "note"), *(_deviation(each, results) for each in results.deviations))


def _deviation(deviation: DeviationText, results: Results) -> Article:
    link = deviation.link or ""
    verdicts = [each for each in results.verdicts if each.deviation == deviation.id]
    return Article(
        deviation.id,
        (
            Paragraph(deviation.sentence or "Not in the deviations.yaml that judged this run."),
            *((Paragraph(deviation.evidence, "muted"),) if deviation.evidence else ()),
            *((Paragraph((Span(link, "" if web_link(link) else "code", web_link(link)),)),) if link else ()),
            Bullets(
                tuple(
                    (
                        Span(each.requirement, "id"),
                        " in ",
                        Span(each.scenario, "scenario"),
                        f" ({each.profile}){': ' if each.findings else ''}",
                        Span("\n".join(each.findings), "said"),
                    )
                    for each in verdicts
                )
            ),
        ),
        look="deviation",
    )
