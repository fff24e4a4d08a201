"""The input of the backoff model about one container: its lives, and changes of its counter between them.

All times are seconds of one clock. Entries are in order of time: a mark during a life, or during the wait after it,
follows that life.
"""

from enum import StrEnum

import msgspec

from crashloop.model.in_force import InForce


class Lived(msgspec.Struct, frozen=True):
    """One instance of a container."""

    started_attempt_s: float
    """When the kubelet set out to start it. The runtime's create will do, it follows within a second."""
    finished_s: float | None
    """When it exited; None while it runs."""
    killed_by_kubelet: bool = False
    """A failed probe, or a changed definition, had it killed."""
    restart_all: bool = False
    """Its end was part of a RestartAllContainers: it triggered that, or was killed by it."""
    created_late_s: float = 0.0
    """For how much longer than usual the host held its create up, after the start attempt."""


class CounterLost(msgspec.Struct, frozen=True):
    """The kubelet started again at `at_s`; its counters are in memory."""

    at_s: float
    in_force: InForce | None = None
    """What the new process runs with; None: the same as the one before."""


class ChangedPart(StrEnum):
    """What of a container's definition changed."""

    IMAGE = "image"
    RESOURCES = "resources"


class KeyChanged(msgspec.Struct, frozen=True):
    """An accepted update changed a part of the container that the kubelet's backoff key holds."""

    at_s: float
    part: ChangedPart = ChangedPart.RESOURCES
    late_s: float = 0.0
    """For how long the host had held the kubelet up before it, so that an exit may have gone unnoticed until then."""


class DeadContainerRemoved(msgspec.Struct, frozen=True):
    """The exited instance was removed from the runtime: the kubelet no longer knows of an exit."""

    at_s: float


class StartAttemptFailed(msgspec.Struct, frozen=True):
    """The kubelet tried to start the container and failed before it ran (image, configuration, create)."""

    at_s: float


class StartsBlocked(msgspec.Struct, frozen=True):
    """From `at_s` to `until_s` no start of the container could succeed: an object that it needs was missing."""

    at_s: float
    until_s: float
    late_s: float = 0.0
    """For how long the host had held the kubelet up before it, so that a start that was due may have waited until then."""


Mark = CounterLost | KeyChanged | DeadContainerRemoved | StartAttemptFailed | StartsBlocked
Observed = Lived | Mark
