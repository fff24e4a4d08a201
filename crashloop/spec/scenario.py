"""Scenarios: one request to Kubernetes, with its needs, interventions and end of observation.

Tests declare scenarios; the recorder carries them out; checkers judge the recording. Everything is data.
A kind of scenario is a class of this file. Every layer has one table from kinds to its part of the work:
crashloop.record.stage, crashloop.checks.kinds, sim.kinds, crashloop.run.kinds, crashloop.report.curves.
The claims of a text scenario are data; crashloop.model.restart_counts computes them again.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Self

import msgspec

from crashloop.spec.control_plane import ApiRequest, ControlPlane, fault_of_requests
from crashloop.spec.dependency import PASSWORD_KEY, ConfigObject, Variable, fault_of_images, fault_of_objects
from crashloop.spec.intervention import (
    CHANGE_A_CONTAINER,
    DISTURB_NODE,
    NEED_OWN_CONTROL_PLANE,
    RESTART_THE_KUBELET,
    Intervention,
    InterventionKind,
)
from crashloop.spec.owner import Deployment, Job, Owner, fault_of_owner
from crashloop.spec.pod import ContainerKind, Pod


class Figure(StrEnum):
    """What is counted. The free restart is left out, as the KEPs do."""

    RESTARTS = "restarts"
    """Restarts by `by_s`."""
    ADDED = "added"
    """Those beyond the restarts of the default curve."""
    ADDED_AT_MAXIMUM = "added-at-maximum"
    """Those in a time of `by_s` once both curves are at their maximum."""
    ADDED_LATE_SHARE = "added-late-share"
    """The share of the added ones that comes after the first 70 s."""
    WAITS_BELOW = "waits-below"
    """How many of the first waits are shorter than `than_s`."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A number in a text: it is said to lie between `least` and `most`."""

    says: str
    """What the text says, as a clause."""
    figure: Figure
    initial_s: float
    maximum_s: float
    waits_s: tuple[float, ...] = ()
    """Waits instead of those of a curve."""
    by_s: float = 0.0
    run_s: float = 0.0
    """Length of each life."""
    than_s: float = 0.0
    times: float = 1.0
    """What the number is multiplied by: requests per restart."""
    least: float
    most: float


POKE_EVERY_S = (0.7, 1.3)
"""Least and most seconds between two patches of the annotated mode, drawn for every patch.

Patches exactly once a second would come at the same moment of every relist, which also comes once a second, so that all
delays of a run were late by the same luck.
"""


class Mode(StrEnum):
    """How the kubelet is made to look at the pod; never mixed in one scenario (kubelet-semantics: requeue)."""

    NATURAL = "natural"
    """Nothing touches the pod: what users get, requeue jitter included."""
    ANNOTATED = "annotated"
    """An annotation is patched about once a second (`POKE_EVERY_S`), so each delay shows the due delay itself."""


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """When a scenario's evidence is complete.

    Complete means: every container named in `restarts` was seen to restart that often, every one in `exits` to exit
    that often, the phase was seen, `at_least_s` seconds have passed since the pod was created, and `quiet_s` more
    seconds were watched after all that, to see that nothing follows: they begin anew with each further restart or exit.
    `at_most_s` ends the watch in any case; what is missing then is for the checkers to weigh.
    """

    restarts: dict[str, int] = {}
    exits: dict[str, int] = {}
    phase: str | None = None
    at_least_s: float = 0.0
    quiet_s: float = 0.0
    at_most_s: float = 90.0


class AnyScenario(msgspec.Struct, frozen=True, kw_only=True):
    """What every kind of scenario states about itself, for plans and schedules."""

    name: str
    """Unique in a plan; lower-case letters, digits and dashes."""
    control_plane: ControlPlane | None = None
    """The control plane that it has for itself, with its node; None: it shares that of the run."""

    @property
    def own_gates(self) -> dict[str, bool]:
        """Gates of its control plane, on top of those of the run."""
        return {} if self.control_plane is None else self.control_plane.feature_gates

    @property
    def scenarios(self) -> tuple[Self, ...]:
        """The scenarios whose histories a judgement on it takes: itself. A comparison has several."""
        return (self,)

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of the scenarios that are compared: none."""
        return ()

    @property
    def node_profile(self) -> str | None:
        """Name of the kubelet profile of the node that it runs on; None: it needs no node."""
        return None

    @property
    def judged_profile(self) -> str | None:
        """Name of the kubelet profile whose behaviour is judged; None: no kubelet is judged."""
        return self.node_profile

    @property
    def subject(self) -> str:
        """The judged kubelet profile, or another judged component."""
        raise NotImplementedError

    @property
    def longest_s(self) -> float:
        """Seconds after which its watch has ended in any case."""
        raise NotImplementedError

    @property
    def disturbs_node(self) -> bool:
        """Whether no other scenario may run on its node meanwhile."""
        return False

    @property
    def renews_pod(self) -> bool:
        """Whether its static pod ends and comes again under the same uid, so that lives of two pods look like those of one."""
        return False

    @property
    def starts(self) -> int:
        """Sandboxes and containers that its launch starts on the host at once."""
        return 0

    @property
    def pod_spec(self) -> Pod | None:
        """The pod that it is about, if it is about one."""
        return None

    @property
    def later_profiles(self) -> tuple[str, ...]:
        """Names of the kubelet profiles that it restarts the kubelet of its node with."""
        return ()

    @property
    def refused_profiles(self) -> tuple[str, ...]:
        """Names of those that the kubelet is to refuse."""
        return ()

    @property
    def profiles(self) -> tuple[str, ...]:
        """Names of all kubelet profiles that it names."""
        named = (self.node_profile, self.judged_profile, *self.later_profiles, *self.refused_profiles)
        return tuple(dict.fromkeys(each for each in named if each is not None))


class PodScenario(AnyScenario, frozen=True, kw_only=True, tag="pod"):
    """One pod on one node with a kubelet profile, or the pods of an owner. Its name becomes the pod's, or the owner's."""

    profile: str
    """Name of the kubelet profile of the node."""
    pod: Pod
    until: Until
    mode: Mode = Mode.NATURAL
    interventions: tuple[Intervention, ...] = ()
    """Those on objects in the order in which they come."""
    objects: tuple[ConfigObject, ...] = ()
    """ConfigMaps and Secrets that the scenario makes, changes and removes."""
    by_scheduler: bool = False
    """Whether the pod selects its node by labels and the scheduler binds it; else it is bound when it is created."""
    samples: tuple[str, ...] = ()
    """Families of metrics that are read at the end: `kube_pod_...` of kube-state-metrics, others of the kubelet."""
    owner: Owner | None = None
    """What makes the pod; None: the recorder, through the API server. With a Job, evidence is complete once it has ended."""

    def __post_init__(self) -> None:
        passwords = [Variable(name=PASSWORD_KEY, object=each) for each in self.pull_secrets]
        needed = [*(variable for container in self.pod.containers for variable in container.env), *passwords]
        folders = [name for container in self.pod.containers for name in container.folders]
        done = [(each.action.value, each.arguments.get("object")) for each in self.interventions]
        faults = (self._fault_of_images(), self._fault_of_owner(), self._fault_of_control_plane())
        fault = fault_of_objects(self.objects, needed, folders, done) or next(filter(None, faults), None)
        if fault is not None:
            raise ValueError(f"scenario {self.name!r}: {fault}")

    def _fault_of_owner(self) -> str | None:
        is_amended = self.mode is Mode.ANNOTATED or bool(self.pod.of_kind(ContainerKind.EPHEMERAL))
        actions = [each.action for each in self.interventions]
        needs_api = self.by_scheduler or bool(self.objects)
        if self.is_uneven and (self.job is None or self.job.parallelism == 1):
            return "a program of the first pod only needs a Job of several pods"
        return fault_of_owner(
            self.owner,
            self.pod.restart_policy,
            actions,
            is_amended=is_amended,
            needs_api=needs_api,
            is_apart=self.control_plane is not None,
        )

    @property
    def job(self) -> Job | None:
        """The Job that makes its pods, if one does."""
        return self.owner if isinstance(self.owner, Job) else None

    @property
    def is_disturbed(self) -> bool:
        """Whether something is done to its pod or its node, beyond making the kubelet look."""
        return any(each.action is not InterventionKind.ANNOTATE for each in self.interventions)

    def keeps(self, container: str) -> bool:
        """Whether nothing of what is done ends it: the kubelet looks at its pods, restarts as it was, or has others changed."""
        return all(
            each.action is InterventionKind.ANNOTATE
            or (each.action in RESTART_THE_KUBELET and "profile" not in each.arguments)
            or (each.action in CHANGE_A_CONTAINER and each.arguments.get("container") != container)
            for each in self.interventions
        )

    @property
    def replaces_pods(self) -> bool:
        """Whether a controller makes another pod when one has ended."""
        return isinstance(self.owner, Job | Deployment)

    @property
    def renews_pod(self) -> bool:
        return any(each.action is InterventionKind.RENEW_STATIC_POD for each in self.interventions)

    @property
    def is_uneven(self) -> bool:
        """Whether the pods of its Job do not all live the same lives."""
        return any(each.program.first_pod_only for each in self.pod.containers)

    @property
    def pull_secrets(self) -> tuple[str, ...]:
        """Names of the objects that are pull secrets, each once."""
        images = (each.image for each in self.pod.containers)
        return tuple(dict.fromkeys(each.secret for each in images if each is not None and each.secret is not None))

    def _fault_of_images(self) -> str | None:
        pulled = {each.name for each in self.pod.containers if each.image is not None}
        actions = [each for each in self.interventions if each.action is InterventionKind.OFFER_IMAGE]
        is_named = self.owner is None or self.job is not None
        return fault_of_images(pulled, [each.arguments.get("container") for each in actions], is_named=is_named)

    def _fault_of_control_plane(self) -> str | None:
        felt = [each.action for each in self.interventions if each.action in NEED_OWN_CONTROL_PLANE]
        if felt and self.control_plane is None:
            return f"everything in a cluster feels {felt[0]}, so it needs a control plane for itself"
        return None

    @property
    def node_profile(self) -> str:
        return self.profile

    @property
    def subject(self) -> str:
        return self.profile

    @property
    def longest_s(self) -> float:
        return self.until.at_most_s

    @property
    def disturbs_node(self) -> bool:
        return self.control_plane is not None or any(each.action in DISTURB_NODE for each in self.interventions)

    @property
    def starts(self) -> int:
        return (1 + len(self.pod.containers)) * (1 if self.job is None else self.job.parallelism)

    @property
    def pod_spec(self) -> Pod:
        return self.pod

    @property
    def later_profiles(self) -> tuple[str, ...]:
        return tuple(self._profiles_to_come(refused=False))

    @property
    def refused_profiles(self) -> tuple[str, ...]:
        return tuple(self._profiles_to_come(refused=True))

    def _profiles_to_come(self, *, refused: bool) -> Iterable[str]:
        named = (each.profile for each in self.interventions if each.refused is refused)
        return dict.fromkeys(each for each in named if each is not None)


class StartupScenario(AnyScenario, frozen=True, kw_only=True, tag="startup"):
    """A second kubelet process, started inside the node of `profile` with the configuration of `candidate`.

    Evidence: whether it exited, with which status and text, or became healthy, within `at_most_s` seconds.
    """

    profile: str
    candidate: str
    """Name of the kubelet profile that is tried."""
    control: str | None = None
    """Name of a kubelet profile with a valid value that is tried in the same node: a refusal proves nothing without its start."""
    unknown_flags: tuple[str, ...] = ()
    """Arguments of the candidate's command line that the kubelet is not to know."""
    at_most_s: float = 30.0

    @property
    def node_profile(self) -> str:
        return self.profile

    @property
    def judged_profile(self) -> str:
        return self.candidate

    @property
    def subject(self) -> str:
        return self.profile

    @property
    def longest_s(self) -> float:
        return self.at_most_s

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each for each in (self.profile, self.candidate, self.control) if each is not None))


class ApiScenario(AnyScenario, frozen=True, kw_only=True, tag="api"):
    """Requests to the API server, one after the other. It needs no node; what it stores is deleted at its end.

    Evidence: the answer to each request: HTTP code, causes by field, warnings, and the object as stored.
    """

    requests: tuple[ApiRequest, ...]
    at_most_s: float = 30.0

    def __post_init__(self) -> None:
        fault = fault_of_requests(self.requests, has_own_server=self.control_plane is not None)
        if fault is not None:
            raise ValueError(f"scenario {self.name!r} {fault}")

    @property
    def subject(self) -> str:
        return API_SERVER

    @property
    def longest_s(self) -> float:
        return self.at_most_s


API_SERVER = "kube-apiserver"
"""What an API scenario judges, in the place of a kubelet profile."""


class TextScenario(AnyScenario, frozen=True, kw_only=True, tag="text"):
    """Numbers of a text, which are computed again. It needs no cluster, and nothing of it is recorded."""

    claims: tuple[Claim, ...]

    def __post_init__(self) -> None:
        if not self.claims:
            raise ValueError(f"scenario {self.name!r} has no claim")

    @property
    def subject(self) -> str:
        return TEXT

    @property
    def longest_s(self) -> float:
        return 0.0


TEXT = "text"
"""What a text scenario judges, in the place of a kubelet profile."""

Scenario = PodScenario | StartupScenario | ApiScenario | TextScenario
"""Any kind of scenario, as plan.json and histories hold it."""


def profiles_of(scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Names of the profiles that need a node, each once, in order of first use."""
    yield from dict.fromkeys(each.node_profile for each in scenarios if each.node_profile is not None)
