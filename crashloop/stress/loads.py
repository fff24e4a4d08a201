"""Loads of a cluster. Pure data, written in manifests/stress and carried out by load/.

A load is carried out by *users*, as Locust calls them. A user's objects are bounded in number and time, carry the label of
the run, and are removed when the user stops.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from crashloop.spec.pod import Action, RestartPolicy, RestartRule, cores
from crashloop.stress.pod_template import PodTemplate

LOAD_LABEL = "crashloop.dev/load"
"""Label of every object of a load: the load's name."""
WORKER_LABEL = "crashloop.dev/worker"
"""Label of every object of a load: the worker of Locust that made it, so that a worker follows its own."""
ASKED_ANNOTATION = "crashloop.dev/asked"
"""Annotation: when the create request was sent, nanoseconds of UTC."""

_SERVICE = re.compile(r"[a-z]{1,20}")
_CPU = re.compile(r"[1-9][0-9]{0,4}m")

MAX_IN_FLIGHT = 64
"""The most requests at one server."""
MOST_IMAGE_MIB = 2_000
"""The largest image; each node needs about twice that on its disk."""
MAX_LIVES = 100_000
"""The most exits of a container: a day at one exit per second."""


def _within(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:
        raise ValueError(f"{name} is {value:g}; expected {lowest:g} to {highest:g}")


class Load(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Common fields of all loads."""

    node: str
    """The node of the profile that it runs on."""

    @property
    def pods_each(self) -> int:
        """The most pods of one user at a time."""
        return 1


Volume = Literal["memory", "host"]
"""A volume that all containers of a pod mount beside that of their journals: in memory (tmpfs), or a folder of the host, which
makes the pod a stateful one (kubernetes/community, sig-scalability/slos/pod_startup_latency.md)."""


class StartUp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a program does in every life before it runs."""

    cpu_s: float = 1.0
    """CPU seconds that it takes."""
    read_mb: int = 50
    """MiB that it reads, from a file of the pod."""

    def __post_init__(self) -> None:
        _within("cpu_s", self.cpu_s, 0, 60)
        _within("read_mb", self.read_mb, 0, 1000)


class Crash(Load, frozen=True, kw_only=True, tag="crash"):
    """A crash storm: each user is one pod that exits again and again.

    With a rule the containers restart because of it (KEP-5307; RestartAllContainers: KEP-5532). `restart_policy` still applies
    to the pod, so under Never every restart is the rule's doing. With a template the pod is the user's own, which has to crash
    by itself.
    """

    containers: int = 1
    """Containers in the pod, all of which exit."""
    companions: int = 0
    """Healthy containers beside them."""
    run_s: float = 0.0
    """Duration of every life; 0 exits at once."""
    exit_code: int = 1
    succeeding: float = 0.0
    """Share of the pods, 0 to 1, that exit with 0 instead of `exit_code`."""
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS
    rule: RestartRule | None = None
    startup: StartUp | None = None
    host_network: bool = False
    """Whether the pod has the network of its node, and so none of a network plugin."""
    volume: Volume | None = None
    image_mib: int = 0
    """MiB of files in the image of the pod, beside the program; 0: the image of all other pods."""
    template: PodTemplate | str | None = None
    """The user's own pod: path of a YAML file, from the folder of the profile; in a resolved profile what was read there."""

    @property
    def own(self) -> PodTemplate | None:
        """The template, as read."""
        return self.template if isinstance(self.template, PodTemplate) else None

    @property
    def large_image(self) -> str | None:
        """Name of its image; None if that is the image of all other pods."""
        return f"localhost/crashloop/program-{self.image_mib}-mib:1" if self.image_mib else None

    def __post_init__(self) -> None:
        if self.template is not None:
            self._require_alone()
        _within("containers", self.containers, 1, 20)
        _within("companions", self.companions, 0, 10)
        _within("run_s", self.run_s, 0, 3600)
        _within("exit_code", self.exit_code, 1, 255)
        _within("succeeding", self.succeeding, 0, 1)
        _within("image_mib", self.image_mib, 0, MOST_IMAGE_MIB)
        if self.rule is not None and self.rule.action is Action.RESTART_ALL_CONTAINERS and self.containers != 1:
            raise ValueError(f"containers is {self.containers}; with RestartAllContainers one container triggers it")

    def _require_alone(self) -> None:
        """The template decides what the other fields say of a pod."""
        plain = {each.name: each.default for each in msgspec.structs.fields(self)}
        given = [name for name in plain.keys() - _BESIDE_TEMPLATE if getattr(self, name) != plain[name]]
        if given:
            names = ", ".join(sorted(given))
            raise ValueError(f"{names} beside template; the pod of the template is used as it is, so leave {names} out")


_BESIDE_TEMPLATE = frozenset({"node", "template"})
"""Fields of a crash load that go with a template."""


class Churn(Load, frozen=True, kw_only=True, tag="churn"):
    """Healthy pods that come and go at a rate (open model): created, started, held, deleted."""

    rate_per_s: float
    """Pods per second that one user creates."""
    hold_s: float = 5.0
    """Time from a pod's start to its deletion."""
    in_flight: int = 4
    """The most pods of one user at a time; an arrival beyond it is dropped, and counted as dropped."""
    start_within_s: float = 60.0
    """Longest time to a pod's start; then it is abandoned."""
    volume: Volume | None = None

    def __post_init__(self) -> None:
        _within("rate_per_s", self.rate_per_s, 0.01, 50)
        _within("hold_s", self.hold_s, 0, 600)
        _within("in_flight", self.in_flight, 1, 1000)
        _within("start_within_s", self.start_within_s, 1, 600)

    @property
    def pods_each(self) -> int:
        return self.in_flight


class Finish(Load, frozen=True, kw_only=True, tag="finish"):
    """Pods that end and have to stay down (open model): created, ended, watched, deleted. Their restart policy is Never."""

    rate_per_s: float
    """Pods per second that one user creates."""
    containers: int = 5
    """Containers in the pod; every exit is one that has to be final."""
    run_s: float = 0.5
    exit_code: int = 7
    rule: RestartRule | None = None
    """A rule that no exit of theirs matches."""
    hold_s: float = 4.0
    """Time from the exits to the pod's deletion: a kubelet that restarts wrongly does so without a delay."""
    in_flight: int = 4
    """The most pods of one user at a time; an arrival beyond it is dropped, and counted as dropped."""
    start_within_s: float = 60.0

    def __post_init__(self) -> None:
        _within("rate_per_s", self.rate_per_s, 0.01, 20)
        _within("containers", self.containers, 1, 20)
        _within("run_s", self.run_s, 0, 60)
        _within("exit_code", self.exit_code, 0, 255)
        _within("hold_s", self.hold_s, 3, 600)
        _within("in_flight", self.in_flight, 1, 100)
        _within("start_within_s", self.start_within_s, 1, 600)
        if self.rule is not None and self.rule.matches(self.exit_code):
            raise ValueError(f"rule matches exit code {self.exit_code}; the pods of this load have to stay down")

    @property
    def pods_each(self) -> int:
        return self.in_flight


class Jobs(Load, frozen=True, kw_only=True, tag="jobs"):
    """Jobs at a rate (open model), whose pods fail `failures` times before they succeed."""

    rate_per_s: float
    failures: int = 1
    """Exits with 1 before the exit with 0; the pod's restart policy is OnFailure, so the kubelet restarts it."""
    run_s: float = 0.2
    in_flight: int = 4
    complete_within_s: float = 120.0

    def __post_init__(self) -> None:
        _within("rate_per_s", self.rate_per_s, 0.01, 20)
        _within("failures", self.failures, 0, 10)
        _within("run_s", self.run_s, 0, 600)
        _within("in_flight", self.in_flight, 1, 100)
        _within("complete_within_s", self.complete_within_s, 1, 3600)

    @property
    def pods_each(self) -> int:
        return self.in_flight


class Rollout(Load, frozen=True, kw_only=True, tag="rollout"):
    """A Deployment with crashing pods and periodic rollouts."""

    replicas: int = 2
    period_s: float = 20.0
    """Seconds from one rollout to the next."""
    run_s: float = 0.5
    exit_code: int = 1

    def __post_init__(self) -> None:
        _within("replicas", self.replicas, 1, 50)
        _within("period_s", self.period_s, 1, 3600)
        _within("run_s", self.run_s, 0, 600)
        _within("exit_code", self.exit_code, 1, 255)

    @property
    def pods_each(self) -> int:
        return 2 * self.replicas


class Burst(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An interval with another rate of arrivals; a rate of 0: the clients go away, and what waits is given up."""

    after_s: float
    """Seconds after the demand began."""
    for_s: float
    rate_per_s: float

    def __post_init__(self) -> None:
        _within("after_s", self.after_s, 0, 7200)
        _within("for_s", self.for_s, 0.1, 7200)
        _within("rate_per_s", self.rate_per_s, 0, 500)

    @property
    def to_s(self) -> float:
        return self.after_s + self.for_s


class ServerProbe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A probe of a server, over HTTP; the defaults are those of Kubernetes."""

    period_s: int = 10
    timeout_s: int = 1
    failure_threshold: int = 3
    own_worker: bool = False
    """Whether it is answered beside the queue. Otherwise it waits behind the requests, and takes no work."""

    def __post_init__(self) -> None:
        _within("period_s", self.period_s, 1, 600)
        _within("timeout_s", self.timeout_s, 1, 600)
        _within("failure_threshold", self.failure_threshold, 1, 100)


class Demand(Load, frozen=True, kw_only=True, tag="demand"):
    """A server with a queue before its workers, and HTTP requests to it by a Poisson process (open model).

    Requests are kept until they are answered: what a server does not answer, because it is slow or down, is its backlog.
    """

    rate_per_s: float
    bursts: tuple[Burst, ...] = ()
    """In order, apart from each other."""
    seed: int = 1
    """Of the arrivals: loads with the same rates and seed have the same ones."""
    work_ms: float = 10.0
    """CPU time of one answer; about 1 ms comes on top for the program that gives it."""
    workers: int = 4
    """Requests that the server works on at once; further ones wait in its queue, in order."""
    in_flight: int = 16
    """The most requests at the server; further ones wait at the clients."""
    cpu_request: str = "10m"
    cpu_limit: str | None = None
    probe: ServerProbe | None = ServerProbe()
    """For liveness."""
    readiness: ServerProbe | None = None
    service: str | None = None
    """Name of a Service that loads share: their requests go to its ready endpoints in turn, and not each to its own server."""

    def __post_init__(self) -> None:
        _within("rate_per_s", self.rate_per_s, 0.01, 200)
        _within("work_ms", self.work_ms, 0, 10_000)
        _within("workers", self.workers, 1, 100)
        _within("in_flight", self.in_flight, 1, MAX_IN_FLIGHT)
        for name, value in (("cpu_request", self.cpu_request), ("cpu_limit", self.cpu_limit)):
            if value is not None and not _CPU.fullmatch(value):
                raise ValueError(f"{name} is {value!r}; expected thousandths of a core, such as 50m")
        if self.service is not None and not _SERVICE.fullmatch(self.service):
            raise ValueError(f"service is {self.service!r}; expected 1 to 20 small letters")
        for before, after in pairwise(self.bursts):
            if after.after_s < before.to_s:
                raise ValueError(
                    f"bursts: one begins at {after.after_s:g} s, before {before.to_s:g} s, the end of the one before"
                )

    @property
    def limit_cores(self) -> float | None:
        return None if self.cpu_limit is None else cores(self.cpu_limit)


class Canary(Load, frozen=True, kw_only=True, tag="canary"):
    """Reads of the API server at a rate (open model), of each kind in turn.

    The kinds are a GET of a pod of its own, a LIST of the run's pods and, if asked for, a streaming list of these.
    """

    rate_per_s: float = 2.0
    """Reads per second, of all kinds together."""
    watch_lists: bool = False
    """Whether a streaming list of the run's pods has its turn, too; a LIST where the API server serves none."""
    answer_within_s: float = 10.0
    """Timeout of a read."""
    in_flight: int = 20

    def __post_init__(self) -> None:
        _within("rate_per_s", self.rate_per_s, 0.01, 50)
        _within("answer_within_s", self.answer_within_s, 0.1, 60)
        _within("in_flight", self.in_flight, 1, 500)


OpenLoad = Churn | Finish | Jobs | Demand | Canary
"""Loads with a rate of arrivals."""
AnyLoad = Crash | Churn | Finish | Jobs | Rollout | Demand | Canary


def group(load: AnyLoad) -> str:
    """The group of a load's pods in measurements: crasher, healthy, finished, job, server or canary."""
    return _GROUPS[type(load)]


_GROUPS: dict[type[Load], str] = {
    Crash: "crasher",
    Churn: "healthy",
    Finish: "finished",
    Jobs: "job",
    Rollout: "crasher",
    Demand: "server",
    Canary: "canary",
}


GROUPS = frozenset(_GROUPS.values())
"""The groups that a row of manifests/slo may name."""


def large_images(loads: Iterable[AnyLoad]) -> dict[str, int]:
    """The MiB of every large image of some loads, by its name."""
    found = ((each.large_image, each.image_mib) for each in loads if isinstance(each, Crash))
    return {name: mib for name, mib in found if name is not None}


def is_stateless(load: AnyLoad) -> bool:
    """Whether its pods are in the scope of the official SLI of stateless pods."""
    if isinstance(load, Crash) and load.own is not None:
        return load.own.is_stateless
    return not (isinstance(load, Crash | Churn) and load.volume == "host")


def has_known_delays(load: AnyLoad) -> bool:
    """Whether exits are the containers' own, so that the model gives the due delay: no kills, no RestartAllContainers.

    Of a template, whether that holds for any life: a probe may have ended one that lasts (crashloop.restarts.restart).
    """
    if isinstance(load, Crash) and load.own is not None:
        return not load.own.pod.restarts_all and all(load.own.killed_after_s.values())
    return isinstance(load, Crash) and (load.rule is None or load.rule.action is not Action.RESTART_ALL_CONTAINERS)


def exit_codes(load: Crash | Finish) -> frozenset[int]:
    """The codes with which pods of the load exit."""
    if isinstance(load, Finish):
        return frozenset({load.exit_code})
    failing = {load.exit_code} if load.succeeding < 1 else set()
    return frozenset(failing | ({0} if load.succeeding > 0 else set()))


def succeeds(load: Crash, serial: int) -> bool:
    """Whether the pod with that serial number exits with 0: of the first n pods, n times the share do, rounded down."""
    return int((serial + 1) * load.succeeding + 1e-9) > int(serial * load.succeeding + 1e-9)


def load_of(pod: str, loads: Sequence[str]) -> str | None:
    """The load of a pod, by the pod's name: the longest name of a load that is its prefix."""
    fitting = [name for name in loads if pod.startswith(f"{name}-")]
    return max(fitting, key=len, default=None)
