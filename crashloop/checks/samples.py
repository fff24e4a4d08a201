"""Checkers of many restarts or starts taken together as a sample: what chance does not explain, though each alone proves nothing.

Theory of operation, lateness. Updates of an annotated pod make the kubelet look at it at random times, 0.7 to 1.3 s apart. So
the lateness of a restart does not depend on its delay, and that of many restarts has a mean and a slope over the delay, each
with an interval of 95 % (least squares, Student's t). A curve that is longer by a few hundredths hides within the bounds of each
single delay and shows in the slope. What is beyond `most` but for a chance of `chance` counts, and only if it does so without
any one of the restarts: a single late one at the longest delay would bend the line.

First restarts. A first restart has no delay, but waits until a relist finds the exit. An exit comes at any moment
between two relists, so of n first restarts some wait hardly at all, and the fastest tenth has a bound far below a period:
chance exceeds it once in ten thousand times. A stall holds up some restarts and leaves the others; only what holds up nine
in ten moves the fastest tenth. On a host with crash loops somebody always waits for a CPU; that is an excuse only beyond its
usual share of the recording, as are missed beats, slow control containers and I/O pressure.

Waits. Where one wait in a hundred may be late, one late wait proves nothing, and several in a few do: as many as chance makes
once in ten thousand times.

Prompt starts. A kubelet finds the success of an init container within a second and starts what stands behind it in the
same sync; what stands behind a sidecar it starts in the sync that has started the sidecar, or at the success of its startup
probe. Where such a sync is lost, the next comes 10 s to 16 s later, which no text forbids: one in a hundred may. The containers
that one wait holds back count once, by the last of them. Left open are pods that began again meanwhile, and what waits for an
object.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, linear_regression, stdev
from typing import NamedTuple

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.delays import first_restarts
from crashloop.checks.finding import Finding, fail_unless, inconclusive
from crashloop.checks.pooled import CHANCE, fewer_than, least_beyond_chance
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model import student
from crashloop.model.lateness import RELIST_S
from crashloop.restarts.answers import first_success
from crashloop.restarts.case import Case
from crashloop.restarts.dependencies import missing_dependencies
from crashloop.restarts.evidence import blind_spot, why_they_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.restart import restarts
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.pod import Container, ContainerKind, ProbeKind
from crashloop.words import count, seconds

CONFIDENCE = 0.95
LATE_SHARE = 0.01
"""Of waits that may be late."""
PROMPT_S = 5.0
"""In quick runs 51 waits took 0.0 s to 1.0 s; the rest is room for a slow host."""
RELIST_TO_CREATE_S = 0.35
"""The time of relist, sync and create. The fastest tenth of 22 took 0.12 s to 0.34 s in runs on a calm or busy host, 0.55 s
beside disk load, of 0.77 s with it."""
ESTIMATE = "estimate"
"""Key of `Checked.facts`: the value in words."""

DELAYS = Need("delays", 8, "delay", "of various lengths", is_shown=False)
FIRST_RESTARTS = Need("restarts", 9, "first restart", is_shown=False)
WAITS = Need("waits", 9, "wait", is_shown=False)


class LateRestart(NamedTuple):
    """A restart: what was due, by how much it was later, and the most that its bound and the shown stalls account for."""

    due_s: float
    late_s: float
    bound_s: float
    held_s: float


class Estimate(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float
    least: float
    """What it is at least, but for `CHANCE`."""

    def __str__(self) -> str:
        return f"{self.value:.3g} (95 % interval {self.low:.3g} to {self.high:.3g})"


Points = Sequence[tuple[float, float]]
Estimator = Callable[[Points], Estimate | None]


@checker("mean-lateness", DELAYS, compares=True, holds=Holds.DECLARED)
def check_mean_lateness(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """The mean share that lateness has of its bound MUST NOT be shown to exceed `most`."""
    what = "mean lateness as a share of the time allowed for it"
    yield from _too_late_in_all(cases, seen, what, _mean, cases[0].number("most", 0.5), lambda each: each.bound_s)


@checker("lateness-slope", DELAYS, compares=True, holds=Holds.DECLARED)
def check_lateness_slope(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """Lateness MUST NOT be shown to grow by more than `most` seconds per second of delay."""
    what = "slope of lateness over the delay, in seconds per second"
    yield from _too_late_in_all(cases, seen, what, line_through, cases[0].number("most", 0.005), lambda _: 1.0)


def _too_late_in_all(
    cases: Sequence[Case],
    seen: Seen,
    what: str,
    estimator: Estimator,
    most: float,
    scale: Callable[[LateRestart], float],
) -> Iterator[Finding]:
    """A value of lateness, in parts of a scale, that is shown to be beyond `most`."""
    late = tuple(_late_restarts(cases))
    points = [(each.due_s, each.late_s / scale(each)) for each in late]
    estimate = estimator(points)
    seen["delays"] += len(late)
    if len(late) < DELAYS.asked(cases[0]):
        return
    if estimate is None:
        alike = f"{count(len(late), 'delay')} of one length seen, various needed"
        yield inconclusive(f"{alike}: {why_they_ended(cases)}.")
        return
    seen.facts[ESTIMATE] = f"{what}: {estimate} in {count(len(late), 'restart')}"
    seen.facts |= {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    if least_without_any(points, estimator) > most:
        held_s = sum(each.held_s for each in late)
        unheld = [(each.due_s, max(each.late_s - each.held_s, 0.0) / scale(each)) for each in late]
        excused = least_without_any(unheld, estimator) <= most
        doubt = f"The host held restarts up for {seconds(held_s)} in all, which explains it" if excused else None
        yield fail_unless(doubt, f"the {what} is {estimate} in {len(late)} restarts; {most:g} is the most.")


def _late_restarts(cases: Sequence[Case]) -> Iterator[LateRestart]:
    """The restarts after a delay whose create was seen."""
    for case in cases:
        for delay in restarts(case):
            due = delay.due
            if delay.to_create is not None and due.delay_s > 0 and not due.alternatives:
                late_s = delay.to_create.seconds - due.delay_s
                yield LateRestart(due.delay_s, late_s, due.latest_s - due.delay_s, delay.row["stalled_s"])


def mean_of(values: Sequence[float]) -> Estimate | None:
    """None for less than two values."""
    freedom = len(values) - 1
    if freedom < 1:
        return None
    return _estimate(fmean(values), stdev(values) / math.sqrt(len(values)), freedom)


def slope_of(across: Sequence[float], up: Sequence[float]) -> Estimate | None:
    """The slope of the line through the points; None for less than three, or if all lie above each other."""
    freedom = len(across) - 2
    if freedom < 1 or min(across) == max(across):
        return None
    slope, base = linear_regression(across, up)
    rest = sum((y - base - slope * x) ** 2 for x, y in zip(across, up, strict=True))
    spread = stdev(across) * math.sqrt(len(across) - 1)
    return _estimate(slope, math.sqrt(rest / freedom) / spread, freedom)


def _estimate(value: float, error: float, freedom: int) -> Estimate:
    margin = student.quantile((1 + CONFIDENCE) / 2, freedom) * error
    least = value - student.quantile(1 - CHANCE, freedom) * error
    return Estimate(value, value - margin, value + margin, least)


def _mean(points: Points) -> Estimate | None:
    return mean_of([y for _, y in points])


def line_through(points: Points) -> Estimate | None:
    """The slope of the line through points."""
    return slope_of([x for x, _ in points], [y for _, y in points])


def least_without_any(points: Points, estimator: Estimator) -> float:
    """What the value is at least, whichever of the points is left out."""
    found = [estimator([*points[:number], *points[number + 1 :]]) for number in range(len(points))]
    return min(-math.inf if each is None else each.least for each in found)


class FirstRestart(NamedTuple):
    """A first restart: seconds from the exit to the create, and those for which the host is not shown to have held it up."""

    late_s: float
    unheld_s: float
    scenario: str
    lines: tuple[int, ...]


@checker("first-restarts", FIRST_RESTARTS, compares=True, holds=Holds.DECLARED)
def check_first_restarts(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """The fastest tenth of first restarts MUST be created as soon as relists allow."""
    created = sorted(_first_restarts(cases))
    seen["restarts"] += len(created)
    if len(created) < FIRST_RESTARTS.asked(cases[0]):
        return
    fastest = created[: max(1, len(created) // 10)]
    took_s, most_s = fastest[-1].late_s, latest_of_fastest_s(len(fastest), len(created))
    seen.facts[ESTIMATE] = f"the fastest tenth of {len(created)} first restarts within {seconds(took_s)}"
    seen.facts |= {"value": took_s, "most": most_s}
    if took_s > most_s:
        unheld_s = sorted(each.unheld_s for each in created)[len(fastest) - 1]
        doubt = None if unheld_s > most_s else "Stalls that the recordings show explain it"
        sentence = (
            f"the fastest tenth of {len(created)} first restarts, which have no delay, took up to {seconds(took_s)} "
            f"from exit to create; {seconds(most_s)} is the most for a kubelet that looks once a second."
        )
        yield fail_unless(doubt, sentence).at(*((each.scenario, each.lines) for each in fastest))


def latest_of_fastest_s(rank: int, of: int) -> float:
    """Seconds from its exit by which the `rank`-th fastest of so many first restarts is created, but for `CHANCE`."""
    return RELIST_S * _share_for(rank, of) + RELIST_TO_CREATE_S


def _share_for(rank: int, of: int, chance: float = CHANCE) -> float:
    """The share of a period in which, but for that chance, at least `rank` of so many random moments lie; by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        low, high = (share, high) if fewer_than(rank, of, share) > chance else (low, share)
    return high


def _first_restarts(cases: Sequence[Case]) -> Iterator[FirstRestart]:
    for case in cases:
        # Kinds are not mixed: prompt restarts of the application would hide late ones of an init container.
        judged = {each.name for each in case.scenario.pod.of_kind(ContainerKind.INIT) or case.scenario.pod.containers}
        for each in first_restarts(case):
            if each.container in judged and each.to_create is not None and each.window_ns is not None:
                late_s = each.to_create.seconds
                held_s = _unusually_held_s(case, *each.window_ns)
                yield FirstRestart(late_s, max(late_s - held_s, 0.0), case.scenario.name, tuple(each.to_create.lines))


def _unusually_held_s(case: Case, from_ns: int, to_ns: int) -> float:
    """For how long the host held a restart up, but for the usual wait for a CPU; the whole time if no heartbeat covers it."""
    host = case.recording.host
    if not host.covers(from_ns, to_ns):
        return (to_ns - from_ns) / 1e9
    return host.held(from_ns, to_ns).but_cpu_s + host.unusual_wait_s(from_ns, to_ns)


class Wait(NamedTuple):
    """From the event that a create follows to that create."""

    source: str
    """The container whose event it is."""
    took_s: float
    most_s: float
    doubt: str | None
    """Why it may be late without a fault of the kubelet."""
    scenario: str
    lines: tuple[int, ...]

    @property
    def is_late(self) -> bool:
        return self.took_s > self.most_s


def late_waits(waits: Sequence[Wait], seen: Seen, what: str, say: Callable[[int, str], str]) -> Iterator[Finding]:
    """FAIL if more of them are late than chance makes of one in a hundred; `say` has their number and the longest in words."""
    late, least = [each for each in waits if each.is_late], least_beyond_chance(len(waits), LATE_SHARE)
    slowest = f"{what}, the slowest after {seconds(max(each.took_s for each in waits))}"
    if least > len(waits):
        yield inconclusive(f"{slowest}: too few to tell one late in a hundred from more.")
        return
    found = 100 * _share_for(least, len(waits), 1 - CONFIDENCE)
    seen.facts[ESTIMATE] = f"{slowest}; a FAIL in 95 of 100 runs if {found:.0f} % of all are late"
    seen.facts["took_s"] = [round(each.took_s, 3) for each in waits]
    if len(late) >= least:
        excused = [each for each in late if each.doubt is not None]
        doubt = excused[0].doubt if len(late) - len(excused) < least else None
        sentence = f"{say(len(late), seconds(max(each.took_s for each in late)))}; one in a hundred may be as late."
        yield fail_unless(doubt, sentence).at(*((each.scenario, each.lines) for each in late))


def doubt_of(
    case: Case, pod: PodHistory, containers: Iterable[str], window_ns: tuple[int, int], most_s: float
) -> str | None:
    """What may have held a late create of these containers up, or hidden an earlier one; None if it was not late."""
    from_ns, to_ns = window_ns
    beyond_s = (to_ns - from_ns) / 1e9 - most_s
    if beyond_s <= 0:
        return None
    for name in containers:
        blind = blind_spot(case, pod, pod.instances(name), from_ns, to_ns)
        if blind is not None:
            return f"A start could have gone unseen: {blind}"
    disturbed = next((each for each in case.recording.interventions if from_ns <= each.t_ns <= to_ns), None)
    if disturbed is not None:
        return f"The scenario intervened meanwhile (history line {disturbed.line})"
    return excuse(case, window_ns, 0.0, beyond_s)


@checker("prompt-starts", WAITS, compares=True, holds=Holds.DECLARED)
def check_prompt_starts(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """Containers MUST be created within 5 s of what they waited for, in 99 % of all waits."""
    waits = [each for case in cases for each in _waits_for_others(case)]
    seen["waits"] += len(waits)
    if len(waits) >= WAITS.asked(cases[0]):
        what = f"{len(waits)} waits for other containers"
        yield from late_waits(
            waits,
            seen,
            what,
            lambda late, slowest: (
                f"after {late} of {what} of its pod a container was created more than {seconds(PROMPT_S)} after what it "
                f"waited for, up to {slowest} after it"
            ),
        )


def _waits_for_others(case: Case) -> Iterator[Wait]:
    """One entry for each init container that holds others back, if nothing else did."""
    inits, regulars = (case.scenario.pod.of_kind(kind) for kind in (ContainerKind.INIT, ContainerKind.REGULAR))
    for pod in case.pods:
        for index, init in enumerate(inits):
            held = inits[index + 1 : index + 2] or regulars
            measured = [each for container in held if (each := _wait_for(case, pod, init, container)) is not None]
            if measured:
                yield max(measured, key=lambda each: each.took_s)


def _wait_for(case: Case, pod: PodHistory, init: Container, held: Container) -> Wait | None:
    """None where the wait was not seen, or was for something else as well."""
    began = next((each.begun for each in pod.instances(held.name)), None)
    since = None if began is None or began.utc_ns is None else _let_go(init, pod.instances(init.name), began.utc_ns)
    if began is None or began.utc_ns is None or since is None or since.utc_ns is None:
        return None
    from_ns, to_ns = since.utc_ns, began.utc_ns
    if any(missing_dependencies(case, held)) or any(from_ns <= each.t_ns <= to_ns for each in resets_of(case, pod)):
        return None
    doubt = doubt_of(case, pod, (held.name,), (from_ns, to_ns), PROMPT_S)
    return Wait(init.name, (to_ns - from_ns) / 1e9, PROMPT_S, doubt, case.scenario.name, (since.line, began.line))


def _let_go(init: Container, instances: tuple[Instance, ...], before_ns: int) -> Fact | None:
    """When an init container let go of what began at that time; None if a sidecar was down then."""
    if not init.is_sidecar:
        return next((each.exit for each in instances if each.exit_code == 0), None)
    probe = init.probe(ProbeKind.STARTUP)
    if probe is not None:
        return first_success(instances, probe)
    return next((each.start for each in instances if _ran_at(each, before_ns)), None)


def _ran_at(sidecar: Instance, t_ns: int) -> bool:
    started_ns, exited_ns = sidecar.start_ns, sidecar.exit_ns
    return started_ns is not None and started_ns <= t_ns and (exited_ns is None or exited_ns > t_ns)
