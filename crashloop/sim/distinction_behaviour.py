"""Every possible error of a kubelet that takes one kind of container, exit or pod for another, as data."""

from crashloop.sim.configuration_behaviour import ConfigurationBehaviour
from crashloop.spec.pod import QosClass


class DistinctionBehaviour(ConfigurationBehaviour, frozen=True, kw_only=True):
    """The part of Behaviour about distinctions that a kubelet must not make, or must make."""

    # The delays (restart_delay.py)
    grows_twice: str = ""
    """The restarts whose delay takes two steps: as never_grows."""
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

    # What it states (statements.py, pod_conditions.py, metrics.py)
    counts_a_start: int = 1
    """How often a start is counted in its metrics."""
    started_at_first: bool = False
    """States as startedAt of a running container that of its first instance."""
    container_id_behind: bool = False
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
    """When a container without a readiness probe is ready: while it runs, also while it waits, or in its first life."""
    initialized: str = "true"
    """The condition Initialized: true, at once (from the first status on), or not in delays (False while a container waits)."""
    ready_condition: str = "true"
    """The conditions Ready and ContainersReady: true, stays (once True), any (one container is enough), or never again."""
