"""Stress runs: a load as data, a run that measures what it does to nodes, and the report about it."""
