"""Clusters: binaries, images and the providers that bring nodes up with the kubelet profiles asked for."""
