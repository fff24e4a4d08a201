"""What a status states as the message of an end, against what the life has left in its termination log.

Theory of operation. A life that ends by itself leaves its name there, and its exit stamp says so: the kubelet has to state that
name and no other. One that was killed may have left nothing, or may have been killed right after its words. Without such a
stamp, as in histories of earlier versions, nothing is judged. The kubelet puts what the runtime says of the end before the
text, which it keeps as long as the pod (pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 convertToKubeContainerStatus).
"""

import re
from collections.abc import Iterator

from crashloop.checks.finding import Finding, fail
from crashloop.history.instances import Instance
from crashloop.history.journal import last_words
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import ContainerState, StatusReport
from crashloop.words import at_lines

_WORDS = re.compile(r"(?:.*: )?(?P<container>\S+) life \d+", re.DOTALL)


def other_words(
    pod: PodHistory, name: str, status: StatusReport, state: ContainerState, instance: Instance
) -> Iterator[Finding]:
    """That a status states another text of an instance that has ended than that which it has left."""
    ended = instance.journal_exited or instance.exit
    if instance.life is None or ended is None:
        return
    own = last_words(name, instance.life)
    is_own = state.message == own or state.message.endswith(f": {own}")
    if is_own or not (instance.told or _is_of_another(pod, state.message)):
        return
    stated = f"message {state.message!r}" if state.message else "no message"
    left = f"left {own!r}" if instance.told else "left nothing"
    lines = (ended.line, status.line)
    yield fail(
        f'a status says {stated} of instance {instance.ordinal} of "{name}" {at_lines(lines)}; it {left}.', *lines
    )


def _is_of_another(pod: PodHistory, message: str) -> bool:
    """Whether it is the text of a life of this pod."""
    words = _WORDS.fullmatch(message)
    return words is not None and any(each.told for each in pod.instances(words["container"]))
