"""Measures a cluster from outside: metrics of its components, and CPU and memory of its processes and of this harness."""
