"""I/O: looking at a cluster without touching it."""
