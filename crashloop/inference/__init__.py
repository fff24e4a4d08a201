"""PURE: from what pod statuses say about restarts to the curve that a node follows."""
