"""A conformance run: its plan, its judgement, and its published results."""
