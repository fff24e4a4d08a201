"""docs/benchmark.md: its tables and pictures, drawn from stress runs."""
