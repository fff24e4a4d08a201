"""I/O of `crashloop observe`: watches a cluster read-only."""
