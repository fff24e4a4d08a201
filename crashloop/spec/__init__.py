"""The inputs of a run: policies, rules, container programs, kubelet profiles, scenarios. Pure data."""
