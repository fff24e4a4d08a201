"""Every possible error of what surrounds a pod's syncs, as data: API server, scheduler and admission, Job controller."""

import msgspec

FIRST_JOB_BACKOFF_NS = 10_000_000_000


class ControlPlaneBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The part of Behaviour that is not about restarts."""

    # The API server (api_server.py)
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

    # What comes before a pod's first sync (admission.py)
    scheduler_misses: str = "features"
    """What keeps a pod from its node: features that the node does not declare, nothing, or rules (every restart rule)."""
    scheduler_gives_in_ns: int | None = None
    """Binds a pod that it has left Pending after that time; None: never."""
    kubelet_misses: str = "features"
    """What a kubelet rejects a pod for: likewise."""

    # The ReplicaSet controller (deployment_player.py)
    replaces: str = "at once"
    """When it replaces a pod that has ended: at once, spaced (after 10 s, 20 s, and so on), never, or twice (by two at first)."""

    # The Job controller (job_controller.py)
    job_counts_restarts: bool | None = None
    """Whether restarts count as failures; None: under OnFailure."""
    job_first_backoff_ns: int = FIRST_JOB_BACKOFF_NS
    """From the end of the first failed pod to the next; it doubles."""
    job_reads_active_pods: bool = False
    job_heeds_policy: bool = True
    job_extra_failures: int = 0
    job_replaces: bool = True
    job_counts_last: bool = True
