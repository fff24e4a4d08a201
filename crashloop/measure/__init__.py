"""Measuring a cluster from outside: metrics of its components, and what its processes and this harness take."""
