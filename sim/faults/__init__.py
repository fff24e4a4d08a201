"""Planted faults of the simulated kubelet, one small change per row, one file per subject."""

from itertools import chain

from sim.faults.company import CompanyFault
from sim.faults.control_plane import AdmissionFault, ApiServerFault, ConnectionFault, JobFault
from sim.faults.delay import CounterFault, CurveFault, PunctualityFault
from sim.faults.distinction import DistinctionFault
from sim.faults.fault import Fault, behaviour_of
from sim.faults.node import ConfigurationFault, NodeFault, PullFault, StaticPodFault
from sim.faults.restart import DecisionFault, RestartFault
from sim.faults.statement import MetricsFault, StatementFault

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
