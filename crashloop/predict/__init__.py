"""Predicts the cost of restarts for a cluster: the KEPs' own arithmetic, and a model with measured costs. Pure."""
