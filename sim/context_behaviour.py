"""Every possible error that depends on what is around a container, as data: control plane, configuration, its kind, its company.

The bases of sim.behaviour.Behaviour, each a part of it. The defaults are correct.
"""

import msgspec

from crashloop.spec.pod import QosClass

FIRST_JOB_BACKOFF_NS = 10_000_000_000


class ControlPlaneBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The part of Behaviour that is not about restarts."""

    # The API server (control_plane.py)
    api_drops_rules: bool = False
    """Drops the fields of restart rules without a word, as with the gate off."""
    api_keeps_rules_when_off: bool = False
    """Keeps and validates the fields of restart rules although the gate is off."""
    api_takes_reset_when_off: bool = False
    api_update_drops_rules: bool = False
    """With the gate off, each update of an object drops the fields that it has had."""
    api_accepts_anything: bool = False
    api_stores_rejected: bool = False
    api_ignores_dry_run: bool = False
    api_refuses_repeats: bool = False
    api_bytes_per_code: int = 2
    """Bytes in which an exit code is stored; as a varint in Protobuf, a code up to 255 takes 2 with the list's own."""
    api_keeps_no_default: bool = False
    api_keeps_unknown: bool = False
    """Neither refuses nor drops fields that it does not know."""
    api_lets_anybody: bool = False
    api_takes_any_job: bool = False
    """Takes a podFailurePolicy with every restart policy."""
    api_failure_threshold: int = 3
    api_blames_pod: bool = False
    """Names the pod spec as the wrong field for every error."""

    # What comes before a pod's first sync (control_plane.py)
    scheduler_misses: str = "features"
    """What keeps a pod from its node: features that the node does not declare, nothing, or rules (every restart rule)."""
    scheduler_gives_in_ns: int | None = None
    """Binds a pod that it has left Pending after that time; None: never."""
    kubelet_misses: str = "features"
    """What a kubelet rejects a pod for: likewise."""
    rejects_as: str = "PodFeatureUnsupported"
    """The reason that it states."""

    # The ReplicaSet controller (owner_player.py)
    replaces: str = "at once"
    """When it replaces a pod that has ended: at once, spaced (after 10 s, 20 s, and so on), never, or twice (by two at first)."""

    # The Job controller (owner_player.py)
    job_counts_restarts: bool | None = None
    """Whether restarts count as failures; None: under OnFailure."""
    job_first_backoff_ns: int = FIRST_JOB_BACKOFF_NS
    """From the end of the first failed pod to the next; it doubles."""
    job_reads_active_pods: bool = False
    job_heeds_policy: bool = True
    job_names: str = "heeded"
    """What it makes of a rule that names a container: heeded, ignored (the rule is for all), or lost (it is for none)."""
    job_looks_at_init: str = "codes and restarts"
    """What it heeds of init containers: codes and restarts, codes, or restarts."""
    job_extra_failures: int = 0
    job_replaces: bool = True
    job_counts_last: bool = True


class ConfigurationBehaviour(ControlPlaneBehaviour, frozen=True, kw_only=True):
    """The part of Behaviour about which configuration is taken, and what is made of it."""

    accepts_invalid: bool = False
    warns_of_ignored: bool = True
    """Says so where it starts with a maximum that it ignores."""
    validated_step_ns: int = 1_000_000
    """The maximum is compared with its range in whole multiples of this."""
    validates_sign: bool = True
    takes_numbers: bool = False
    takes_bare_digits: bool = False
    crashes_on_invalid: bool = False
    refuses_valid: bool = False
    effective_share: float = 1.0
    """The maximum in effect as a share of the one stated."""
    configz_share: float = 1.0
    takes_any_flag: bool = False
    """Starts with flags that it does not know."""
    drop_in_step: int = 1
    """1: drop-in files in their order; -1: the other way round; 0: none of them."""
    drop_ins_set_curve: bool = True
    """Whether the curve follows the maximum of a drop-in file, which is stated in any case."""
    reloads_configuration: bool = False
    """Takes a configuration that is written while it runs."""
    keeps_first_curve: bool = False
    """Takes no other curve when it is restarted with another configuration, which it states all the same."""
    keeps_first_rules: bool = False
    """The same of the gates of restart rules."""


class DistinctionBehaviour(ConfigurationBehaviour, frozen=True, kw_only=True):
    """The part of Behaviour about distinctions that a kubelet must not make, or must make."""

    # The delays (backoff.py)
    grows_twice: str = ""
    """The restarts whose delay takes two steps: as never_grows, or exit code 137 (after that)."""
    max_not_for: str = ""
    """The containers that a configured maximum does not hold for: init, sidecars, ruled, on failure (pods under OnFailure), or a
    QosClass (its pods)."""
    undelayed_qos: QosClass | None = None
    """The class of the pods whose containers are not delayed."""
    keyed_by_chars: int = 63
    """The first characters of a container's name that its counter belongs to."""
    keyed_by_kind: bool = True
    """Whether an init container and a regular container at the same place have counters of their own."""
    from_last_exit_of_pod: bool = False
    """Measures a delay from the last exit of any container of the pod."""
    sandbox_forgets: bool = False
    """Another sandbox begins with no counters."""
    reset_forgets: bool = False
    """RestartAllContainers forgets the counters of its pod."""
    deletion_forgets: bool = False
    """The end of a pod clears the counters of all pods of the node."""
    admission_forgets: bool = False
    """So does a new pod."""

    # Which container restarts (policy.py, pod_actions.py)
    rules_after_kill: bool = True
    """Heeds rules after an exit of a container that the kubelet itself has killed."""
    rules_on_oom: bool = True
    rules_of: str = "the container"
    """Whose rules decide: the container's, first only (rules of the first container only), or first for all."""
    sidecars_done_after_0: str = "never"
    """The pods whose sidecars are left dead after an exit with 0: never, always, or on failure (pods under OnFailure)."""
    sidecars_beside_running_only: bool = False
    """Restarts no sidecar while no regular container runs."""
    always_ends_with_0: str = "never"
    """Containers under Always that are left dead after an exit with 0: never, always, or own (by a policy of their own)."""
    own_on_failure_is_always: bool = False
    kill_restarts_never: bool = False
    """Starts a container under Never again that it has killed itself."""
    kill_heeds_code: bool = False
    """Goes by the exit code of a container that it has killed."""
    readiness_kills: bool = False
    probe_kills_all: bool = False
    """Kills all containers of a pod when a probe of one fails."""

    # When all containers restart (policy.py, sync.py)
    resets_on_zero: bool = True
    resets_by_not_in: bool = True
    resets_by_any_rule: bool = False
    """Takes every rule of a container with RestartAllContainers for that."""
    reset_spares_done: bool = False
    """Leaves regular containers that have succeeded."""
    reset_empties_volumes: bool = False
    reset_grace_s: int | None = 2
    """What RestartAllContainers gives each container; None: what the pod does.

    pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 minimumGracePeriodInSeconds.
    """

    # What it states (statements.py, pod_status.py, instrumentation.py)
    counts_a_start: int = 1
    """How often a start is counted in its metrics."""
    started_at_first: bool = False
    """States as startedAt of a running container that of its first instance."""
    names_container: str = "true"
    """Which container's id it states: true, the one before, or none."""
    """States the id of the instance before."""
    waits_on: bool = False
    """States that a container waits that runs again after a delay."""
    start_time_moves: bool = False
    """States as startTime of the pod the last start of a container."""
    sidecars_keep_pod: bool = False
    """States the phase Running while a sidecar runs."""
    sidecar_codes_count: bool = False
    """States the phase Failed of a pod whose sidecar has failed."""
    failed_once_one_failed: bool = False
    """States the phase Failed once one container has failed for good."""
    pending_without_sidecar: bool = False
    """States the phase Pending while a sidecar is down."""
    ready_unprobed: str = "while it runs"
    """When a container without a readiness probe is ready: while it runs, also while it waits, in its first life, before it has
    started, or no init containers (those that have succeeded are not)."""
    initialized: str = "true"
    """The condition Initialized: true, at once (from the first status on), not in delays (False while a container waits), or
    without PodScheduled (which is left out)."""
    ready_to_start: str = "at once"
    """When the condition PodReadyToStartContainers follows the sandbox: at once (from 1.36 on), with the next sync, or never."""
    ready_condition: str = "true"
    """The conditions Ready and ContainersReady: true, stays (once True), to the end (once True, of a pod that has ended as well),
    any (one container is enough), never again, or unready at the end (a pod that has ended says what one that goes on does)."""


class CompanyBehaviour(DistinctionBehaviour, frozen=True, kw_only=True):
    """The part of Behaviour about what one container has to do with others, and with why it ended."""

    # The delays (backoff.py)
    never_grows: str = ""
    """The restarts whose delay stays as it is: by rule, on failure (under that policy), out of memory,
    success (after an exit with 0), success by rule, killed (by the kubelet), init, or sidecars."""
    delays_startup_kills: bool = True
    second_curve_expiry_ns: int | None = None
    """Age above which an entry is forgotten where the curve begins with 1 s; None: as everywhere."""
    forgets_on_label: bool = False
    held_ends_starts: bool = False
    """Starts nothing that stands behind a container that waits for its delay."""

    # The rules (policy.py)
    searches_values: bool = False
    """Finds an exit code only in values that ascend."""
    not_in_together: bool = False
    """NotIn matches only what none of a container's rules with NotIn lists."""
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
    changed_sidecar: str = "restarts"
    """What becomes of a sidecar whose image has changed: restarts, stays (as it is), ends, or takes along (what is regular)."""

    # What probes wait for (prober.py)
    initial_delay: str = "since each start"
    """From when initialDelaySeconds count: since each start or since the first start; or halved, ignored, or 8 s more."""

    # How long what a probe has killed may go on (prober.py)
    probe_grace: str = "its own"
    """The grace period where pod and probe have one: its own, the pod's, the longer, the shorter, or none. Or its own for
    every kill, or 30 s for every kill."""
    runs_hooks: str = "always"
    """When it runs a preStop hook: always, not after a failure, not at the end (of a deleted pod), or in the first life."""
    ends_sidecars: str = "in turn"
    """How it ends sidecars: in turn (after the others, the last first), as declared (in that order), first, or beside others."""
    resizes_hard: bool = False
    """Ends a container for a resize without SIGTERM."""
    hook_in_grace: bool = True
    """Takes the time of a preStop hook off the grace period."""

    # When probes begin and end (prober.py)
    adds_workers: str = "by release"
    """Which probes have their workers again after RestartAllContainers: by release, all (as KEP-5532 has it), or those of the
    containers before the first that has one."""
    readiness_follows_start: bool = True
    """Asks a readiness probe as soon as the startup probe has succeeded, whatever its period."""
    start_is_noticed: bool = True
    """Looks at the pod when a startup probe has succeeded."""
    silence_succeeds: bool = False
    """Takes a request over HTTP that nobody answers for a success."""
    http_in_first_life: bool = False
    """Asks over HTTP in the first life of a container only."""
    periods: str = "own"
    """How often a probe is asked: by its own period, or by that of the container's first probe."""
    startup_ends: bool = True
    """Asks a startup probe no more once it has succeeded."""
    startup_outlives_exits: str = "always"
    """Whether a startup probe goes on after an exit of its sidecar: always, or not under Never."""
    probes_at_end: str = "readiness"
    """The probes that go on while their pod ends: readiness (and those of sidecars), none, or all."""

    # Static pods and deleted ones (owner_player.py, statements.py, director.py, sync.py)
    edited_static: str = "in turn"
    """When an edited static pod begins: in turn (after the end of the one before), beside it, or stuck if twice (never, if it was
    edited again meanwhile). Without grace: in turn, and the one before is not given its grace period."""
    renewed_static: str = "in turn"
    """The same of one whose file was removed and written again: in turn, beside, late, or never."""
    forgets_static_init: bool = False
    """States that a static pod has yet to run its init containers whose records were lost when it was restarted."""
    removes_deleted: str = "always"
    """Whether it removes the object of a deleted pod once that has ended: always, or not after a restart (of itself)."""
    ends_deleted_meanwhile: str = "soon"
    """When it ends a pod that was deleted while it, or the runtime, was away: soon, late, or never."""
    repeats_kills: bool = True
    """Ends a container again whose end a restart of the runtime has broken off."""
    done_at_restart: str = "stays"
    """What becomes of a pod that has succeeded when it is restarted: stays, rejected, runs (again), or stated (as Running)."""
    signals_waiting_sidecars: bool = True
    """Sends SIGTERM at once to the sidecars of a deleted pod some of whose sidecars have not run."""

    # What is said of probed containers (prober.py, statements.py)
    ready_after: str = "successThreshold"
    """Successes in a row that make a container ready: successThreshold, one, one more, or in any order."""
    keeps_at_restart: str = "all"
    """What it still says of a probed container that runs on once it was restarted: all, started (and not ready), nothing, or more
    (that its next life has started as well)."""
    thresholds: str = "own"
    """The failureThreshold by which a probe is judged: own, least (of the container's probes), or most."""
    failures_shared: bool = False
    """Counts the failures of all probes of a container together."""
    stays_ready: bool = False
    """A container that was ready is ready in its next life until its probe fails."""
    states_started: str = "by its life"
    """What `started` follows: by its life, by any life, running, ever (whatever has run), or never."""

    # What restarts while something else goes on (sync.py, kubelet.py, pod_actions.py)
    ending_restarts: str = "nothing"
    """What it starts again that exits by itself while its pod is deleted: nothing, sidecars, regular (containers with a policy
    Always of their own), or ruled."""
    reset_at_restart: str = "goes on"
    """What becomes of RestartAllContainers when it is restarted itself: goes on, forgotten (what had exited is left), repeated
    (an init container that runs starts again), or not awaited (nothing waits for that one)."""
    static_resets: str = "all"
    """What RestartAllContainers restarts in static pods: all, none (it is Restart there), source, or regular."""
    reset_runs_hooks: bool = False
    """Runs preStop hooks to their end first."""
    repeats_ephemeral_beside: bool = False
    """Starts an ephemeral container again that has exited, once another container of its pod restarts."""
    awaits_ephemerals: bool = False
    """A pod ends only once its ephemeral containers have."""

    # The generation of a pod's spec (statements.py)
    generation_named: str = "newest"
    """What a status says: newest, none, first, ahead (by the restarts), until a restart (then the first again), less in delays,
    or none at the end (of a deleted pod)."""
    lists_by_start: bool = False
    """Lists what has started last first."""
    transition_time: str = "true"
    """lastTransitionTime of Ready and ContainersReady: true, first (it never moves), or now (it moves with each status)."""

    # Hooks that fail (kubelet.py, policy.py, backoff.py)
    kills_by_hook_ns: tuple[int | None, int | None] = (0, 0)
    """How long after its hook has failed a container is killed, at the first start and at each later one; None: never."""
    delays_hook_kills: bool = True
    restarts_hook_kills: bool = True

    # Starts that the runtime refuses (pod_actions.py, policy.py, backoff.py, sync.py)
    leaves_refused: str = ""
    """The containers that it leaves dead whose start was refused: all, init (no sidecars), or sidecars."""
    retries_refused: bool = False
    """Starts them again under Never."""
    delays_refused: bool = True
    counts_refused: bool = True
    """Counts what follows a refused start as a restart."""

    # What has ended and whose record the runtime has lost (pod_actions.py, sync.py)
    forgotten: str = "regular"
    """What runs again: regular (containers, and no init container), init too, what runs as well, or all in a new sandbox."""

    # What is left of exited containers (kubelet.py, statements.py)
    drops_previous_log: str = "never"
    """After which ends a restart removes the log of the instance before: always, a success, a kill, or out of memory; or from the
    seventh restart on, of init containers, or in company (of pods with several containers)."""
    states_last_words: str = "true"
    """The message of an end: true (what the life has left), none, not in the last state, before (what the instance before has
    left), or first (what the first instance has)."""
    states_out_of_memory: str = "always"
    """Where a kill for memory has its own reason: always, never, not in the last state; or every exit with 137 has it."""

    # The pod's active deadline (pod_worker.py, sync.py, statements.py)
    deadline: str = "kept"
    """Kept, ignored, halved, late, or since each start; stated only; kills only; or without its reason."""

    # Sidecars and init containers (pod_actions.py, kubelet.py)
    deaf_to_sidecars: str = ""
    """The kind of probe whose failure does not kill a sidecar."""
    awaits_sidecars: bool = True
    """Starts what stands behind a sidecar only when its startup probe has succeeded."""
    sidecars_after_reset: str = "awaited"
    """The same after RestartAllContainers: awaited, not awaited, or never started (their startup probes are asked no more)."""
    triggers_together: str = "one"
    """What two containers that trigger RestartAllContainers at once cause: one, two (when all run again), or none."""
    ephemerals_fail_pod: bool = False
    """States the phase Failed of a pod that has succeeded beside an ephemeral container that has not."""
    inits_share_counter: bool = False
    retries_inits: str = "all"
    """The init containers that start again after a failure: all, or first (only that)."""
    down_sidecars_hold: str = "nothing"
    """What a sidecar that is down holds back: nothing, init (containers that have failed), or sidecars (behind it)."""
    sidecars_at_restart: str = "go on"
    """What becomes of sidecars when it is restarted itself: go on, left (what had exited), or counted anew."""
    resets_before_start_up: bool = True
    """Heeds RestartAllContainers of sidecars while init containers run."""
    sidecars_ready_unprobed: bool = False
    """States that a sidecar that runs is ready."""
    hooks_of_sidecars: bool = True
    """Runs the postStart hooks of sidecars, too."""
    probes_static: bool = True
    resize_meets_delay: str = "nothing"
    """What comes of a resize while another container of the pod crashes: nothing, late (it waits for the end of that), or forgets
    (the counters of the pod)."""
    reruns_never_at_restart: bool = False
    """Starts containers under a policy Never of their own that have failed again when it is restarted itself."""
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
    probes_end_at_restart: bool = False
    """Asks running containers no probes once it was restarted."""
    lingers_ns: int = 0
    """For how long it works on after its process was to end; for half of the time until the next one starts at most."""
    rebuilds_running: bool = False
    """Makes counters of running containers from their restartCounts when it is restarted."""

    # Pulls that meet (dependency.py)
    pulls_at_once: bool = False
    """A pull does not wait for the one before it on the node."""
    pull_times: str = "true"
    """The times that the Event of a pull states: true, without wait, wait as pull, wait twice, or none."""
