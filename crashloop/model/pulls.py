"""When the kubelet pulls an image, and when again after a failure. Seconds.

Theory of operation. A failed pull holds the next one back for 10 s, doubled by each further failure up to 300 s. The counter
is kept for each pod and image, apart from that of restarts, and is forgotten after twice its own maximum. Whether the pod is
restarted meanwhile, and by which maximum delay, has no part in it.
Source: KEP-5593 and KEP-4603, "Relationship with ImagePullBackOff"; documentation, Images, "ImagePullBackOff";
pkg/kubelet/kubelet.go@v1.37.1 imageBackOffPeriod, MaxImageBackOff, pkg/kubelet/images/image_manager.go pullImage.
"""

from collections.abc import Iterator

from crashloop.spec.dependency import PullPolicy

INITIAL_S, MAX_S = 10.0, 300.0


def pull_delays() -> Iterator[float]:
    """The least time from each failed pull to the next, without end."""
    delay_s = INITIAL_S
    while True:
        yield delay_s
        delay_s = min(2 * delay_s, MAX_S)


def pulls_at_restart(policy: PullPolicy) -> int:
    """How often a restart pulls an image that its node has."""
    return 1 if policy is PullPolicy.ALWAYS else 0
