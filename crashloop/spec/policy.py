"""Restart policies and restart rules, in the words of the Kubernetes API (core/v1)."""

from enum import StrEnum

import msgspec


class RestartPolicy(StrEnum):
    """`restartPolicy` of a pod or of a container."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class Operator(StrEnum):
    """`restartPolicyRules[].exitCodes.operator`."""

    IN = "In"
    NOT_IN = "NotIn"


class Action(StrEnum):
    """`restartPolicyRules[].action`; RestartAllContainers needs the gate RestartAllContainersOnContainerExits."""

    RESTART = "Restart"
    RESTART_ALL_CONTAINERS = "RestartAllContainers"


class RestartRule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `restartPolicyRules` (KEP-5307; the action RestartAllContainers: KEP-5532)."""

    action: Action = Action.RESTART
    operator: Operator
    values: tuple[int, ...]

    def matches(self, exit_code: int) -> bool:
        """Whether the exit-code condition holds. An empty In never does, an empty NotIn always does."""
        return (exit_code in self.values) == (self.operator is Operator.IN)


def restart_in(*values: int, action: Action = Action.RESTART) -> RestartRule:
    """A rule that acts on the exit codes given."""
    return RestartRule(action=action, operator=Operator.IN, values=values)


def restart_not_in(*values: int, action: Action = Action.RESTART) -> RestartRule:
    """A rule that acts on every exit code but those given."""
    return RestartRule(action=action, operator=Operator.NOT_IN, values=values)
