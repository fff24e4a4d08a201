"""Checkers of the start-up after RestartAllContainers: its order, and the containers that it leaves alone."""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot
from crashloop.restarts.lives import first_begun, ran
from crashloop.restarts.restart_all import RestartAllTrigger, resets_of, started_after
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines

MIN_RESETS = 1


def check_restart_all_order(case: Case) -> Checked:
    """After RestartAllContainers, each container MUST wait for the init containers before it, as at the pod's first start.

    Needs min_resets (1) resets after which a container started that waits for an init container.
    """
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods:
        for reset, end_ns in _resets_until_next(case, pod):
            started = [each for each in _start_up(case, pod, reset, end_ns) if each.awaited is not None]
            seen += bool(started)
            findings += [_objection(case, pod, reset, each) for each in started if each.too_early]
    if not findings:
        findings += too_few(case, seen, "min_resets", MIN_RESETS, "ordered start-up")
    return Checked(findings=tuple(findings), facts={"resets": seen})


def check_ephemeral_kept(case: Case) -> Checked:
    """RestartAllContainers MUST NOT end an ephemeral container, nor start it again.

    Needs an ephemeral container that ran when min_resets (1) resets were carried out.
    """
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods:
        for spec in case.scenario.pod.of_kind(ContainerKind.EPHEMERAL):
            for reset, end_ns in _resets_until_next(case, pod):
                instance = _running_at(ran(pod, spec.name), reset.t_ns)
                if instance is None or started_after(pod, reset, end_ns) is None:
                    continue
                seen += 1
                findings += _touched(case, pod, spec, reset, instance, end_ns)
    if not findings:
        rest = "beside a running ephemeral container"
        findings += too_few(case, seen, "min_resets", MIN_RESETS, "reset", rest)
    return Checked(findings=tuple(findings), facts={"resets": seen})


class _Start:
    """The first start of a container after a reset, and the init container that it had to wait for."""

    def __init__(self, spec: Container, start: Fact, awaited: Container | None, ready: Fact | None) -> None:
        self.spec, self.start, self.awaited, self.ready = spec, start, awaited, ready

    @property
    def too_early(self) -> bool:
        """Whether it came before the awaited init container had run again."""
        return self.ready is None or (self.start.utc_ns or 0) < (self.ready.utc_ns or 0)


def _start_up(case: Case, pod: PodHistory, reset: RestartAllTrigger, end_ns: int) -> Iterator[_Start]:
    """In the order in which the pod's containers have to start."""
    awaited: Container | None = None
    ready: Fact | None = None
    of_kind = case.scenario.pod.of_kind
    for spec in (*of_kind(ContainerKind.INIT), *of_kind(ContainerKind.REGULAR)):
        instances = ran(pod, spec.name)
        again = first_begun(instances, reset.latest_ns, end_ns)
        start = again.begun if again else None
        if start is not None:
            yield _Start(spec, start, awaited, ready)
        if spec.kind is ContainerKind.INIT:
            awaited, ready = spec, start if spec.is_sidecar else _success(instances, reset.latest_ns, end_ns)


def _objection(case: Case, pod: PodHistory, reset: RestartAllTrigger, each: _Start) -> Finding:
    assert each.awaited is not None
    lines = (reset.exited.line, each.start.line, *((each.ready.line,) if each.ready else ()))
    what = "had started again" if each.awaited.is_sidecar else "had run again"
    sentence = (
        f'after the exit of "{reset.container}", "{each.spec.name}" was started before "{each.awaited.name}" {what} '
        f"{at_lines(lines)}; {reset.decided.step}, which begins with the init containers in their order."
    )
    instances = pod.instances(each.awaited.name)
    blind = blind_spot(case, pod, instances, reset.t_ns, each.start.utc_ns or reset.t_ns)
    return fail_unless(blind and f"But {blind}", sentence, *lines)


def _touched(
    case: Case, pod: PodHistory, spec: Container, reset: RestartAllTrigger, instance: Instance, end_ns: int
) -> Iterator[Finding]:
    """What a reset did to an ephemeral container that was running and would have gone on."""
    again = first_begun(ran(pod, spec.name), reset.t_ns, end_ns)
    ended = instance.exit
    left_alone = f"{reset.decided.step}, which leaves ephemeral containers alone"
    if again is not None and (start := again.begun) is not None:
        lines = (reset.exited.line, start.line)
        yield fail(f'"{spec.name}" was started again {at_lines(lines)}; {left_alone}.', *lines)
    elif ended is not None and ended.utc_ns is not None and ended.utc_ns < end_ns and not _by_itself(spec, instance):
        lines = (reset.exited.line, ended.line)
        yield fail(f'"{spec.name}" was ended {at_lines(lines)}; {left_alone}.', *lines)
    elif blind := blind_spot(case, pod, pod.instances(spec.name), reset.t_ns, end_ns):
        yield inconclusive(f'an end of "{spec.name}" could have gone unseen: {blind}.', reset.exited.line)


def _by_itself(spec: Container, instance: Instance) -> bool:
    """Whether the program of an ephemeral container, which has one life, ended it."""
    lives = spec.program.each_life()
    return bool(lives) and instance.exit_code == lives[0].exit_code


def _resets_until_next(case: Case, pod: PodHistory) -> Iterator[tuple[RestartAllTrigger, int]]:
    """Each reset that was seen, and the time of the next one, or of the end of the pod or recording."""
    resets = resets_of(case, pod)
    gone_ns = pod.deleted.utc_ns if pod.deleted else None
    ends_ns = (*(each.t_ns for each in resets[1:]), gone_ns or case.recording.end_ns)
    return ((each, end_ns) for each, end_ns in zip(resets, ends_ns, strict=False) if each.is_seen)


def _success(instances: tuple[Instance, ...], from_ns: int, to_ns: int) -> Fact | None:
    """The first exit with 0 of an instance that began in that time."""
    begun = (each for each in instances if from_ns <= (each.begun_ns or 0) < to_ns)
    return next((each.exit for each in begun if each.exit_code == 0), None)


def _running_at(instances: tuple[Instance, ...], t_ns: int) -> Instance | None:
    return next(
        (
            each
            for each in instances
            if each.start
            and (each.start_ns or 0) < t_ns
            and (each.exit is None or (each.exit_ns is not None and each.exit_ns > t_ns))
        ),
        None,
    )
