"""What is left of the exit of an init container that the kubelet removes to create another sandbox."""

from crashloop.model.variants import DOCUMENTED, SANDBOX_HIDES_EXIT
from crashloop.spec.pod import Container, ContainerKind


def may_be_hidden(container: Container, deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether the next instance may show no last exit of a container that ended with the sandbox of its pod."""
    # "Details about the container's last termination condition." -- k8s.io/api/core/v1/types.go@v0.37.1, lastState
    return container.kind is ContainerKind.INIT and SANDBOX_HIDES_EXIT in deviations
