"""What each life of a container finds around it, by the names of its journal's notes.

Theory of operation. A restart makes a new container in the same pod: its root filesystem begins anew, its environment is read
again from the objects, its postStart hook runs once, and the pod's volumes stay as they are. A loop inside of the container is
no restart, so all of its passes share one root filesystem.
Source: KEP-5593, "Task isolation", "Kubelet overhead analysis", "Appendix A"; KEP-5307, "Wrapping entrypoint";
pkg/kubelet/kubelet_pods.go@v1.37.1 makeEnvironmentVariables, pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer.
"""

from collections.abc import Mapping

from crashloop.spec.pod import Container

ROOT, VOLUME, PASSES, HOOK, HOOK_AGAIN = "root", "volume", "passes", "hook", "hook.again"
SKIPPED = "skipped"
"""How many lives of its program a pod leaves out."""
FRESH, USED, RAN = "fresh", "used", "ran"

HOOK_WITHIN_S = 0.5
"""From a container's first note to that of its hook on a host that does not hold it up; 0.06 s to 0.13 s were measured."""
KNOWN_WITHIN_S = 5.0
"""A kubelet knows a changed ConfigMap or Secret within this time: it watches those of its pods."""


def root_notes(container: Container) -> Mapping[str, str]:
    """What every life is to note of its root filesystem, by name."""
    fresh = {ROOT: FRESH} if container.program.marks_root else {}
    return fresh | ({PASSES: str(container.program.passes)} if container.program.passes else {})


def volume_notes(container: Container, *, is_first: bool) -> Mapping[str, str]:
    """What a life is to note of the pod's volume in memory, by name: each finds the mark of the first."""
    return {VOLUME: FRESH if is_first else USED} if container.program.marks_volume else {}


def hook_notes(container: Container) -> Mapping[str, str]:
    """What the hook of every life is to note, by name."""
    return {HOOK: RAN} if container.post_start else {}
