"""Faults of the node: its kubelet's configuration, pods that should be independent, pulls of images, static pods."""

from sim.behaviour import S
from sim.faults.fault import Fault


class NodeFault(Fault):
    """What the pods of a node share."""

    SHARED_BY_NODE = "keeps one counter for all containers of a name", {"keyed_by_pod": False}
    EIGHT_COUNTERS = "keeps the counters of eight containers only", {"most_counters": 8}
    RESTARTS_THROTTLED = "restarts one container of the node per second at most", {"restarts_apart_ns": S}
    SYNCS_IN_TURN = "works on one pod of the node at a time", {"syncs_in_turn": True}
    LOST_AT_DELETION = "loses the counters of all pods of the node when a pod is deleted", {"deletion_forgets": True}
    LOST_AT_ADMISSION = "loses the counters of all pods of the node when a pod comes", {"admission_forgets": True}


class ConfigurationFault(Fault):
    """How the kubelet takes its configuration."""

    CRASHES_ON_INVALID = "crashes where it has to refuse its configuration", {"crashes_on_invalid": True}
    ACCEPTS_INVALID = "starts with a configuration that it has to refuse", {"accepts_invalid": True}
    IGNORES_SILENTLY = (
        "ignores a maximum without its gate and does not warn of it",
        {"accepts_invalid": True, "warns_of_ignored": False},
    )
    VALIDATES_SECONDS = "validates the maximum in whole seconds", {"validated_step_ns": S}
    VALIDATES_NO_SIGN = "takes a negative maximum that is within the range without its sign", {"validates_sign": False}
    TAKES_NUMBERS = "takes a number for a duration in seconds", {"takes_numbers": True}
    TAKES_BARE_DIGITS = "takes a string without a unit for a duration in seconds", {"takes_bare_digits": True}
    REFUSES_VALID = "refuses a configuration that is valid", {"refuses_valid": True}
    RUNS_OTHER_MAX = "follows another maximum than it states in /configz", {"effective_share": 0.5}
    TAKES_ANY_FLAG = "starts with a flag that it has to refuse", {"takes_any_flag": True}
    IGNORES_DROP_INS = "ignores its drop-in directory", {"drop_in_step": 0}
    FIRST_DROP_IN_WINS = "takes its drop-in files in the wrong order", {"drop_in_step": -1}
    DROP_INS_STATED_ONLY = (
        "states the maximum of its drop-in directory in /configz and follows that of its configuration file",
        {"drop_ins_set_curve": False},
    )
    LINGERS = "works on for ten seconds after its process was ended", {"lingers_ns": 10 * S}
    RELOADS_CONFIGURATION = "follows a changed configuration before it is restarted", {"reloads_configuration": True}
    KILLS_WHEN_REFUSING = (
        "kills the containers that run when it refuses its configuration",
        {"kills_when_refusing": True},
    )
    KEEPS_FIRST_CURVE = (
        "states another configuration after a restart, and follows the curve that it had before",
        {"keeps_first_curve": True},
    )
    KEEPS_FIRST_RULES = (
        "states other gates of restart rules after a restart, and acts by those that it had before",
        {"keeps_first_rules": True},
    )
    CONFIGZ_OTHER_MAX = "states another maximum in /configz than it follows", {"configz_share": 0.5}


class PullFault(Fault):
    """When the kubelet pulls, with what, and what it makes of it."""

    PULLS_ALWAYS = "pulls the image at every restart, whatever the pull policy", {"pulls": "always"}
    PULLS_ONCE = "pulls the image at the first start only, whatever the pull policy", {"pulls": "once"}
    PULLS_TWICE = "pulls the image twice at a restart under Always", {"pulls": "twice"}
    KEEPS_FIRST_IMAGE = "restarts containers in the image that it pulled first", {"keeps_first_image": True}
    PULLS_CAPPED = "caps the pull backoff at the maximum restart delay", {"pulls_capped_as_restarts": True}
    PULLS_FORGOTTEN = (
        "forgets the pull backoff after twice the maximum restart delay",
        {"pulls_forgotten_as_restarts": True},
    )
    PULLS_FLAT = "waits for 10 s after every failed pull", {"pull_factor": 1.0}
    PULLS_TRIPLED = "triples the pull backoff", {"pull_factor": 3.0}
    PULLS_SLOW_AT_FIRST = "waits for 20 s after the first failed pull", {"first_pull_factor": 2.0}
    PULL_SECRETS_STAY = "pulls with the password that the secret had at the first pull", {"pull_secrets_stay": True}
    PULLS_AT_ONCE = "pulls several images at a time", {"pulls_at_once": True}
    PULL_WAIT_UNSTATED = "states a pull without its wait for the one before it", {"pull_times": "without wait"}
    PULL_WAIT_AS_PULL = "states the wait for another pull as part of the pull", {"pull_times": "wait as pull"}
    PULL_WAIT_TWICE = "states the wait for another pull twice as long", {"pull_times": "wait twice"}
    PULL_TIMES_UNSTATED = "states of a pull only that it succeeded", {"pull_times": "none"}


class StaticPodFault(Fault):
    """What a kubelet does with files of its node, and with their mirror pods."""

    MIRROR_GONE = "does not make a deleted mirror pod again", {"mirror_returns_ms": None}
    MIRROR_LATE = "makes a deleted mirror pod again after 40 s to 45 s", {"mirror_returns_ms": (40_000, 45_000)}
    MIRROR_MUTE = "writes no status into a mirror pod that it has made again", {"mirror_states": False}
    STATIC_AT_ONCE = "restarts the containers of static pods at once", {"delays_static": False}
    STATIC_LEFT_AT_RESTART = (
        "leaves the containers of static pods dead that had ended when it was restarted",
        {"static_at_restart": "left"},
    )
    STATIC_KILLED_AT_RESTART = (
        "kills the running containers of static pods when it is restarted",
        {"static_at_restart": "killed"},
    )
    STATIC_MUTE_AFTER_RESTART = (
        "states nothing of static pods once it was restarted",
        {"static_at_restart": "mute"},
    )
    STATIC_BESIDE_OLD = (
        "starts an edited static pod while the one before still ends",
        {"edited_static": "beside"},
    )
    STATIC_STUCK = (
        "never starts a static pod that was edited again while the one before ended",
        {"edited_static": "stuck if twice"},
    )
    STATIC_WITHOUT_GRACE = (
        "ends a static pod whose file changes without its grace period",
        {"edited_static": "without grace"},
    )
    RENEWED_STATIC_NEVER = (
        "never starts a static pod again whose file was removed and written again",
        {"renewed_static": "never"},
    )
    RENEWED_STATIC_BESIDE = (
        "starts a static pod whose file was removed and written again while the one before still ends",
        {"renewed_static": "beside"},
    )
    RENEWED_STATIC_LATE = (
        "starts a static pod whose file was removed and written again 45 s after the end of the one before",
        {"renewed_static": "late"},
    )
    STATIC_BACK_IN_INIT = (
        "states that a static pod whose init container has lost its record is in initialisation once it was restarted",
        {"forgets_static_init": True},
    )
    STATIC_KEEPS_COUNTER = (
        "lets an edited static pod go on with the counter of the one before",
        {"static_keyed_by_uid": False},
    )
