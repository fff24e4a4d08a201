"""Faults of the control plane: API server, scheduler and admission, controllers; and of a kubelet that has no control plane."""

from sim.behaviour import S
from sim.faults.fault import Fault


class ApiServerFault(Fault):
    """How the API server beside the kubelet answers."""

    API_DROPS_RULES = "has an API server that drops restart rules in silence", {"api_drops_rules": True}
    API_KEEPS_RULES_WHEN_OFF = (
        "has an API server that takes restart rules with their gate off",
        {"api_keeps_rules_when_off": True},
    )
    API_TAKES_RESET_WHEN_OFF = (
        "has an API server that takes RestartAllContainers with its gate off",
        {"api_takes_reset_when_off": True},
    )
    API_UPDATE_DROPS_RULES = (
        "has an API server that drops the rules of existing pods when they are updated with the gate off",
        {"api_update_drops_rules": True},
    )
    API_ACCEPTS_ANYTHING = "has an API server that validates no restart rule", {"api_accepts_anything": True}
    API_REFUSES_REPEATS = "has an API server that rejects a rule that repeats a code", {"api_refuses_repeats": True}
    API_STORES_REJECTED = "has an API server that stores what it rejects", {"api_stores_rejected": True}
    API_STORES_WIDE = "has an API server that stores 8 bytes per exit code", {"api_bytes_per_code": 8}
    API_KEEPS_NO_DEFAULT = "has an API server that sets no default restart policy", {"api_keeps_no_default": True}
    API_IGNORES_DRY_RUN = "has an API server that stores dry runs", {"api_ignores_dry_run": True}
    API_KEEPS_UNKNOWN = "has an API server that keeps fields that it does not know", {"api_keeps_unknown": True}
    API_LETS_ANYBODY = "has an API server that lets every user do everything", {"api_lets_anybody": True}
    API_TAKES_ANY_JOB = (
        "has an API server that takes podFailurePolicy with every restart policy",
        {"api_takes_any_job": True},
    )
    API_PROBE_FAILS_AT_ONCE = (
        "has an API server that lets a probe fail once by default",
        {"api_failure_threshold": 1},
    )
    API_BLAMES_POD = "has an API server that names the wrong field", {"api_blames_pod": True}


class AdmissionFault(Fault):
    """What scheduler and kubelet make of the features that a pod needs and a node declares."""

    SCHEDULER_IGNORES_FEATURES = (
        "has a scheduler that does not heed what nodes declare",
        {"scheduler_misses": "nothing"},
    )
    SCHEDULER_HOLDS_RULES = (
        "has a scheduler that places no pod with a restart rule",
        {"scheduler_misses": "rules"},
    )
    SCHEDULER_GIVES_IN = (
        "has a scheduler that binds a pod to a node without what it needs after 10 s",
        {"scheduler_gives_in_ns": 10 * S},
    )
    TAKES_ALL_PODS = "runs pods that need what it does not have", {"kubelet_misses": "nothing"}
    REJECTS_RULES = "rejects every pod with a restart rule", {"kubelet_misses": "rules"}


class JobFault(Fault):
    """What counts as a failure, and what a Job does about it."""

    JOB_COUNTS_RESTARTS = (
        "has a Job controller that counts restarts under every policy",
        {"job_counts_restarts": True},
    )
    JOB_COUNTS_NO_RESTART = "has a Job controller that counts no restarts", {"job_counts_restarts": False}
    JOB_READS_ACTIVE_PODS = (
        "has a Job controller that applies podFailurePolicy to pods that have not ended",
        {"job_reads_active_pods": True},
    )
    JOB_IGNORES_POLICY = "has a Job controller that does not heed podFailurePolicy", {"job_heeds_policy": False}
    JOB_POLICY_FOR_ALL = (
        "has a Job controller that applies a rule of podFailurePolicy which names a container to all of them",
        {"job_names": "ignored"},
    )
    JOB_POLICY_BY_NAME_LOST = (
        "has a Job controller that does not heed a rule of podFailurePolicy which names a container",
        {"job_names": "lost"},
    )
    JOB_SKIPS_INIT_CODES = (
        "has a Job controller that does not apply podFailurePolicy to init containers",
        {"job_looks_at_init": "restarts"},
    )
    JOB_SKIPS_INIT_RESTARTS = (
        "has a Job controller that does not count restarts of init containers",
        {"job_looks_at_init": "codes"},
    )
    JOB_ONE_MORE = "has a Job controller that lets one pod more fail than the limit", {"job_extra_failures": 1}
    JOB_ONE_FEWER = "has a Job controller that fails the Job one pod early", {"job_extra_failures": -1}
    JOB_NEVER_REPLACES = "has a Job controller that does not replace failed pods", {"job_replaces": False}
    JOB_ON_THE_CURVE = (
        "has a Job controller that spaces pods from 1 s on",
        {"job_first_backoff_ns": S},
    )
    JOB_MISCOUNTS = "has a Job controller that does not count the last failure", {"job_counts_last": False}
    REPLICAS_SPACED = "has a ReplicaSet controller that spaces pods from 10 s on", {"replaces": "spaced"}
    REPLICAS_NOT_REPLACED = (
        "has a ReplicaSet controller that does not replace pods that have ended",
        {"replaces": "never"},
    )
    REPLICAS_DOUBLED = (
        "has a ReplicaSet controller that makes two pods for the first that has ended",
        {"replaces": "twice"},
    )


class ConnectionFault(Fault):
    """What the kubelet does while it cannot reach the API server, and after that."""

    STOPS_ALONE = "restarts nothing while it has no API server", {"restarts_alone": False}
    SLOW_ALONE = "looks at waiting containers every 30 s while it has no API server", {"alone_retry_ns": 30 * S}
    FORGETS_ALONE = "keeps no counters while it has no API server", {"forgets_alone": True}
    COUNTS_NOT_ALONE = "does not count restarts that it makes without the API server", {"counts_alone": False}
    KILLS_ALONE = "kills its containers after 20 s without the API server", {"kills_alone_after_ns": 20 * S}
