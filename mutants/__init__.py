"""Mutation testing of the kubelet's own restart code.

Theory of operation. `rewriter/` (Go) makes mutants of the functions that decide about restarts: copies with one change, all
in one kubelet, of which the environment variable MUTANT switches one on. Every mutant runs as a node of a local cluster and
meets the conformance scenarios of its function's battery: first a few, then, if it survived those, more. A node with the
same binary and no mutant meets all of them beside it: only what this node passes can accuse a mutant. A FAIL kills the
mutant. Survivors are either equivalent, with an argument in known.yaml, or holes in the suite. `python -m mutants` runs
everything; results per mutant are kept below runs/mutants, so that a run continues where the last one ended.
"""
