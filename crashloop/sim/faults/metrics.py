"""Faults of the kubelet's metrics and its log: it counts or names otherwise than it acts, or writes too much."""

from crashloop.sim.faults.fault import Fault


class MetricsFault(Fault):
    """What the kubelet states in numbers."""

    POD_START_MEASURED_AT_EVERY_SYNC = (
        "measures the start of a pod at every sync",
        {"pod_start_moments": ("first sync", "running", "every sync")},
    )
    POD_START_MEASURED_IN_DELAYS = (
        "measures the start of a pod at every look that finds a start held back",
        {"pod_start_moments": ("first sync", "running", "held back")},
    )
    POD_START_NOT_MEASURED = "never measures the start of a pod", {"pod_start_moments": ()}
    IMAGE_BEFORE_BACKOFF = "asks for the image before it looks at the delay", {"asks_for_image_while_held": 1}
    IMAGE_BEFORE_EACH_THIRD_BACKOFF = (
        "asks for the image before each third look at a delay",
        {"asks_for_image_while_held": 3},
    )
    IMAGE_ASKED_TWICE = "asks for the image twice at each start", {"image_questions": 2}
    STARTS_COUNTED_TWICE = "counts each start of a container twice", {"counts_a_start": 2}
    LOG_GROWS = "writes a tenth more into its log with each restart", {"log_growth": 0.1}
    LOG_GROWS_SLOWLY = "writes a fiftieth more into its log with each restart", {"log_growth": 0.02}
    LOG_DOUBLED = "writes each line of its log twice from the twentieth restart on", {"log_doubles_from": 20}
    STATE_METRICS_BEHIND = (
        "has kube-state-metrics state one restart less than there were",
        {"state_metrics": "behind"},
    )
    STATE_METRICS_WITHOUT_REASON = "has kube-state-metrics state no waiting reason", {"state_metrics": "no reason"}
    STATE_METRICS_WITHOUT_CODE = "has kube-state-metrics state every last exit with 0", {"state_metrics": "no code"}
    GATES_STATED_OFF = "states all its feature gates as off", {"gates_stated": "off"}
    GATES_STATED_STABLE = "states all its feature gates as stable", {"gates_stated": "stable"}
    GATES_HIDDEN = "does not state its feature gates", {"gates_stated": "hidden"}
