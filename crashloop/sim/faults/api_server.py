"""Faults of the API server: what it accepts, what it stores and what it objects to."""

from crashloop.sim.faults.fault import Fault


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
