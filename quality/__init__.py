"""Proof that the suite catches real kubelets that behave wrongly while their reports are consistent.

Theory of operation. The nodes of one local cluster run wrong kubelets: the kubelet binary of a node is a script that starts
the real, unmodified kubelet with helpers around it. A proxy between kubelet and runtime gives the kubelet false answers, or
the kubelet runs with another configuration than it shows. The suite reads the runtime itself and the containers' own
journals, so it must report FAIL and name the broken promise. Further nodes have disturbances, which must never give a PASS,
or correct kubelets, which must pass. `python -m quality` runs everything.
"""
