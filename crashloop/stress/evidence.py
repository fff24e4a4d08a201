"""Records a stress run: histories of the pods by every channel, and metrics of every component."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from crashloop.cluster.provider import Capability, Node
from crashloop.history.event import Event
from crashloop.measure.measuring import Measuring
from crashloop.measure.sampling import Scraped, scraped
from crashloop.record.channels.cluster_channels import ClusterChannels
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.lifeline import Lifeline
from crashloop.record.nodes import awaited_configz, node_event, read_configz
from crashloop.record.thread_crashes import ThreadCrashes
from crashloop.slo.rows import SloRow, families_of
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.folder import StressDir
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import StressProfile
from crashloop.stress.session import LoadEventRouter
from crashloop.stress.testbed import Site

LAST_WORDS_S = 2.0
"""Time after the load in which runtime and kubelets may still report on it."""


class StressEvidence:
    """Records from `recording` to its end."""

    def __init__(self, run: StressDir, plan: StressPlan, rows: tuple[SloRow, ...], site: Site) -> None:
        """`rows` add metrics to those that are always kept."""
        self._site = site
        self._plan = plan
        nodes = {name: (node, plan.kubelet(name)) for name, node in site.nodes.items()}
        self._kubelets: dict[str, KubeletProfile] = {node.name: kubelet for node, kubelet in nodes.values()}
        self._about: dict[str, Event] = {}
        self._crashes = ThreadCrashes()
        self._over = threading.Event()
        self.session = LoadEventRouter(
            plan.load.loads,
            nodes,
            site.info,
            run.history,
            lambda node: (self._about[node], *self._rig.readings(node)),
            run.load_dir,
            are_spread=bool(plan.spread),
        )
        self._rig = ClusterChannels(
            site.api, site.namespace, site.run, self.session, self._kubelet_restarted, shows_events=False
        )
        self._measuring = Measuring(
            site.api,
            msgspec.structs.replace(site.info, nodes=tuple(site.nodes.values())),
            run.metrics_dir,
            interval_s=plan.load.scrape_every_s,
            families=families_of(rows),
            scraped=scraped_of(plan.load, [node.name for node in site.nodes.values()]),
        )

    @property
    def crash(self) -> BaseException | None:
        """What ended a channel, such as a watch that the API server refuses; None while all of them follow."""
        return self._crashes.first

    @contextmanager
    def recording(self, lifeline: Lifeline) -> Iterator[None]:
        """Record; afterwards every history is sealed."""
        with self._crashes:
            self._rig.start()
            try:
                self._rig.add_nodes(self._site.info)
                self._about = {node.name: self._describe(node) for node in self._site.nodes.values()}
                with self._measuring:
                    yield
                    lifeline.broken.wait(LAST_WORDS_S)
            finally:
                self._over.set()
                self._rig.stop()
                reason = "interrupted" if lifeline.broken.is_set() else "deadline"
                self.session.close(reason, "the run has ended")

    def add_harness(self, pid: int) -> None:
        """Count a process as part of the harness."""
        self._measuring.add_harness(pid)

    def place(self, hosts: Mapping[str, str]) -> None:
        """From now on the nodes of the profile are these Node objects."""
        on_host = {node.name: node for node in self._site.nodes.values()}
        nodes = {name: (on_host[host], self._plan.kubelet(name)) for name, host in hosts.items()}
        self._kubelets = {node.name: kubelet for node, kubelet in nodes.values()}
        self.session.place(nodes)

    def scrape(self) -> None:
        """Scrape all sources now, for the edge of a measurement."""
        self._measuring.scrape_now()

    @property
    def _has_configz(self) -> bool:
        return Capability.CONFIGZ in self._site.info.capabilities

    def _describe(self, node: Node) -> Event:
        configz = read_configz(self._site.api, node.name) if self._has_configz else None
        return node_event(node.name, self._kubelets[node.name], configz, self._rig.process(node.name))

    def _kubelet_restarted(self, name: str, process: KubeletProcess) -> None:
        threading.Thread(target=self._answer, args=(name, process), name=f"restart-{name}", daemon=True).start()

    def _answer(self, name: str, process: KubeletProcess) -> None:
        """The restarted kubelet and its configuration, which it shows some seconds later."""
        configz = awaited_configz(self._site.api, name, is_over=self._over.is_set) if self._has_configz else None
        if self._rig.process(name) in (None, process):
            self._about[name] = node_event(name, self._kubelets[name], configz, process)
            self.session.node(name, self._about[name])


def scraped_of(profile: StressProfile, names: Sequence[str]) -> Scraped:
    """The nodes whose metrics are scraped: all that have an arm, since each of them is one side of a comparison."""
    compares = any(node.arm for node in profile.nodes)
    return scraped(names, at_most=len(names) if compares else profile.scrape_nodes, seed=profile.scrape_seed)
