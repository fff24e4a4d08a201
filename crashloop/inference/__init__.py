"""PURE: infers the curve of a node from the restarts in pod statuses."""
