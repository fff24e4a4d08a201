"""The journal channel: what the containers of a pod wrote about themselves, read back through the pod's logs."""

from crashloop.history.event import Channel, Event
from crashloop.history.journal import Journal, journal_events, read_journal
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import KubeError
from crashloop.observe.events import gap, now_ns
from crashloop.observe.watched import WatchedScenario
from crashloop.waiting import WaitTimeout, wait_until

COMPLETE_WITHIN_S = 3.0
"""A container that was started just now prints its journal within this time, unless it cannot."""


def read_journals(api: KubeApi, namespace: str, watched: WatchedScenario) -> list[Event]:
    """The journals of all containers that have started in the pod there is now. What cannot be read becomes a gap."""
    return [
        event
        for container in watched.scenario.pod.containers
        if watched.starts(container.name) > 0
        for event in _journal_of(api, namespace, watched, container.name)
    ]


def _journal_of(api: KubeApi, namespace: str, watched: WatchedScenario, container: str) -> list[Event]:
    node = watched.node.name
    newest = Journal()

    def tells_all() -> bool:
        nonlocal newest
        newest = read_journal(api.read_log(namespace, watched.name, container))
        return newest.starts >= watched.starts(container)

    missing: str | None = None
    try:
        wait_until(f"the journal of {container}", tells_all, timeout_s=COMPLETE_WITHIN_S, every_s=0.2)
    except KubeError as error:
        missing = str(error)
    except WaitTimeout:
        missing = f"the journal tells of {newest.starts} starts; {watched.starts(container)} were expected"
    events = journal_events(newest, pod_uid=watched.pod_uids[-1], container=container, node=node, received_ns=now_ns())
    if missing is None:
        return [*events]
    return [*events, gap(Channel.JOURNAL, from_ns=0, to_ns=now_ns(), reason=f"{container}: {missing}", node=node)]
