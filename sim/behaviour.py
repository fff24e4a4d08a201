"""Every possible error of the simulated kubelet, as data. The defaults are correct; a planted fault changes a few.

Theory of operation. The simulated kubelet does not know the planted fault. It reads its behaviour: the factor by which a
delay grows, whether the key of a counter includes the container's name, the number added to a stated restartCount. So a
fault is a small local change, and a new one is a row in sim/faults.
"""

from crashloop.spec.pod import RestartPolicy
from sim.context_behaviour import CompanyBehaviour

S = 1_000_000_000
"""A second in nanoseconds, the unit of all times in this package."""


class Behaviour(CompanyBehaviour, frozen=True, kw_only=True):
    """Answers of a kubelet to the questions of this package."""

    # The curve (backoff.py)
    delays: bool = True
    factor: float = 2.0
    linear: bool = False
    capped: bool = True
    cap_before_step: bool = False
    """Compares with the maximum before it doubles, so the last step overshoots."""
    cap_share: float = 1.0
    cap_jitter: float = 0.0
    """Share of a delay at the maximum that is drawn at random: below 0 taken off, above 0 added."""
    caps_pod_total: bool = False
    heeds_max: bool = True
    max_step_ns: int = 1
    """The maximum is rounded down to a multiple of this, and is 1 s at least."""
    heeds_reduced_decay: bool = True
    reduced_lowers_max: bool = True
    reduced_caps_period: bool = False
    """The maximum of the reduced curve, 60 s, caps a configured maximum as well."""
    initial_ns: int | None = None
    lowers_initial: bool = True
    free_restarts: int = 1
    """Restarts without a delay, of which only the first is right."""
    from_start: bool = False
    jitter: float = 0.0
    """Like cap_jitter, of every delay."""
    delays_success: bool = True
    success_factor: float = 1.0
    """Multiplies the delay after exit code 0."""
    code_factor: float = 1.0
    """Multiplies the delay after exit codes of 128 and above."""
    rule_delay_ns: int | None = None
    """Delay of every restart by rule but the first; None: that of the curve."""
    delays_init: bool = True
    delays_sidecars: bool = True
    delays_oom: bool = True
    delays_killed: bool = True
    """Delays the restart of a container that the kubelet itself has killed."""
    delayed_containers: int | None = None
    """Containers of a pod that are delayed, counted from the first; None: all."""
    free_from: int | None = None
    """The restart from which on none is delayed."""
    from_detection: bool = False
    """Measures a delay from when it saw the exit."""
    from_whole_second: bool = False
    """Measures a delay from the exit in whole seconds, as statuses state it."""

    # How punctual it is (backoff.py, pod_worker.py)
    delay_factor: float = 1.0
    early_ns: int = 0
    prompt: bool = False
    """Syncs again by a separate timer, exactly at the end of the delay."""
    skipped_share: float = 0.0
    """Share of the delays that are not waited for."""
    late_ns: int = 0
    late_share: float = 1.0
    """Share of the delays that are longer by `late_ns`."""
    late_from_ns: int = 0
    """Least delay that is longer by `late_ns`."""
    late_from_restart: int = 0
    """The first restart whose delay is."""
    late_every: int = 1
    """Each so many restarts one whose delay is."""
    late_only: str = ""
    """Which restarts alone: `init`, `sidecars`, `by rule`, `on failure`, of `probed` or of `hooked` containers; empty: all."""
    fixed_retry: bool = False
    """Looks at a waiting container every 10 s to 15 s, as up to 1.34."""
    retries_by_longest: bool = False
    """Looks again when the longest of a pod's delays has passed."""
    first_late_ns: int = 0
    first_late_by_rule_ns: int = 0
    """The same of a restart by a restart rule only."""
    first_late_init_ns: int = 0
    """The same of an init container or a sidecar only."""
    looks_every_ns: int | None = None
    """Looks at the pod again so soon after a sync that held back or failed to make a start; None: by its timer."""
    looks_often_above_ns: int = 0
    """Does so only where more than this remains of a delay."""
    slow_retry_above_ns: int | None = None
    """Where more than this remains of a delay, the next look is planned after three times what remains."""

    # The counter (backoff.py, sync.py, kubelet.py)
    expiry_ns: int | None = 600 * S
    """Age of an entry, from the last start attempt, above which it is forgotten; None: never."""
    expiry_in_max: float | None = None
    """Expiry as a multiple of the maximum instead."""
    resets_at_sync: bool = False
    doubles_at_look: bool = False
    forgets_on_status: bool = False
    forgets_on_annotation: bool = False
    success_forgets: bool = False
    code_change_forgets: bool = False
    forgets_every: int | None = None
    """Number of restarts after which a counter is forgotten, again and again."""
    forgets_after_run_ns: int | None = None
    """The least run of an instance after which its counter is forgotten."""
    sibling_forgets: str = "never"
    """When it forgets the counters of a pod's other containers as it restarts one: never, always, or if it was killed."""
    forgets_ready: bool = False
    """Forgets the counter of a container that was ready, where a probe decides that."""
    most_counters: int | None = None
    """Counters that a node keeps; the oldest goes."""
    survives_restart: bool = False
    keyed_by_container: bool = True
    keyed_by_pod: bool = True
    keyed_by_uid: bool = True
    keyed_by_image: bool = True

    # Which container restarts (policy.py, pod_actions.py)
    operators_swapped: bool = False
    rules_reversed: bool = False
    first_rule_only: bool = False
    first_value_only: bool = False
    last_value_ignored: bool = False
    heeds_rules: bool = True
    rules_on_zero: bool | None = None
    """What every rule says about exit 0, whatever it states; None: what it states."""
    rules_see_previous: bool = False
    not_in_any: bool = False
    """NotIn matches if one of its values differs from the exit code."""
    not_in_skips_zero: bool = False
    most_values: int = 255
    """The exit codes of a rule that are looked at."""
    most_rules: int = 20
    """The rules of a container that are looked at."""
    rules_up_to_code: int = 255
    rules_up_to_restart: int | None = None
    """The last restart that a rule decides."""
    rules_without_init: bool = False
    """Heeds rules only in pods without init containers."""
    rules_under_own_never_only: bool = False
    """Heeds the rules of a container only if its own policy is Never."""
    rules_in_first_process: bool = False
    """Does not heed rules once it was restarted."""
    rules_on_init: bool = True
    rules_when_alone: bool = False
    rules_under_never_only: bool = False
    rules_up_to_run_ns: int | None = None
    """Longest run after which rules are heeded."""
    heeds_container_policy: bool = True
    container_policy_ignored_under: RestartPolicy | None = None
    """The restart policy of the pods in which a container's own does not count unless a rule matches."""
    heeds_init_policy: bool = True
    heeds_pod_policy: bool = True
    on_failure_is_always: bool = False
    on_failure_restarts_0_once: bool = False
    on_failure_up_to: int = 255
    """The largest exit code that counts as a failure under OnFailure."""
    never_restarts_once: bool = False
    never_restarts_from: int | None = None
    """The least exit code after which a container under Never is restarted."""
    sidecar_rules: bool = False
    oom_is_failure: bool = True
    """Under OnFailure."""
    sidecars_heed_pod_policy: bool = False
    """Leaves sidecars of pods under Never dead."""
    init_retried_on_failure: bool = True
    """In pods under OnFailure."""
    reruns_at_restart: bool = False
    """Runs containers of pods that go on again once it was restarted, also those that are done."""
    repeats_init: bool = False
    waits_for_init: bool = True
    stops_after_init: bool = False
    """Starts nothing once the first init container has succeeded."""
    stops_at_sidecars: bool = False
    starts_one_regular: bool = False
    rules_gate_means_always: bool = False
    """With the gate of restart rules on, restarts after exit 0 in pods under OnFailure."""
    rules_gate_delays_sidecars: bool = False
    """With the gate of restart rules on, starts sidecars after the regular containers."""
    repeats_ephemeral: bool = False
    gives_up_after: int | None = None
    """Restarts after which a container is left dead."""
    extra_failures: int = 0
    """Probe failures it waits for beyond the threshold."""
    probe_period_factor: int = 1
    heeds_probes: bool = True
    heeds_readiness: bool = True
    ready_for_good: bool = False
    """Takes no readiness back."""
    never_ready: bool = False
    failures_add_up: bool = False
    """Counts failures that are not in a row."""
    accepts_late_answers: bool = False
    without_runtime: str = "no answer"
    """What an exec probe is that the runtime does not carry out: no answer, a failure, fatal, or the last question."""
    startup_asked: str = "every start"
    """When the startup probe is asked: at every start, at the first start, or until its first success."""
    liveness_in_first_life: bool = False
    """Asks liveness probes of the first instance only."""
    awaits_startup: bool = True
    """Whether the other probes wait for the success of the startup probe."""

    # How it restarts (sync.py)
    keeps_exited: int = 1
    """Exited containers of a name that it leaves to the runtime."""
    keeps_each: int = 0
    """Each so manieth container is never removed; 0: none."""
    spare_create: bool = False
    """Creates a container at each restart that it removes without a start."""
    starts_twice: bool = False
    starts_ahead_ns: int = 0
    """Starts the next instance so long before the running one exits."""
    keeps_root: str = "never"
    """When the next instance runs in the root filesystem of the last: never, always, after 0, or sometimes (each third)."""
    remounts: str = "never"
    """When it mounts the pod's volumes anew for the next instance: as above."""
    new_sandbox: bool = False
    new_sandbox_each: int | None = None
    """Makes a new sandbox at each so manieth restart."""
    new_sandbox_without_rules: bool = False
    new_sandbox_runs_all: bool = False
    """A pod that has lost its sandbox runs all its containers again, also those that are done."""
    siblings_too: bool = False
    """An exit takes the pod's other containers along."""
    siblings_wait: bool = False
    kills_hard: str = "nothing"
    """Which containers it kills without SIGTERM (`SimPod.is_among`)."""
    kills_at_restart: str = "nothing"
    """Which running containers it kills when it is restarted itself."""
    kills_when_refusing: bool = False
    """Kills running containers when it refuses its configuration."""
    config_maps_stay: bool = False
    """A pod gets the values that a ConfigMap had at the first start, for good."""
    secrets_stay: bool = False
    config_one_behind: bool = False
    """A container gets the values that the objects had at the start before."""
    hook_runs: tuple[int, int] = (1, 1)
    """How often the postStart hook runs at the first start, and at each later one."""
    awaits_volumes: bool = True
    volume_wait_steps: int = 0
    """Steps that the counters of a pod's containers take while the pod waits for its volumes."""
    awaits_network: bool = True
    network_wait_steps: int = 0
    """The same while its node has no pod network."""
    failed_start_retry_ns: int | None = None
    """Time after which a failed start is tried again; None: that of any other error."""
    failed_start_factor: float = 1.0
    """Multiplies the time to the next attempt after each failed start."""
    start_order: str = "declared"
    """Of the containers that one sync starts: declared, reverse, or names."""
    resize_restarts: str = "always"
    """When a resize restarts what runs: always (if asked to), never, unruled (without rules), twice, or any (unasked too)."""
    deletion_awaits_delay: bool = False
    """Ends a pod that is deleted only when none of its containers waits for a delay."""
    deletion_awaits_volumes: bool = False
    """Ends a pod that is deleted while it waits for its volumes only after that wait."""
    restarts_deleted: bool = False
    """Restarts a container once that is stopped because its pod is deleted."""
    reset_scope: str = "all"
    """What RestartAllContainers restarts: all, source (the container that exited), regular (no init containers),
    no sidecars, or everything (ephemeral containers too)."""
    resets_once: bool = False
    """Takes the action RestartAllContainers for Restart once it has restarted a pod's containers."""
    resets_by_regular_only: bool = False
    """Only regular containers trigger RestartAllContainers."""
    reset_counts_anew: bool = False
    """States restartCounts from 0 on after RestartAllContainers."""
    reset_kills_ephemeral: bool = False
    reset_repeats_ephemeral: bool = False
    """Starts a second instance of each ephemeral container beside the first."""
    new_sandbox_inits: str = "all"
    """The init containers that another sandbox runs before the regular ones: all, first, none, or all beside them."""
    awaits_init_after_reset: bool = True
    reset_keeps_logs: str = "all"
    """The logs that RestartAllContainers keeps: all, none, others (not that of its source), or source (only that)."""
    reset_keeps_sandbox: bool = True
    reset_late_ns: int = 0
    restarts_apart_ns: int = 0
    """Least time between two restarts on the node."""
    syncs_in_turn: bool = False

    # Without a control plane (kubelet.py, sync.py)
    restarts_alone: bool = True
    alone_retry_ns: int | None = None
    """When it looks again at what waits; None: as ever."""
    forgets_alone: bool = False
    counts_alone: bool = True
    kills_alone_after_ns: int | None = None

    # Images of a registry (dependency.py)
    pulls: str = "by policy"
    """How often a restart pulls its image: by policy, always, once (at the first start alone), or twice (where it is due)."""
    keeps_first_image: bool = False
    """Starts containers in the image that it pulled first."""
    pull_factor: float = 2.0
    first_pull_factor: float = 1.0
    """Multiplies the first delay after a failed pull."""
    pulls_capped_as_restarts: bool = False
    """The delays after failed pulls have the maximum of those of restarts."""
    pulls_forgotten_as_restarts: bool = False
    """They begin anew after twice that maximum."""
    pull_secrets_stay: bool = False
    """A pod's pulls come with the password that its pull secret had at the first."""

    # What it states (statements.py)
    count_offset: int = 0
    count_low_while_running: bool = False
    count_high_while_waiting: bool = False
    count_skips: bool = False
    count_drops: bool = False
    count_up_to: int | None = None
    counts_init: bool = True
    """States restarts of init containers and sidecars."""
    counts_after_0: bool = True
    """Counts restarts after an exit with 0."""
    count_survives_restart: bool = True
    counts_beyond_records: bool = True
    """Goes on counting restarts of a container whose records the runtime has lost, by its logs."""
    ready_while_waiting: bool = False
    running_in_init: str = "never"
    """When it states the phase Running while init containers go on: never, always, or again (in another sandbox)."""
    final_awaits_ends: bool = True
    """States a final phase only when no container runs any more."""
    last_state_behind: bool = False
    """States as the last end of a container the one before it."""
    states_late_ns: int = 0
    late_fields: tuple[str, ...] = ()
    """The fields of a status, or of its containers, that come so late; none: all of it does."""
    failed_while_waiting: bool = False
    phase_while_all_wait: str | None = None
    always_succeeded: bool = False
    always_failed: bool = False
    never_ends: bool = False
    exit_code_offset: int = 0
    last_exit_code_offset: int = 0
    exit_code_up_to: int = 255
    finished_offset_s: int | None = 0
    """None leaves the time out, as below."""
    started_offset_s: int | None = 0
    running_while_dead: bool = False
    infers_lost_ends: bool = True
    states_last_end: str = "always"
    """When it states how the previous instance ended: always, never, or not while it waits."""
    swaps_reasons: bool = False
    """States Completed for Error, and Error for Completed, as the reason of an end."""
    waiting_reason: str = "CrashLoopBackOff"
    """Of a container that waits for its delay; empty: its last end is stated instead."""
    message_factor: float = 1.0
    back_off_event_ns: int | None = 0
    """How late the Event comes that says so; None: never."""
    """The delay that the message states, as a multiple of the one due."""
    address_moves: bool = False
    """States another address after each restart."""
    address_of_ended: bool = True
    """Whether a pod that has ended is stated with its address."""
    states_reset: bool = True
    """Whether pods have the condition AllContainersRestarting."""
    condition_without_rule: str = "none"
    """Pods without a rule that restarts all containers that have that condition: none, restarted, ruled (any rule), or every."""
    reset_from_the_start: bool = False
    reset_never_over: bool = False
    phase_in_reset: str | None = None
    final_phase: str = "true"
    """Of a pod that is deleted: true, kept (as if its containers were to restart), Succeeded, or Failed."""
    final_status: str = "true"
    """What is stated when a pod is deleted: true, nothing, killed (137 for every container), or regular (no init containers)."""

    # Its log (instrumentation.py)
    log_growth: float = 0.0
    """Share by which the lines of each restart grow with its number."""
    log_doubles_from: int | None = None
    """Restart from which on each line is written twice."""

    # Its metrics (instrumentation.py)
    pod_start_moments: tuple[str, ...] = ("first sync", "running")
    """When it observes kubelet_pod_start_duration_seconds for a pod: at its first sync, when it runs, at every sync, or at every
    look that finds a start held back."""
    asks_for_image_while_held: int = 0
    """Each so manieth look that holds a start back asks for the image; 0: none."""
    image_questions: int = 1
    """Multiplies the questions for the image of a start."""
    state_metrics: str = "true"
    """What kube-state-metrics makes of a status: true, behind (one restart less), no reason, or no code."""
    gates_stated: str = "true"
    """The gates in kubernetes_feature_enabled: true, off (all of them), stable (without their stage), or hidden."""

    # Static pods (owner_player.py, backoff.py)
    mirror_returns_ms: tuple[float, float] | None = (50, 1_100)
    """Until a deleted mirror pod is there again; None: never."""
    mirror_states: bool = True
    """Whether a mirror pod that was made again shows the pod's status."""
    delays_static: bool = True
    static_keyed_by_uid: bool = True
    """Whether an edited static pod has counters of its own."""
    static_at_restart: str = "go on"
    """What becomes of static pods when it is restarted: go on, left (what had ended), killed (what runs), or mute."""


CORRECT = Behaviour()
