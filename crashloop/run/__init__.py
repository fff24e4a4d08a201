"""A conformance run: its plan, its directory, its judgement and what is published of it."""
