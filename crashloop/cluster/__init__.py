"""Clusters: binaries, images, and the providers that start nodes with the requested kubelet profiles."""
