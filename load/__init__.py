"""The load generator: Locust users that talk to the API server. Always a process of its own, started by crashloop.stress.

Only `locustfile.py` and what it imports at run time import Locust, which patches the process on import; the pure parts
(`manifests`, `steps`, `stages`, `pace`) do not.
"""
