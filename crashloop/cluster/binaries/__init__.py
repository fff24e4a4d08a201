"""Binaries of a cluster: the user's own, the cache's, official releases, Go builds."""
