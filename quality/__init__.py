"""Proof that the suite catches real kubelets that behave wrongly while everything they say agrees.

Theory of operation. One local cluster whose nodes run wrong kubelets: each node's kubelet binary is a script of ours that
starts the real, unmodified kubelet with helpers around it. A proxy between kubelet and runtime tells the kubelet what
is not so, or the kubelet runs with another configuration than the one that it shows. The suite reads the runtime
itself and the containers' own journals, so it must say FAIL and name the broken promise. Beside the faults stand
disturbances, which must never read as a PASS, and true nodes, which must pass. `python -m quality` runs it all.
"""
