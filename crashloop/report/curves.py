"""Curves: the delays of one container beside the due ones, from the facts of verdicts to plots, their numbers and words.

The plots of one profile stand side by side on one axis: due, allowed and observed delays. Their SVG has no style of its own
beyond class names, so that it follows the page into the dark and onto paper.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from markupsafe import Markup

from crashloop.report.chart import Scale, grid_line, n, ordinal_ticks, picture, scale_for, text
from crashloop.report.document import Badge, Figure, Inline, Row, Span, Table, row
from crashloop.report.standing import Standing, worst_standing
from crashloop.report.text import anchor_of, seconds
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario, TextScenario
from crashloop.verdict import COMPARED, Verdict

RESOLUTION_S = 0.02
"""A reading this close to the band is drawn inside of it: two stamps of /proc/uptime, of 10 ms resolution."""


class DelayWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The window of a correct restart, in seconds after the exit."""

    due_s: float
    """No start is allowed before it."""
    latest_s: float | None = None
    """Latest time for the kubelet to create the container; None without a bound."""


class ReportedDelay(DelayWindow, frozen=True, kw_only=True):
    """From the exit of an instance to the start of the next, in seconds. The window is the model's."""

    restart: int
    """Number of the restart that ends the delay, from 1."""
    alternatives: tuple[DelayWindow, ...] = ()
    """Other windows that are equally possible by the evidence."""
    seen_s: float | None = None
    """Exit to start; None if the restart was not seen."""
    created_s: float | None = None
    """Exit to the runtime's container create, the kubelet's own decision; None if only the journal saw it."""
    stalled_s: float = 0.0
    """Proven stall of the host during the delay, from the due moment on."""
    channel: str = ""
    """Source: runtime or journal."""
    reason: str = ""
    """Reason of the due delay, by the model."""

    @property
    def windows(self) -> tuple[DelayWindow, ...]:
        """This window and the alternatives; a restart is correct if it fits any of them."""
        return (self, *self.alternatives)

    @property
    def decided_s(self) -> float | None:
        """The closest known time of the kubelet's action; None if the restart was not seen."""
        return self.created_s if self.created_s is not None else self.seen_s

    @property
    def is_early(self) -> bool:
        """Started before every window."""
        return self.seen_s is not None and self.seen_s < min(each.due_s for each in self.windows) - RESOLUTION_S

    @property
    def is_late(self) -> bool:
        """Created after the last window that had begun; without a create the kubelet's action has no known time."""
        if self.created_s is None or self.is_early:
            return False
        latest = self.latest_begun_s
        return latest is not None and self.created_s > latest + RESOLUTION_S

    @property
    def is_outside(self) -> bool:
        """Outside the allowed band; the checkers decide whether that is a FAIL."""
        return self.is_early or self.is_late

    @property
    def is_excusable(self) -> bool:
        """Late by no more than the host's stall, which may be the cause. Nothing excuses an early start."""
        latest = self.latest_begun_s
        if not self.is_late or latest is None or self.created_s is None:
            return False
        return self.created_s - latest <= self.stalled_s

    @property
    def latest_begun_s(self) -> float | None:
        """End of the last window that had begun at the restart; None without a bound."""
        decided = self.decided_s or 0.0
        begun = [each.latest_s for each in self.windows if each.due_s <= decided + RESOLUTION_S] or [self.latest_s]
        bounded = [latest for latest in begun if latest is not None]
        return max(bounded) if len(bounded) == len(begun) else None

    @property
    def lateness_used(self) -> float | None:
        """Share of the allowed lateness that had passed at the create; None without a bound or a create."""
        if self.created_s is None or self.latest_s is None or self.alternatives or self.latest_s <= self.due_s:
            return None
        return max(0.0, (self.created_s - self.due_s) / (self.latest_s - self.due_s))


CAPTIONS: dict[type[AnyScenario], Callable[[Any], str]] = {
    PodScenario: lambda scenario: str(scenario.mode.value),
    StartupScenario: lambda _: "",
    ApiScenario: lambda _: "",
    TextScenario: lambda _: "",
}
"""The mode in which delays were measured; empty for scenarios without delays."""


DELAYS = "delays"
"""Key of `Verdict.facts`; its rows are Delays, with the container's name."""


class PlottedCurve(msgspec.Struct, frozen=True, kw_only=True):
    """All delays of one container of one scenario; in a recreated pod the restarts count from 1 again."""

    scenario: str
    container: str
    profile: str
    mode: str = ""
    """natural or annotated; empty for a scenario that the plan lacks."""
    standing: Standing
    """The worst of the verdicts on these delays."""
    requirements: tuple[str, ...]
    """Ids of the requirements judged on them."""
    delays: tuple[ReportedDelay, ...]


def curves_of(verdicts: Iterable[Verdict], plan: Plan) -> tuple[PlottedCurve, ...]:
    """One curve per scenario and container, in the order of profiles in the plan.

    Several requirements are judged on the same delays. If their expectations differ, the plot shows that of the worst
    verdict.
    Raises msgspec.ValidationError if a row is no Delay.
    """
    judged: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    drawn: dict[tuple[str, str], dict[tuple[int, int], ReportedDelay]] = defaultdict(dict)
    for verdict in sorted(verdicts, key=lambda verdict: Standing.of(verdict).rank):
        for scenario, container, pod, delay in _delays_of(verdict):
            key = scenario, container
            drawn[key].setdefault((pod, delay.restart), delay)
            if verdict not in judged[key]:
                judged[key].append(verdict)
    profiles = {profile.name: position for position, profile in enumerate(plan.profiles)}
    curves = [_plotted_curve(key, judged[key], drawn[key], plan) for key in drawn]
    return tuple(
        sorted(curves, key=lambda each: (profiles.get(each.profile, len(profiles)), each.scenario, each.container))
    )


def facts_of(verdict: Verdict) -> dict[str, dict[str, Any]]:
    """The facts by scenario: of the one that was judged, or of each that was compared."""
    return msgspec.convert(verdict.facts.get(COMPARED) or {verdict.scenario: verdict.facts}, dict[str, dict[str, Any]])


def _delays_of(verdict: Verdict) -> Iterator[tuple[str, str, int, ReportedDelay]]:
    """Scenario, container, pod (0 for the first; a restart that appears again belongs to the next) and delay."""
    for scenario, facts in facts_of(verdict).items():
        seen: Counter[tuple[str, int]] = Counter()
        for fact in msgspec.convert(facts.get(DELAYS, []), list[dict[str, Any]]):
            delay = msgspec.convert(_without_infinity(fact), ReportedDelay)
            container = msgspec.convert(fact.get("container"), str)
            yield scenario, container, seen[container, delay.restart], delay
            seen[container, delay.restart] += 1


def _without_infinity(value: Any) -> Any:
    """No bound is infinity in a verdict that was just made, and null in one that was read from results.json."""
    if isinstance(value, dict):
        return {key: _without_infinity(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinity(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plotted_curve(
    key: tuple[str, str], verdicts: list[Verdict], delays: dict[tuple[int, int], ReportedDelay], plan: Plan
) -> PlottedCurve:
    scenario, container = key
    planned = {each.name: each for each in plan.scenarios}.get(scenario)
    return PlottedCurve(
        scenario=scenario,
        container=container,
        profile=planned.subject if planned is not None else verdicts[0].profile,
        mode=CAPTIONS[type(planned)](planned) if planned is not None else "",
        standing=worst_standing(verdicts),
        requirements=tuple(dict.fromkeys(verdict.requirement for verdict in verdicts)),
        delays=tuple(delays[place] for place in sorted(delays)),
    )


def delay_in_words(delay: ReportedDelay) -> str:
    """One delay, such as `restart 2: created after 12.41 s, started after 12.55 s; 10 s was due`."""
    seen = [f"created after {seconds(delay.created_s)} s"] if delay.created_s is not None else []
    seen += [f"started after {seconds(delay.seen_s)} s"] if delay.seen_s is not None else []
    reason = f" ({delay.reason})" if delay.reason else ""
    allowed = f", allowed up to {seconds(delay.latest_s)} s" if delay.latest_s is not None else ""
    also = "".join(f" or {seconds(each.due_s)} to {seconds(each.latest_s)} s" for each in delay.alternatives)
    stalled = f"; the host was stalled for {seconds(delay.stalled_s)} s" if delay.stalled_s > 0 else ""
    return (
        f"restart {delay.restart}: {', '.join(seen) or 'not seen'}; "
        f"{seconds(delay.due_s)} s was due{reason}{allowed}{also}{stalled}"
    )


def curve_in_words(curve: PlottedCurve) -> str:
    """Position of a curve's delays in the band."""
    outside = [each for each in curve.delays if each.is_outside]
    seen = [each for each in curve.delays if each.decided_s is not None]
    missing = f"; {len(curve.delays) - len(seen)} not seen" if len(seen) < len(curve.delays) else ""
    if outside:
        excuse = ", by no more than the host was stalled" if all(each.is_excusable for each in outside) else ""
        return f"{len(outside)} of {len(seen)} outside the band{excuse}{missing}"
    used = [share for each in seen if (share := each.lateness_used) is not None]
    lateness = f", lateness up to {max(used) * 100:.0f}\N{NO-BREAK SPACE}% of what is allowed" if used else ""
    inside = {0: "no delay seen", 1: "1 delay, inside the band"}.get(len(seen), f"all {len(seen)} inside the band")
    return f"{inside}{lateness}{missing if seen else ''}"


WIDTH, HEIGHT = 280, 176
LEFT, RIGHT, TOP, BOTTOM = 30, 4, 12, 30

WIDEST_BAR = 34
TITLED_MARKS = 60
"""With more marks than this none carries a title of its own: the file stays small, the numbers are in results.json."""


def shared_scale(curves: Iterable[PlottedCurve]) -> Scale:
    """One axis for adjacent plots."""
    delays = [delay for curve in curves for delay in curve.delays]
    windows = [window for delay in delays for window in delay.windows]
    others = [
        *(each.latest_s for each in windows),
        *(value for each in delays for value in (each.seen_s, each.created_s)),
    ]
    return scale_for((each.due_s for each in windows), (value for value in others if value is not None))


def curve_svg(curve: PlottedCurve, scale: Scale, *, title: str, name: str) -> Markup:
    """A curve with at least one delay on an axis. `name` is unique in its page: ids begin with it.

    The allowed band of a restart is a bar from due to latest; a dot is where the kubelet acted, a tick where the process began.
    """
    slot = (WIDTH - LEFT - RIGHT) / len(curve.delays)
    half = min(slot * 0.84, WIDEST_BAR) / 2
    placed = [(LEFT + (position + 0.5) * slot, delay) for position, delay in enumerate(curve.delays)]

    def y(value: float | None) -> float:
        return TOP + (1 - scale.at(scale.high if value is None else value)) * (HEIGHT - TOP - BOTTOM)

    def bar(x: float, each: DelayWindow) -> str:
        top, due = y(each.latest_s), y(each.due_s)
        return f"M{n(x - half)} {n(top)}h{n(2 * half)}v{n(due - top)}h{n(-2 * half)}z"

    windows = [(x, each) for x, delay in placed for each in delay.windows]
    seen = [(x, each) for x, each in placed if each.decided_s is not None]
    labelled = ordinal_ticks([each.restart for each in curve.delays])
    labels = ((x, str(each.restart)) for x, each in placed if each.restart in labelled)
    due = "".join(f"M{n(x - half)} {n(y(each.due_s))}H{n(x + half)}" for x, each in windows)
    started = "".join(f"M{n(x - 5)} {n(y(each.seen_s))}h10" for x, each in seen if each.seen_s is not None)
    body = [
        *(grid_line(y(value), seconds(value), left=LEFT, right=WIDTH - RIGHT) for value in scale.ticks()),
        *(f'<text class="x" x="{n(x)}" y="{HEIGHT - BOTTOM + 15}">{text(label)}</text>' for x, label in labels),
        f'<path class="band" d="{"".join(bar(*each) for each in windows)}"/>',
        f'<path class="due" d="{due}"/>',
        f'<path class="started" d="{started}"/>',
        *(_mark_svg(x, y(each.decided_s), each, titled=len(seen) <= TITLED_MARKS) for x, each in seen),
        f'<text class="axis" x="{LEFT + (WIDTH - LEFT - RIGHT) // 2}" y="{HEIGHT - 3}">restart</text>',
        f'<text class="axis unit" x="2" y="{TOP - 1}">s</text>',
    ]
    return picture(body, size=(WIDTH, HEIGHT), title=title, description=curve_in_words(curve), name=name)


def _mark_svg(x: float, y: float, delay: ReportedDelay, *, titled: bool) -> str:
    """A dot inside the band, a cross outside of it; another cross where the host's stall may be the cause."""
    title = f"<title>{text(delay_in_words(delay))}</title>" if titled else ""
    if not delay.is_outside:
        return f'<circle class="dot" cx="{n(x)}" cy="{n(y)}" r="3.2">{title}</circle>'
    cross = f"M{n(x - 4)} {n(y - 4)}l8 8M{n(x + 4)} {n(y - 4)}l-8 8"
    return f'<path class="out{" excusable" if delay.is_excusable else ""}" d="{cross}">{title}</path>'


MAX_NUMBERS = 40
"""Rows of the table below a plot; results.json holds all of them."""

HEADER = ("#", "due", "latest", "created", "started", "stalled", "why")


def panels_of(curves: Sequence[tuple[str, PlottedCurve]]) -> tuple[Figure, ...]:
    """Plots of one profile; each curve comes with its anchor."""
    return tuple(
        Figure(
            heading=(Span(curve.scenario, "scenario"), f" · {curve.container} ", Badge.of(curve.standing)),
            sub=_requirements_line(curve),
            svg=curve_svg(
                curve,
                shared_scale([curve]),
                title=f'Delays of "{curve.container}" in {curve.scenario} on {curve.profile}',
                name=anchor,
            ),
            caption=curve_in_words(curve),
            emphasis=_caption_look(curve),
            numbers=Table(HEADER, tuple(map(_numbers_row, curve.delays[:MAX_NUMBERS])), look="numbers"),
            left_out=max(0, len(curve.delays) - MAX_NUMBERS),
            anchor=anchor,
        )
        for anchor, curve in curves
    )


def _requirements_line(curve: PlottedCurve) -> tuple[Inline, ...]:
    """The mode, and the requirements judged on these delays."""
    parts: list[Inline] = [f"{curve.mode}: "] if curve.mode else []
    for position, each in enumerate(curve.requirements):
        parts += [", " if position else "", Span(each, href=f"#{anchor_of(each)}")]
    return tuple(parts)


def _caption_look(curve: PlottedCurve) -> str:
    outside = [each for each in curve.delays if each.is_outside]
    if not outside:
        return ""
    return "excusable" if all(each.is_excusable for each in outside) else "outside"


def _numbers_row(delay: ReportedDelay) -> Row:
    """One delay; red if it is outside the band."""
    values = (
        str(delay.restart),
        " or ".join(seconds(each.due_s) for each in delay.windows),
        " or ".join(seconds(each.latest_s) for each in delay.windows),
        *map(seconds, (delay.created_s, delay.seen_s, delay.stalled_s)),
        ", ".join(filter(None, (delay.reason, delay.channel))),
    )
    return row(*values)._replace(look="outside" if delay.is_outside else "")
