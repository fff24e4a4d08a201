"""A simulated kubelet, independent of the model, with faults that can be planted. Pure, in virtual time.

Theory of operation. `simulate` runs a scenario on a simulated node and returns the history that a recorder would have
written. It is a second opinion: written from the KEPs and the kubelet's source, sharing nothing with crashloop.model.
Where model and simulation differ, one of them misreads Kubernetes.
"""

from sim.faults import FAULTS, Fault
from sim.host import CALM, HostModel
from sim.simulate import simulate, simulate_node, simulate_startup

__all__ = ["CALM", "FAULTS", "Fault", "HostModel", "simulate", "simulate_node", "simulate_startup"]
