"""Decides whether an exited container restarts: by restart rules, then the container's policy, then the pod's.

pkg/api/v1/pod/util.go ContainerShouldRestart and FindMatchingContainerRestartRule, pkg/kubelet/container/helpers.go
ShouldContainerBeRestarted and ShouldAllContainersRestart, all @v1.37.1; KEP-5307 and KEP-5532, Design Details.
"""

from bisect import bisect_left

import msgspec

from crashloop.spec.pod import Action, Container, ContainerKind, Operator, Pod, RestartPolicy, RestartRule
from sim.behaviour import Behaviour
from sim.instance import SimulatedInstance


class Policies(msgspec.Struct, frozen=True):
    """How one kubelet reads the policies of a pod."""

    behaviour: Behaviour
    rules: bool
    """Gate ContainerRestartRules."""
    reset: bool
    """Gate RestartAllContainersOnContainerExits."""

    @property
    def delays_sidecars(self) -> bool:
        """Whether sidecars start after the regular containers, which only a faulty kubelet does."""
        return self.behaviour.rules_gate_delays_sidecars and self.rules

    def restarts(self, container: Container, pod: Pod, instance: SimulatedInstance) -> bool:
        """Whether the container is to run again after the exit of that instance."""
        behaviour = self.behaviour
        if container.kind is ContainerKind.EPHEMERAL:
            return behaviour.repeats_ephemeral
        if self._given_up(instance):
            return False
        own = self._own_policy(container)
        if own is RestartPolicy.ON_FAILURE and behaviour.own_on_failure_is_always:
            own = RestartPolicy.ALWAYS
        if own is RestartPolicy.ALWAYS and behaviour.always_ends_with_0 == "own":
            own = RestartPolicy.ON_FAILURE
        if own is not None:
            action = self.action(container, pod, instance)
            if action is Action.RESTART or (action is Action.RESTART_ALL_CONTAINERS and self.reset):
                return True
        elif not behaviour.heeds_pod_policy:
            return True
        is_init = container.kind is ContainerKind.INIT
        if is_init and pod.restart_policy is RestartPolicy.ON_FAILURE and not behaviour.init_retried_on_failure:
            return False
        if own is None or pod.restart_policy is behaviour.container_policy_ignored_under:
            own = pod.restart_policy
        return self._by_policy(own, instance)

    def restarts_sidecar(self, container: Container, pod: Pod, instance: SimulatedInstance) -> bool:
        """Whether a sidecar is to run again: always, says everything but a faulty kubelet."""
        if self._given_up(instance):
            return False
        if self.behaviour.sidecars_heed_pod_policy and pod.restart_policy is RestartPolicy.NEVER:
            return False
        ends = {"never": False, "always": True, "on failure": pod.restart_policy is RestartPolicy.ON_FAILURE}
        if instance.exit_code == 0 and ends[self.behaviour.sidecars_done_after_0]:
            return False
        if self.behaviour.sidecar_rules and container.rules:
            return self.action(container, pod, instance) is Action.RESTART
        return True

    def leaves_refused(self, container: Container) -> bool:
        """Whether a container whose start was refused is left alone, which only a faulty kubelet does."""
        which = self.behaviour.leaves_refused
        is_init = container.kind is ContainerKind.INIT
        return which == "all" or (is_init and which == ("sidecars" if container.is_sidecar else "init"))

    def restarts_after_kill(self, container: Container, pod_policy: RestartPolicy) -> bool:
        """Whether a container that the kubelet kills is started in the same sync: rules are not asked."""
        if self.behaviour.kill_restarts_never:
            return True
        if self.behaviour.kill_heeds_code:
            return False  # what follows is decided by its exit
        own = None if self.behaviour.kills_by_pod_policy else self._own_policy(container)
        return (own or pod_policy) is not RestartPolicy.NEVER

    def runs_once(self, container: Container, pod_policy: RestartPolicy) -> bool:
        """Whether success ends a container by policy: rules are not asked."""
        return (self._own_policy(container) or pod_policy) is RestartPolicy.ON_FAILURE

    def resets(self, container: Container, pod: Pod, instance: SimulatedInstance) -> bool:
        """Whether this exit restarts all containers of the pod."""
        return (
            self.rules
            and self.reset
            and container.kind is not ContainerKind.EPHEMERAL
            and (instance.exit_code != 0 or self.behaviour.resets_on_zero)
            and self._is_reset(container, pod, instance)
        )

    def _is_reset(self, container: Container, pod: Pod, instance: SimulatedInstance) -> bool:
        action = self.action(container, pod, instance)
        if self.behaviour.resets_by_any_rule and action is Action.RESTART:
            return any(each.action is Action.RESTART_ALL_CONTAINERS for each in container.rules)
        return action is Action.RESTART_ALL_CONTAINERS

    def by_rule(self, container: Container, pod: Pod, instance: SimulatedInstance) -> bool:
        """Whether it is a rule that restarts the container."""
        return self._own_policy(container) is not None and self.action(container, pod, instance) is Action.RESTART

    def action(self, container: Container, pod: Pod, instance: SimulatedInstance) -> Action | None:
        """The action of the first rule that matches; None if none does."""
        behaviour = self.behaviour
        if not self.rules or not self._heeds_rules(container, pod, instance):
            return None
        exit_code = instance.exit_code
        if behaviour.rules_see_previous and instance.previous_code is not None:
            exit_code = instance.previous_code
        rules = self._rules(container, pod)[: 1 if behaviour.first_rule_only else behaviour.most_rules]
        if not behaviour.resets_by_not_in:
            rules = tuple(
                each
                for each in rules
                if each.operator is Operator.IN or each.action is not Action.RESTART_ALL_CONTAINERS
            )
        if behaviour.rules_end_at_not_in:
            first = next((at for at, rule in enumerate(rules, 1) if rule.operator is Operator.NOT_IN), len(rules))
            rules = rules[:first]
        if behaviour.not_in_together and any(
            exit_code in each.values for each in rules if each.operator is Operator.NOT_IN
        ):
            rules = tuple(each for each in rules if each.operator is Operator.IN)
        matching = [rule.action for rule in rules if self._matches(rule, exit_code)]
        if not matching:
            return None
        return matching[-1 if behaviour.rules_reversed else 0]

    def _rules(self, container: Container, pod: Pod) -> tuple[RestartRule, ...]:
        """The rules that are asked: the container's own, but for a faulty kubelet."""
        first = pod.of_kind(container.kind)[0]
        match self.behaviour.rules_of:
            case "first only":
                return container.rules if container is first else ()
            case "first for all":
                return first.rules
        return container.rules

    def _heeds_rules(self, container: Container, pod: Pod, instance: SimulatedInstance) -> bool:
        """Whether rules are looked at after this exit: always, but for a faulty kubelet."""
        behaviour = self.behaviour
        too_old = (
            behaviour.rules_up_to_run_ns is not None
            and instance.exited_ns is not None
            and instance.exited_ns - (instance.started_ns or instance.exited_ns) > behaviour.rules_up_to_run_ns
        )
        return (
            behaviour.heeds_rules
            and not (instance.killed and not behaviour.rules_after_kill)
            and not (instance.out_of_memory and not behaviour.rules_on_oom)
            and instance.exit_code <= behaviour.rules_up_to_code
            and (behaviour.rules_on_init or container.kind is not ContainerKind.INIT)
            and not (behaviour.rules_when_alone and len(pod.containers) > 1)
            and not (behaviour.rules_under_never_only and pod.restart_policy is not RestartPolicy.NEVER)
            and not (behaviour.rules_without_init and pod.of_kind(ContainerKind.INIT))
            and not (behaviour.rules_under_own_never_only and container.restart_policy is not RestartPolicy.NEVER)
            and not (behaviour.rules_up_to_restart is not None and instance.number >= behaviour.rules_up_to_restart)
            and not too_old
        )

    def _matches(self, rule: RestartRule, exit_code: int) -> bool:
        behaviour = self.behaviour
        if exit_code == 0 and behaviour.rules_on_zero is not None:
            return behaviour.rules_on_zero
        not_in = rule.operator is Operator.NOT_IN
        if not_in and (exit_code > behaviour.not_in_up_to or (exit_code == 0 and behaviour.not_in_skips_zero)):
            return False
        if not_in and behaviour.not_in_any:
            return any(value != exit_code for value in rule.values)
        values = rule.values[: 1 if behaviour.first_value_only else behaviour.most_values]
        if behaviour.last_value_ignored and len(values) > 1:
            values = values[:-1]
        wants_member = (rule.operator is Operator.IN) != behaviour.operators_swapped
        if behaviour.searches_values:
            place = bisect_left(values, exit_code)
            return (values[place : place + 1] == (exit_code,)) is wants_member
        return (exit_code in values) is wants_member

    def _by_policy(self, policy: RestartPolicy, instance: SimulatedInstance) -> bool:
        """What a restart policy says where no rule does."""
        behaviour, exit_code, is_first = self.behaviour, instance.exit_code, instance.number == 0
        match policy:
            case RestartPolicy.ALWAYS:
                return exit_code != 0 or behaviour.always_ends_with_0 != "always"
            case RestartPolicy.NEVER:
                if (behaviour.kill_restarts_never and instance.killed) or (
                    behaviour.retries_refused and instance.refused
                ):
                    return True
                from_code = behaviour.never_restarts_from
                return (behaviour.never_restarts_once and is_first) or (
                    from_code is not None and exit_code >= from_code
                )
            case RestartPolicy.ON_FAILURE:
                if instance.out_of_memory and not behaviour.oom_is_failure:
                    return False
                return (
                    0 < exit_code <= behaviour.on_failure_up_to
                    or behaviour.on_failure_is_always
                    or (behaviour.rules_gate_means_always and self.rules)
                    or (behaviour.on_failure_restarts_0_once and exit_code == 0 and is_first)
                )

    def _given_up(self, instance: SimulatedInstance) -> bool:
        after = self.behaviour.gives_up_after
        ended_by_hook = instance.hook_fails and not self.behaviour.restarts_hook_kills
        return ended_by_hook or (after is not None and instance.number >= after)

    def _own_policy(self, container: Container) -> RestartPolicy | None:
        if container.is_sidecar:
            return container.restart_policy
        if not self.rules or not self.behaviour.heeds_container_policy:
            return None
        if container.kind is ContainerKind.INIT and not self.behaviour.heeds_init_policy:
            return None
        return container.restart_policy
