"""The container runtime as a source of ground truth: containerd's own event stream."""
