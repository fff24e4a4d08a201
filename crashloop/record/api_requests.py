"""An API scenario: requests to the API server one after the other, each with its answer."""

import time
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from crashloop.errors import ClusterError
from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.answers import Answer, collection
from crashloop.kube.client import NOT_FOUND, PROTOBUF, STRATEGIC_MERGE
from crashloop.kube.errors import ApiUnreachable, KubeError
from crashloop.record.channels.events import intervention_event, now_ns, received_event
from crashloop.record.single_task import SingleTask, log
from crashloop.record.site import RecordingSite, outages_of
from crashloop.spec.control_plane import ApiRequest, Component, Verb
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.scenario import ApiScenario
from crashloop.waiting import WaitTimeout, wait_until

GONE_WITHIN_S = 30.0
NOT_NOW = 429
"""The API server rejects a request without processing it (API priority and fairness)."""
_AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}


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
                self._api.answer(doing, "DELETE", path, body=_AT_ONCE)
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
