"""Conformance and stress suite for how Kubernetes restarts crashing containers."""

__version__ = "0.1.0"
