"""The requirements of the example run, in the wording of the catalogue."""

from typing import Any

from crashloop.spec.requirement import Basis, Level, Requirement, Scope


def _requirement(name: str, sentence: str, source: str, **more: Any) -> Requirement:
    return Requirement(
        id=name,
        sentence=sentence,
        source=source,
        scope=Scope.FULL,
        checkers=("delays",),
        evidence="three delays",
        **({"basis": Basis.PROMISE} | more),
    )


REQUIREMENTS = {
    each.id: each
    for each in (
        _requirement(
            "BACKOFF-1", "After the free restart the delays MUST be 10, 20, 40, 80 s, doubling.", "KEP-5593, Summary"
        ),
        _requirement(
            "BACKOFF-2",
            "No restart after the first MUST come before its delay has passed, read over ten restarts.",
            "KEP-5593, e2e tests",
        ),
        _requirement(
            "BACKOFF-3",
            "A wait SHOULD end soon after the delay has passed.",
            "pkg/kubelet/pod_workers.go@v1.37.1, completeWork",
            level=Level.SHOULD,
            basis=Basis.SOURCE,
        ),
        _requirement(
            "BACKOFF-4",
            "The first restart MUST be free and not part of the curve.",
            "KEP-5593, Relationship with k/k#123602",
            note="The Summary counts restart 1 at 10 s; the kubelet and the quoted watch output start it at once.",
        ),
        _requirement("BACKOFF-7", "An exit with 0 under Always MUST be delayed like any other.", "KEP-5593, Proposal"),
        _requirement(
            "BACKOFF-8", "OnFailure MUST use the same curve and end the pod on exit code 0.", "KEP-4603, Proposal"
        ),
        _requirement("BACKOFF-9", "A container with restart policy Never MUST NOT be restarted.", "Pod Lifecycle"),
        _requirement("BACKOFF-11", "Each container MUST have a delay of its own.", "pkg/kubelet/kuberuntime@v1.37.1"),
        _requirement("BACKOFF-13", "The delay MUST be counted from the exit, not from the start.", "Pod Lifecycle"),
        _requirement("BACKOFF-17", "A sidecar MUST follow the same curve while other containers run on.", "KEP-753"),
        _requirement("CAP-2", "A configured maximum MUST end the growth of the delay.", "KEP-5593, Proposal"),
        _requirement(
            "CAP-3",
            "A maximum below 10 s MUST lower the first delay to that maximum.",
            "KEP-5593, Conflict resolution",
        ),
        _requirement("CAP-4", "With a maximum of 1 s, restarts MUST be at least 1 s apart.", "KEP-5593, Risks"),
        _requirement("CAP-6", "A maximum of 11 s MUST leave the first delay at 10 s.", "KEP-5593, Conflict resolution"),
        _requirement("CONFIG-1", "A configured maximum MUST be honoured when the gate is on.", "KEP-5593"),
        _requirement("CONFIG-2", "A maximum outside of 1 s to 300 s MUST stop the start of the kubelet.", "KEP-5593"),
        _requirement("CONFIG-3", "A maximum of 1 s and one of 300 s MUST be accepted.", "KEP-5593"),
        _requirement(
            "CONFIG-4",
            "With the gate off, a configured maximum MUST be ignored with a warning.",
            "KEP-5593, Conflict resolution",
        ),
        _requirement("CONFIG-5", "A maximum that is no duration MUST be refused.", "KubeletConfiguration v1beta1"),
        _requirement(
            "RESET-4",
            "A run of less than ten minutes MUST NOT reset the delay.",
            "Pod Lifecycle, container restarts",
        ),
        _requirement("DECAY-1", "With reduced decay the delays MUST be 1, 2, 4, 8, 16, 32 s.", "KEP-4603, Proposal"),
        _requirement(
            "RULES-3", "A rule that matches MUST restart a container whose policy is Never.", "KEP-5307, Summary"
        ),
        _requirement("RULES-4", "An exit code that no rule matches MUST end the pod as Failed.", "KEP-5307, e2e tests"),
        _requirement("RULES-6", "Rules MUST be tried in order; the first match wins.", "KEP-5307, Design Details"),
        _requirement(
            "RULES-12", "An init container MUST be restarted on matching codes until it exits with 0.", "KEP-5307"
        ),
        _requirement("RULES-16", "Restarts by rule MUST follow the backoff curve.", "KEP-5307, Risks"),
        _requirement("RULES-22", "restartCount MUST be the number of restarts.", "Pod v1 core"),
        _requirement(
            "STORY-6", "An OOM-killed sidecar MUST come back while the app is untouched.", "KEP-5593, story 3"
        ),
        _requirement("FAULT-1", "A restart of the kubelet MUST NOT restart running containers.", "KEP-5593, Skew"),
        _requirement("FAULT-2", "A restart of the runtime MUST NOT lose a restart.", "KEP-5307, Troubleshooting"),
        _requirement("PROBE-4", "Repeated liveness kills MUST wait 10, 20, 40 s.", "Pod Lifecycle, container probes"),
        _requirement("SKEW-2", "An older kubelet MUST follow the curve of its own release.", "Version skew policy"),
    )
}
