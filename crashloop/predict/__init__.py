"""Predictions of what restarts cost a cluster: the KEPs' own arithmetic, and a model fed with measured costs. Pure."""
