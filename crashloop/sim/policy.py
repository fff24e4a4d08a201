"""Decides whether an exited container restarts: by restart rules, then the container's policy, then the pod's.

pkg/api/v1/pod/util.go ContainerShouldRestart and FindMatchingContainerRestartRule, pkg/kubelet/container/helpers.go
ShouldContainerBeRestarted and ShouldAllContainersRestart, all @v1.37.1; KEP-5307 and KEP-5532, Design Details.
"""

import msgspec

from crashloop.sim.behaviour import Behaviour
from crashloop.spec.policy import Action, Operator, RestartPolicy, RestartRule
from crashloop.spec.scenario import Container, ContainerKind


class Policies(msgspec.Struct, frozen=True):
    """How one kubelet reads the policies of a pod."""

    behaviour: Behaviour
    rules: bool
    """Gate ContainerRestartRules."""
    reset: bool
    """Gate RestartAllContainersOnContainerExits."""

    def restarts(self, container: Container, pod_policy: RestartPolicy, exit_code: int, restarts: int) -> bool:
        """Whether the container is to run again after that exit, having been restarted so often."""
        behaviour = self.behaviour
        if container.kind is ContainerKind.EPHEMERAL:
            return behaviour.repeats_ephemeral
        if behaviour.gives_up_after is not None and restarts >= behaviour.gives_up_after:
            return False
        own = self._own_policy(container)
        if own is not None:
            action = self.action(container, exit_code)
            if action is Action.RESTART or (action is Action.RESTART_ALL_CONTAINERS and self.reset):
                return True
        elif not behaviour.heeds_pod_policy:
            return True
        policy = own or pod_policy
        if policy is RestartPolicy.NEVER:
            return behaviour.never_restarts_once and restarts == 0
        return policy is RestartPolicy.ALWAYS or exit_code != 0 or behaviour.on_failure_is_always

    def restarts_sidecar(self, container: Container, exit_code: int, restarts: int) -> bool:
        """Whether a sidecar is to run again: always, says everything but a faulty kubelet."""
        behaviour = self.behaviour
        if behaviour.gives_up_after is not None and restarts >= behaviour.gives_up_after:
            return False
        if behaviour.sidecar_rules and container.rules:
            return self.action(container, exit_code) is Action.RESTART
        return True

    def restarts_after_kill(self, container: Container, pod_policy: RestartPolicy) -> bool:
        """Whether a container that the kubelet kills is started in the same sync: rules are not asked."""
        return (self._own_policy(container) or pod_policy) is not RestartPolicy.NEVER

    def resets(self, container: Container, exit_code: int) -> bool:
        """Whether this exit restarts all containers of the pod."""
        return (
            self.rules
            and self.reset
            and container.kind is not ContainerKind.EPHEMERAL
            and self.action(container, exit_code) is Action.RESTART_ALL_CONTAINERS
        )

    def by_rule(self, container: Container, exit_code: int) -> bool:
        """Whether it is a rule that restarts the container."""
        return self._own_policy(container) is not None and self.action(container, exit_code) is Action.RESTART

    def action(self, container: Container, exit_code: int) -> Action | None:
        """The action of the first rule that matches; None if none does."""
        behaviour = self.behaviour
        if not behaviour.heeds_rules or not self.rules:
            return None
        matching = [rule.action for rule in container.rules if self._matches(rule, exit_code)]
        if not matching:
            return None
        return matching[-1 if behaviour.rules_reversed else 0]

    def _matches(self, rule: RestartRule, exit_code: int) -> bool:
        behaviour = self.behaviour
        if exit_code == 0 and behaviour.rules_on_zero is not None:
            return behaviour.rules_on_zero
        values = rule.values[:1] if behaviour.first_value_only else rule.values
        wants_member = (rule.operator is Operator.IN) != behaviour.operators_swapped
        return (exit_code in values) is wants_member

    def _own_policy(self, container: Container) -> RestartPolicy | None:
        if container.is_sidecar:
            return container.restart_policy
        if not self.rules or not self.behaviour.heeds_container_policy:
            return None
        if container.kind is ContainerKind.INIT and not self.behaviour.heeds_init_policy:
            return None
        return container.restart_policy
