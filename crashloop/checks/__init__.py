"""Checkers: what was recorded against what the model allows. Pure functions from a case to findings."""
