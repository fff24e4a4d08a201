"""Excuses of a late restart: proven stalls outside of the kubelet, from the due moment on.

Theory of operation. A stall before the due moment cannot make a restart later: it shifts a sync, and that sync waits for a
share of a smaller rest. From then on the excuse is what the recording proves to have held up the accused, each proof bounded
by the better ones (`history.host`), or what the runtime took to clear an ended process away, which it tells of only then
(containerd internal/cri/server/events.go@v2.3.7 handleContainerExit). Run queues and pressure never excuse delays that are
late by about the same time again and again where control containers speak (`bounds.late_alike`): stalls scatter, and neither
faults nor a slow disk do.
"""

from crashloop.history.host import Held
from crashloop.history.stamps import joined, overlap_ns
from crashloop.restarts.case import Case
from crashloop.spec.scenario import POKE_EVERY_S, Mode
from crashloop.words import seconds


def excuse(
    case: Case,
    window_ns: tuple[int, int] | None,
    due_s: float,
    excess_s: float,
    *,
    repeated: bool = False,
    has_looked: bool = False,
    own_way: bool = False,
) -> str | None:
    """The excuse for `excess_s` after the due moment of that window; None if there is none.

    `window_ns`: from the exit to the create, or to the end of the watch. `due_s`: seconds from its beginning. `has_looked`: the
    kubelet is known to have looked at the end of the window, so that nothing is owed to what makes it look. `own_way`: the
    kubelet does it by itself, so that no quick control container refutes its waits.
    """
    if window_ns is None:
        return "No clock is common to its exit and its start"
    late_ns = late_window(window_ns, due_s)
    host, clocks = case.recording.host, case.recording.clocks
    if not host.covers(*late_ns):
        return "No heartbeat covers that time, so the host may have stood still"
    held = host.kubelet_held(*late_ns) if own_way else host.held(*late_ns)
    # Between a decision and its line in the log there is no work that a slow host makes longer.
    held_s = held.repeated_s if repeated else held.stalls_s if has_looked else held.total_s
    clearing_s = 0.0 if own_way or has_looked else _clearing_s(case, late_ns)
    by = _by(held, held_s, clearing_s)
    held_s = min(held_s + clearing_s, held.length_s)
    shown = f"From the due moment on the host held it up for {seconds(held_s)}{by}"
    if held_s >= excess_s:
        return f"{shown}, as long as the excess or longer"
    unknown_s = host.unknown_s(*late_ns)
    if held_s + unknown_s >= excess_s:
        return f"{shown}, and of the last {seconds(unknown_s)} nothing is known"
    stepped_s = clocks.step_within_ns(*window_ns) / 1e9
    if stepped_s >= excess_s:
        return f"The wall clock jumped by {seconds(stepped_s)} meanwhile"
    is_poked = case.scenario.mode is Mode.ANNOTATED and not has_looked
    return _not_poked(case, window_ns, excess_s) if is_poked else None


def _clearing_s(case: Case, late_ns: tuple[int, int]) -> float:
    """For how long in that time the runtime still cleared away a process of the pods, before it tells any kubelet of the exit."""
    instances = (each for pod in case.pods for of_name in pod.containers.values() for each in of_name)
    return overlap_ns(joined(each.clearing_ns for each in instances if each.clearing_ns), *late_ns) / 1e9


def late_window(window_ns: tuple[int, int], due_s: float) -> tuple[int, int]:
    """The part of a window, exit to create, from the due moment on."""
    from_ns, to_ns = window_ns
    return min(from_ns + round(due_s * 1e9), to_ns), to_ns


def _by(held: Held, held_s: float, clearing_s: float) -> str:
    """What shows that time and what bounds it, in brackets; nothing if nothing does."""
    waits = "run-queue wait of kubelet and runtime" if held.is_named else "CPU pressure of the whole system"
    parts = {
        "missed heartbeats": held.missed_s,
        "slow control containers": held.control_s,
        waits: held.waited_s if held_s > held.but_cpu_s else 0.0,
        "own work as much slower as control containers around": held.slower_s - held.waited_s
        if held_s > held.stalls_s
        else 0.0,
        "I/O or memory pressure": held.blocked_s,
        "a runtime that had not told of an exit yet": clearing_s,
    }
    shown = [f"{what} {seconds(each_s)}" for what, each_s in parts.items() if each_s]
    if held.slowest_control_s is not None:
        shown.append(f"the slowest control container took {seconds(held.slowest_control_s)}")
    return f" ({', '.join(shown)})" if shown else ""


def _not_poked(case: Case, window_ns: tuple[int, int], excess_s: float) -> str | None:
    """In the mode annotated the kubelet owes the short bound only while something makes it look about once a second."""
    pokes = case.recording.pokes
    if pokes is None or pokes.last_ns is None or pokes.longest_ns is None:
        return "The record of the patches that make the kubelet look is not complete"
    if pokes.first_ns - pokes.longest_ns > window_ns[0] or pokes.last_ns + pokes.longest_ns < window_ns[1]:
        return "The pod was not patched during the whole of that time"
    if pokes.longest_ns / 1e9 - POKE_EVERY_S[1] >= excess_s:
        return f"Patches that make the kubelet look were up to {seconds(pokes.longest_ns / 1e9)} apart"
    return None
