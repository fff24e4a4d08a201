"""Faults of the pulls of images."""

from crashloop.sim.faults.fault import Fault


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
