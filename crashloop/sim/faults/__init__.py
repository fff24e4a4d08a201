"""Planted faults of the simulated kubelet, one small change per row, one file per subject."""

from itertools import chain

from crashloop.sim.faults.admission import AdmissionFault
from crashloop.sim.faults.api_server import ApiServerFault
from crashloop.sim.faults.company import CompanyFault
from crashloop.sim.faults.configuration import ConfigurationFault
from crashloop.sim.faults.connection import ConnectionFault
from crashloop.sim.faults.counter import CounterFault
from crashloop.sim.faults.curve import CurveFault
from crashloop.sim.faults.decision import DecisionFault
from crashloop.sim.faults.distinction import DistinctionFault
from crashloop.sim.faults.fault import Fault, behaviour_of
from crashloop.sim.faults.job import JobFault
from crashloop.sim.faults.metrics import MetricsFault
from crashloop.sim.faults.node import NodeFault
from crashloop.sim.faults.pull import PullFault
from crashloop.sim.faults.punctuality import PunctualityFault
from crashloop.sim.faults.restart import RestartFault
from crashloop.sim.faults.statement import StatementFault
from crashloop.sim.faults.static_pod import StaticPodFault

FAULTS: tuple[Fault, ...] = tuple(
    chain(
        CurveFault,
        PunctualityFault,
        CounterFault,
        DecisionFault,
        CompanyFault,
        DistinctionFault,
        RestartFault,
        NodeFault,
        ConnectionFault,
        StatementFault,
        MetricsFault,
        ConfigurationFault,
        ApiServerFault,
        AdmissionFault,
        JobFault,
        StaticPodFault,
        PullFault,
    )
)
"""All of them; their names are unique."""

__all__ = [
    "FAULTS",
    "AdmissionFault",
    "ApiServerFault",
    "CompanyFault",
    "ConfigurationFault",
    "ConnectionFault",
    "CounterFault",
    "CurveFault",
    "DecisionFault",
    "DistinctionFault",
    "Fault",
    "JobFault",
    "MetricsFault",
    "NodeFault",
    "PullFault",
    "PunctualityFault",
    "RestartFault",
    "StatementFault",
    "StaticPodFault",
    "behaviour_of",
]
