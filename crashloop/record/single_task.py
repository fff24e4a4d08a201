"""Scenarios whose evidence is one piece of work, done in one thread.

Nothing for a text; for a startup scenario a second kubelet is tried in a node, beside the pods; for an API scenario requests are
sent to the API server one after the other.
"""

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from crashloop.cluster.provider import Capability, Node
from crashloop.errors import ClusterError, CrashloopError
from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.answers import Answer, ApiUnreachable, KubeError, collection
from crashloop.kube.client import NOT_FOUND, PROTOBUF, STRATEGIC_MERGE
from crashloop.record.channels.channel import intervention_event, now_ns, received_event
from crashloop.record.history_file import HistoryFile, end_events
from crashloop.record.scenario_loop import ScenarioStage
from crashloop.record.site import RecordingSite, outages_of
from crashloop.spec.control_plane import ApiRequest, Component, Verb
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.scenario import ApiScenario, Scenario, StartupScenario
from crashloop.waiting import WaitTimeout, wait_until

log = logging.getLogger(__name__)


class SingleTask:
    """Implements `crashloop.record.scenario_loop.ActiveScenario`; a subclass says what the work is."""

    def __init__(self, scenario: Scenario, node: Node | None, site: RecordingSite) -> None:
        self.stage = ScenarioStage.LAUNCHING
        self._planned = scenario
        self._node = node
        self._site = site
        self._file: HistoryFile | None = None

    @property
    def name(self) -> str:
        return self._planned.name

    @property
    def node_name(self) -> str | None:
        return None if self._node is None else self._node.name

    def step(self) -> Callable[[], None] | None:
        self.stage = ScenarioStage.WATCHED
        return self._carry_out

    def take(self, event: Event) -> None:
        """Write an event into the history."""
        if self._file is not None:
            self._file.append(event)

    def interrupt(self, detail: str) -> None:
        if self._file is not None:
            self._file.seal(end_events("interrupted", detail))
        self.stage = ScenarioStage.SEALED

    def record(self) -> tuple[str, str]:
        """Do the work, and `take` what comes of it; reason and detail of the history's end."""
        raise NotImplementedError

    def _carry_out(self) -> None:
        about = () if self._node is None else self._site.about(self._node)
        self._file = self._site.begin(self._planned, self._node, *about)
        self._site.router.listen(self)
        try:
            reason, detail = self.record()
        finally:
            self._site.router.unlisten(self.name)
        self._file.seal(end_events(reason, detail))
        self.stage = ScenarioStage.SEALED
        log.info("scenario %s: %s: %s", self.name, reason, detail)


class NothingToRecord(SingleTask):
    """Ends at once."""

    def record(self) -> tuple[str, str]:
        return "complete", "a text needs no recording"


class KubeletStart(SingleTask):
    """Tries the kubelet of a candidate profile, and that of the control profile."""

    def __init__(self, scenario: StartupScenario, node: Node, site: RecordingSite) -> None:
        super().__init__(scenario, node, site)
        self._scenario = scenario
        self._on = node.name

    def record(self) -> tuple[str, str]:
        cluster, control = self._site.cluster, self._scenario.control
        if Capability.KUBELET_CANDIDATE not in cluster.info.capabilities:
            return "interrupted", f"the cluster lacks the capability {Capability.KUBELET_CANDIDATE.value}"
        try:
            events = self._start(self._scenario.candidate, self._scenario.unknown_flags)
            for event in events:
                self.take(event)
            if control is not None:
                for event in self._site.controls.of(self._on, control, partial(self._start, control)):
                    self.take(event)
        except CrashloopError as error:
            return "interrupted", str(error)
        return "complete", f"the kubelet was tried: {', '.join(event.kind.value for event in events)}"

    def _start(self, profile: str, flags: tuple[str, ...] = ()) -> tuple[Event, ...]:
        candidate = msgspec.structs.replace(self._site.plan.profile(profile), arguments=flags)
        return self._site.cluster.try_kubelet(self._on, candidate, at_most_s=self._scenario.at_most_s)


GONE_WITHIN_S = 30.0
NOT_NOW = 429
"""The API server rejects a request without processing it (API priority and fairness)."""
_DELETE_AT_ONCE = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "gracePeriodSeconds": 0,
    "propagationPolicy": "Background",
}


class Stored(NamedTuple):
    """An object as JSON, and its size in the API server's storage encoding; None if it is not stored."""

    body: bytes | None
    size_bytes: int | None


class ApiRequests(SingleTask):
    """Sends requests; what they have stored is gone afterwards."""

    def __init__(self, scenario: ApiScenario, node: None, site: RecordingSite) -> None:
        super().__init__(scenario, node, site)
        self._scenario = scenario
        self._api = site.api
        self._stored: list[str] = []
        """Paths of the objects that are stored."""

    def record(self) -> tuple[str, str]:
        began_s = time.monotonic()
        try:
            for index, request in enumerate(self._scenario.requests):
                if time.monotonic() - began_s >= self._scenario.at_most_s:
                    return "deadline", f"still missing: answers to {len(self._scenario.requests) - index} requests"
                if request.feature_gates is not None and (failed := self._start_again(request.feature_gates)):
                    return "interrupted", failed
                answer = self._send(request)
                if answer.code == NOT_NOW or answer.code >= 500:
                    return "interrupted", f"request {index}: the API server answered {answer.code} {answer.reason}"
                self.take(answer_event(index, request, answer, self._read_back(request)))
        except ApiUnreachable as error:
            return "interrupted", str(error)
        finally:
            self._remove_stored()
        return "complete", "every request was answered"

    def _start_again(self, feature_gates: dict[str, bool]) -> str | None:
        """Start the API server with these gates; why that has failed, if it has."""
        began_ns, component = now_ns(), Component.API_SERVER
        outages = outages_of(self._site.cluster)
        try:
            outages.stop(component)
            outages.start(component, feature_gates)
        except ClusterError as error:
            return str(error)
        arguments = {"component": component.value, "feature_gates": feature_gates}
        self.take(intervention_event(began_ns, InterventionKind.START_COMPONENT, "ok", arguments=arguments))
        return None

    def _send(self, request: ApiRequest) -> Answer:
        query = {"fieldValidation": request.field_validation.value} | ({"dryRun": "All"} if request.dry_run else {})
        doing = f"scenario {self.name}: {request.verb.value} {request.object['kind']} {request.name}"
        one = self._path(request)
        if request.verb is Verb.PATCH:
            path = f"{one}/{request.subresource}" if request.subresource else one
            return self._api.answer(
                doing,
                "PATCH",
                path,
                query=query,
                body=request.object,
                content_type=STRATEGIC_MERGE,
                as_user=request.as_user,
            )
        answer = self._api.answer(
            doing, "POST", self._collection(request), query=query, body=request.object, as_user=request.as_user
        )
        if answer.body is not None and not request.dry_run:
            self._stored.append(one)
        return answer

    def _collection(self, request: ApiRequest) -> str:
        return collection(self._site.namespace, request.object["apiVersion"], request.object["kind"])

    def _path(self, request: ApiRequest) -> str:
        return f"{self._collection(request)}/{quote(request.name)}"

    def _read_back(self, request: ApiRequest) -> Stored:
        """The object as it is stored after its request."""
        path = self._path(request)
        found = self._api.answer(f"read {path}", "GET", path)
        size = self._api.answer(f"read {path}", "GET", path, accept=PROTOBUF)
        return Stored(found.body, None if size.body is None else len(size.body))

    def _remove_stored(self) -> None:
        for path in self._stored:
            doing = f"scenario {self.name}: remove {path}"
            gone = partial(self._is_gone, path)
            try:
                self._api.answer(doing, "DELETE", path, body=_DELETE_AT_ONCE)
                wait_until(f"{path} to be gone", gone, timeout_s=GONE_WITHIN_S, every_s=0.2)
            except (KubeError, WaitTimeout) as error:
                log.warning("scenario %s: %s is left behind: %s", self.name, path, error)

    def _is_gone(self, path: str) -> bool:
        return self._api.answer(f"read {path}", "GET", path).code == NOT_FOUND


def answer_event(index: int, request: ApiRequest, answer: Answer, stored: Stored) -> Event:
    """An answer as the history holds it. `index` is the position of its request in the scenario."""
    data: dict[str, Any] = {
        "index": index,
        "verb": request.verb.value,
        "dry_run": request.dry_run,
        "code": answer.code,
        "reason": answer.reason,
        "message": answer.message,
        "causes": [{"field": each.field, "reason": each.reason, "message": each.message} for each in answer.causes],
        "warnings": list(answer.warnings),
        "object": None if answer.body is None else msgspec.json.decode(answer.body),
        "found": None if stored.body is None else msgspec.json.decode(stored.body),
        "stored_bytes": stored.size_bytes,
    }
    return received_event(Channel.API, Kind.ANSWER, now_ns(), data)
