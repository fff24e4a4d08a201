"""What is left of the exit of an init container that the kubelet removes to create another sandbox, and of its delay."""

from crashloop.model.variants import DOCUMENTED, SANDBOX_FORGETS_DELAY, SANDBOX_HIDES_EXIT
from crashloop.spec.pod import Container, ContainerKind


def may_be_hidden(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether the next instance may show no last exit of a container that ended with the sandbox of its pod."""
    # "Details about the container's last termination condition." -- k8s.io/api/core/v1/types.go@v0.37.1, lastState
    return container.kind is ContainerKind.INIT and SANDBOX_HIDES_EXIT in deviations


def ends_delay(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether its removal ends its delay, as if it had never run."""
    return container.kind is ContainerKind.INIT and SANDBOX_FORGETS_DELAY in deviations


def counts_anew(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether the restarts of its next instances are counted from 0, as if it had never run."""
    return ends_delay(container, deviations)
