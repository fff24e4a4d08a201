"""The kubelet's real configuration, made from the declared one, and its answer to /configz. Pure."""

from typing import Any

from crashloop.spec.duration import duration_seconds
from crashloop.spec.profile import REDUCED_DECAY_GATE, merged

UPSTREAM_PERIOD = "5m0s"
"""maxContainerRestartPeriod where none is declared (pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1)."""

Config = dict[str, Any]

_FRONTED: Config = {
    # Only the front reaches the kubelet, on the port that the node announces; the front checks certificates.
    "address": "127.0.0.1",
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
}


def real_config(declared: Config, *, really: Config, runtime_endpoint: str | None, fronted: bool) -> Config:
    """The kubelet's real configuration."""
    config = merged(declared, really)
    if runtime_endpoint is not None:
        config = merged(config, {"containerRuntimeEndpoint": runtime_endpoint})
    return merged(config, _FRONTED) if fronted else config


def delays_s(declared: Config) -> tuple[float, ...]:
    """Seconds that are due after each instance by its number, from 0; the last one counts for all that follow."""
    gates = declared.get("featureGates", {})
    reduced = gates.get(REDUCED_DECAY_GATE, False)
    stated = (declared.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod")
    upstream_s = 60.0 if reduced else 300.0
    maximum_s = (None if stated is None else duration_seconds(stated)) or upstream_s
    found = [0.0, min(1.0 if reduced else 10.0, maximum_s)]
    while found[-1] < maximum_s:
        found.append(min(2 * found[-1], maximum_s))
    return tuple(found)


def declared_configz(effective: Config, declared: Config) -> Config:
    """The answer to /configz of a kubelet with the declared configuration."""
    config = dict(effective["kubeletconfig"])
    for field in (*_FRONTED, "containerRuntimeEndpoint", "featureGates", "crashLoopBackOff"):
        config.pop(field, None)
        if field in declared:
            config[field] = declared[field]
    config.setdefault("crashLoopBackOff", {"maxContainerRestartPeriod": UPSTREAM_PERIOD})
    return {**effective, "kubeletconfig": config}
