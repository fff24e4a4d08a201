"""Every possible error about containers in company, as data: sidecars, init containers, and what ends or probes them."""

from crashloop.sim.distinction_behaviour import DistinctionBehaviour


class CompanyBehaviour(DistinctionBehaviour, frozen=True, kw_only=True):
    """The part of Behaviour about what one container has to do with others, and with why it ended."""

    # The delays (restart_delay.py)
    never_grows: str = ""
    """The restarts whose delay stays as it is: by rule, on failure (under that policy), out of memory,
    success (after an exit with 0), killed (by the kubelet), init, or sidecars."""
    delays_startup_kills: bool = True
    second_curve_expiry_ns: int | None = None
    """Age above which an entry is forgotten where the curve begins with 1 s; None: as everywhere."""
    forgets_on_label: bool = False
    held_ends_starts: bool = False
    """Starts nothing that stands behind a container that waits for its delay."""

    # The rules (policy.py)
    not_in_up_to: int = 255
    """The largest exit code that NotIn takes."""
    rules_end_at_not_in: bool = False
    """Looks at no rule behind one with NotIn."""
    kills_by_pod_policy: bool = False
    """Goes by the pod's policy when it kills a container."""
    reset_spares_waiting: bool = False
    """RestartAllContainers leaves containers that wait to their delay."""
    resets_under_never_only: bool = False
    """Takes RestartAllContainers for Restart in pods that are not under Never."""
    reset_late_in_larger_ns: int = 0
    """How late it carries RestartAllContainers out in pods with init containers that end or of more than two containers."""

    changes_heed_policy: bool = False
    """Starts a container whose image has changed again only if its policy says so."""

    # What probes wait for (prober.py)
    initial_delay: str = "since each start"
    """From when initialDelaySeconds count: since each start or since the first start; or they are halved or ignored."""

    # How long what a probe has killed may go on (prober.py)
    probe_grace: str = "its own"
    """The grace period where pod and probe have one: its own, the pod's, the longer, the shorter, or none. Or its own for
    every kill, or 30 s for every kill."""

    # What is said of probed containers (prober.py, statements.py)
    ready_after: str = "successThreshold"
    """Successes in a row that make a container ready: successThreshold, one, one more, or in any order."""
    stays_ready: bool = False
    """A container that was ready is ready in its next life until its probe fails."""
    states_started: str = "by its life"
    """What `started` follows: by its life, by any life, running, ever (whatever has run), or never."""

    # Hooks that fail (kubelet.py, policy.py, restart_delay.py)
    kills_by_hook_ns: tuple[int | None, int | None] = (0, 0)
    """How long after its hook has failed a container is killed, at the first start and at each later one; None: never."""
    delays_hook_kills: bool = True
    restarts_hook_kills: bool = True

    # What is left of exited containers (kubelet.py, statements.py)
    drops_previous_log: str = "never"
    """After which ends a restart removes the log of the instance before: always, a success, a kill, or out of memory; or from the
    seventh restart on, of init containers, or in company (of pods with several containers)."""
    states_last_words: str = "true"
    """The message of an end: true (what the life has left), none, not in the last state, before (what the instance before has
    left), or first (what the first instance has)."""
    states_out_of_memory: str = "always"
    """Where a kill for memory has its own reason: always, never, not in the last state; or every exit with 137 has it."""

    # The pod's active deadline (deadline.py, sync.py, statements.py)
    deadline: str = "kept"
    """Kept, ignored, halved, late, or since each start; stated only; kills only; or without its reason."""

    # Sidecars and init containers (pod_actions.py, kubelet.py)
    deaf_to_sidecars: str = ""
    """The kind of probe whose failure does not kill a sidecar."""
    awaits_sidecars: bool = True
    """Starts what stands behind a sidecar only when its startup probe has succeeded."""
    init_holds_sidecars: bool = False
    """Restarts no sidecar before the pod's init containers are done."""
    sidecars_hold_regular: bool = False
    """Restarts no regular container while a sidecar is down."""
    restart_takes_done_along: bool = False
    """Runs containers that are done again when it restarts another one of their pod."""
    init_starts_over: bool = False
    """Runs the init containers before one again when it restarts that one."""
    starts_behind_init_late_ns: int = 0
    """How late it starts regular containers for the first time in pods with init containers or sidecars."""
    repeats_init_at_restart: bool = False
    """Runs init containers again when it is restarted itself while no regular container runs."""
    kills_sidecars_at_restart: bool = False
    probes_end_at_restart: bool = False
    """Asks running containers no probes once it was restarted."""
    rebuilds_running: bool = False
    """Makes counters of running containers from their restartCounts when it is restarted."""

    # Pulls that meet (puller.py)
    pulls_at_once: bool = False
    """A pull does not wait for the one before it on the node."""
    pull_times: str = "true"
    """The times that the Event of a pull states: true, without wait, wait as pull, wait twice, or none."""
