"""A restart that was due and was not seen."""

from crashloop.checks.absence import never_back
from crashloop.checks.case import Case
from crashloop.checks.evidence import blind_spot
from crashloop.checks.excuse import excuse
from crashloop.checks.finding import Finding, fail_unless, inconclusive
from crashloop.checks.measured_delay import MeasuredDelay
from crashloop.checks.restart_window import awaits_init, owed_until_ns
from crashloop.checks.text import at_lines, seconds
from crashloop.model.restart import Decision


def missing_restart(case: Case, delay: MeasuredDelay, because: str) -> Finding | None:
    """FAIL if the recording goes on beyond the latest moment allowed and truth shows no start; `because` is the model's step.

    None if there was a start, or if the recording or the pod ends before that moment: then nothing is missing yet.
    """
    exited = delay.exit
    if delay.next is not None or exited is None or exited.utc_ns is None:
        return None
    last = max(delay.due.windows, key=lambda due: due.latest_s)
    latest_s = last.latest_s
    until_ns = min(case.recording.end_ns, owed_until_ns(case, delay.pod) or case.recording.end_ns)
    waited_s = (until_ns - exited.utc_ns) / 1e9
    if waited_s <= latest_s or delay.decided.decision is Decision.STOP or awaits_init(case, delay):
        return None
    window_ns = (exited.utc_ns, until_ns)
    seen = (
        f"{delay.name} did not come within {seconds(waited_s)} after the exit {at_lines([exited.line])}; "
        f"{seconds(delay.due.delay_s)} was due, and {seconds(latest_s)} at the latest: {because}."
    )
    attempted = delay.failed_attempt
    if attempted is not None:
        return inconclusive(f"{seen} A container was created for it and never ran.", exited.line, *attempted.lines)
    blind = blind_spot(case, delay.pod, delay.pod.instances(delay.container), *window_ns)
    if blind is not None:
        return inconclusive(f"{seen} A start could have gone unseen: {blind}.", exited.line)
    gone = never_back(case, until_ns)
    if gone is not None:
        lines = (exited.line, gone)
        return inconclusive(f"{seen} The kubelet was ended meanwhile {at_lines([gone])} and not seen again.", *lines)
    doubt = excuse(case, window_ns, last.delay_s, waited_s - latest_s)
    return fail_unless(doubt, seen, exited.line)
