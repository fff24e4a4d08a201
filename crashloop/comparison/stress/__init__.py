"""Comparison of two stress runs."""
