"""What each life of a container finds around it, by the names of its journal's notes.

Theory of operation. A restart makes a new container in the same pod: its root filesystem begins anew, its environment is read
again from the objects, and its postStart hook runs once. A loop inside of the container is no restart, so all of its passes share
one root filesystem.
Source: KEP-5593, "Task isolation", "Kubelet overhead analysis", "Appendix A"; KEP-5307, "Wrapping entrypoint";
pkg/kubelet/kubelet_pods.go@v1.37.1 makeEnvironmentVariables, pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer.
"""

from collections.abc import Mapping

from crashloop.spec.scenario import Container

ROOT, PASSES, HOOK, HOOK_AGAIN = "root", "passes", "hook", "hook.again"
FRESH, RAN = "fresh", "ran"

HOOK_WITHIN_S = 0.5
"""From a container's first note to that of its hook on a host that does not hold it up; 0.06 s to 0.13 s were measured."""
KNOWN_WITHIN_S = 5.0
"""A kubelet knows a changed ConfigMap or Secret within this time: it watches those of its pods."""


def root_notes(container: Container) -> Mapping[str, str]:
    """What every life is to note of its root filesystem, by name."""
    fresh = {ROOT: FRESH} if container.program.marks_root else {}
    return fresh | ({PASSES: str(container.program.passes)} if container.program.passes else {})


def hook_notes(container: Container) -> Mapping[str, str]:
    """What the hook of every life is to note, by name."""
    return {HOOK: RAN} if container.post_start else {}
