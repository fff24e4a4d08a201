"""What was asked of Kubernetes: policies, rules, container programs, kubelet profiles, scenarios. Pure data."""
