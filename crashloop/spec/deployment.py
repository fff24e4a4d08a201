"""The Deployment of a scenario, in the words of apps/v1: its ReplicaSet replaces each pod that has ended."""

import msgspec

from crashloop.spec.policy import RestartPolicy


class Deployment(msgspec.Struct, frozen=True, kw_only=True, tag="deployment"):
    """One replica at a time, until the scenario ends: nothing else bounds the number of its pods."""


def fault_of_deployment(policy: RestartPolicy, *, is_apart: bool) -> str | None:
    """Why a Deployment cannot carry out a pod with that restart policy in a scenario; None if it can.

    `is_apart`: whether the scenario has a control plane for itself, which goes with all that it holds.
    """
    if policy is not RestartPolicy.ALWAYS:
        return f"a Deployment takes no pod with restart policy {policy}"
    return None if is_apart else "a Deployment makes pods without end, so it needs a control plane for itself"
