"""Every possible error of the simulated kubelet, as data. The defaults are correct; a planted fault changes a few.

Theory of operation. The simulated kubelet does not know the planted fault. It reads its behaviour: the factor by which a
delay grows, whether the key of a counter includes the container's name, the number added to a stated restartCount. So a
fault is a small local change, and a new one is a row in faults.py.
"""

import msgspec

S = 1_000_000_000
"""A second in nanoseconds, the unit of all times in this package."""


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of a kubelet to the questions of this package."""

    # The curve (backoff.py)
    delays: bool = True
    factor: float = 2.0
    linear: bool = False
    capped: bool = True
    cap_before_step: bool = False
    """Compares with the maximum before it doubles, so the last step overshoots."""
    cap_share: float = 1.0
    heeds_max: bool = True
    heeds_reduced_decay: bool = True
    initial_ns: int | None = None
    lowers_initial: bool = True
    expiry_ns: int | None = 600 * S
    """Age of an entry, from the last start attempt, above which it is forgotten; None: never."""
    expiry_in_max: float | None = None
    """Expiry as a multiple of the maximum instead."""
    resets_at_sync: bool = False
    keyed_by_container: bool = True
    keyed_by_uid: bool = True
    forgets_on_status: bool = False
    forgets_on_annotation: bool = False
    survives_restart: bool = False
    first_is_free: bool = True
    early_ns: int = 0
    prompt: bool = False
    """Looks again by a timer of its own, at the very moment the delay has passed."""
    late_factor: float = 1.0
    jitter: float = 0.0
    from_start: bool = False
    delays_success: bool = True
    success_forgets: bool = False
    code_factor: float = 1.0
    """Multiplies the delay after exit codes of 128 and above."""

    # Which container restarts (pod_actions.py)
    operators_swapped: bool = False
    rules_reversed: bool = False
    first_value_only: bool = False
    heeds_rules: bool = True
    rules_on_zero: bool | None = None
    """What every rule says about exit 0, whatever it states; None: what it states."""
    rules_wait: bool = True
    heeds_container_policy: bool = True
    heeds_init_policy: bool = True
    heeds_pod_policy: bool = True
    on_failure_is_always: bool = False
    never_restarts_once: bool = False
    sidecar_rules: bool = False
    repeats_init: bool = False
    waits_for_init: bool = True
    repeats_ephemeral: bool = False
    reset_scope: str = "all"
    """What RestartAllContainers restarts: all, source (the container that exited), or regular (no init containers)."""
    reset_keeps_sandbox: bool = True
    gives_up_after: int | None = None
    """Restarts after which a container is left dead."""
    extra_failures: int = 0
    """Probe failures it waits for beyond the threshold."""
    heeds_probes: bool = True
    siblings_too: bool = False
    """An exit takes the pod's other containers along."""

    # How it restarts (sync.py)
    starts_twice: bool = False
    starts_ahead_ns: int = 0
    """Starts the next instance so long before the running one exits."""
    new_sandbox: bool = False
    kills_at_restart: bool = False
    """Kills running containers when it is restarted itself."""

    # What it states (statements.py)
    count_offset: int = 0
    count_skips: bool = False
    count_drops: bool = False
    count_stuck: bool = False
    failed_while_waiting: bool = False
    always_succeeded: bool = False
    always_failed: bool = False
    never_ends: bool = False
    exit_code_offset: int = 0
    last_exit_code_offset: int = 0
    finished_offset_s: int = 0
    running_while_dead: bool = False
    forgets_last_state: bool = False

    # Its configuration (config.py)
    accepts_invalid: bool = False
    refuses_valid: bool = False
    effective_share: float = 1.0
    """The maximum in effect as a share of the one stated."""
    configz_share: float = 1.0


CORRECT = Behaviour()
