"""Planted faults of the simulated kubelet, one small change per row, one file per subject."""

from itertools import chain

from crashloop.sim.faults.company import CompanyFault
from crashloop.sim.faults.control_plane import AdmissionFault, ApiServerFault, ConnectionFault, JobFault
from crashloop.sim.faults.delay import CounterFault, CurveFault, PunctualityFault
from crashloop.sim.faults.distinction import DistinctionFault
from crashloop.sim.faults.fault import Fault, behaviour_of
from crashloop.sim.faults.node import ConfigurationFault, NodeFault, PullFault, StaticPodFault
from crashloop.sim.faults.restart import DecisionFault, RestartFault
from crashloop.sim.faults.statement import MetricsFault, StatementFault

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
