"""Delays of the example of a report, in the range that kubelets show."""

from typing import Any

LATE = {0: 3.0, 1: 1.5, 2: 2, 4: 3, 8: 5, 10: 6, 11: 6.5, 16: 9, 20: 11, 32: 17, 40: 21}


def delays(
    *rows: tuple[float, float, float], container: str = "app", late: float | None = None
) -> list[dict[str, Any]]:
    """Rows of facts["delays"] from (due, created, seen)."""
    return [
        {
            "container": container,
            "restart": restart,
            "due_s": float(due),
            "latest_s": due + (LATE[int(due)] if late is None else late),
            "seen_s": seen,
            "created_s": created,
            "stalled_s": 0.0,
            "channel": "runtime",
            "reason": "free restart" if due == 0 else "backoff",
        }
        for restart, (due, created, seen) in enumerate(rows, start=1)
    ]


FREE = (0, 0.24, 0.37)
STOCK_NATURAL = delays(FREE, (10, 12.41, 12.55), (20, 26.03, 26.2), (40, 51.74, 51.88))
STOCK_ANNOTATED = delays(FREE, (10, 10.65, 10.79), (20, 20.71, 20.84), (40, 40.62, 40.75))
EXIT_ZERO = delays((0, 0.22, 0.35), (10, 13.87, 14.01), (20, 22.4, 22.52))
ON_FAILURE = delays((0, 0.29, 0.41), (10, 11.18, 11.33))
TWO = delays(FREE, (10, 14.2, 14.33), (20, 27.9, 28.04)) + delays((0, 0.31, 0.45), (10, 10.92, 11.1), container="slow")
LIVENESS = delays((0, 0.42, 0.55), (10, 0.38, 0.52), (20, 10.91, 11.03), (40, 21.22, 21.4))
MAX_1S = delays(
    (0, 0.22, 0.34), (1, 1.07, 1.19), (1, 1.59, 1.72), (1, 1.43, 1.55), (1, 2.25, 2.38), (1, 1.66, 1.79),
    (1, 0.51, 0.62), (1, 1.31, 1.44), (1, 1.92, 2.05), (1, 1.12, 1.23), (1, 1.84, 2.01), (1, 1.35, 1.46),
    (1, 1.58, 1.7), (1, 2.11, 2.24), (1, 1.22, 1.36), (1, 1.49, 1.63), (1, 1.77, 1.89), (1, 1.08, 1.2),
    (1, 1.61, 1.75), (1, 1.97, 2.1), (1, 1.29, 1.42), (1, 1.55, 1.68), (1, 1.73, 1.85), (1, 1.18, 1.31),
)  # fmt: skip
SIDECAR_OOM = delays(
    (0, 0.33, 0.47), (1, 1.42, 1.56), (1, 1.73, 1.88), (1, 2.04, 2.2), (1, 1.27, 1.4), container="proxy"
)
MAX_2S = delays(
    (0, 0.26, 0.39), (2, 2.87, 3.01), (2, 2.61, 2.74), (2, 3.12, 3.25), (2, 2.33, 2.47), (2, 3.41, 3.55),
    (2, 2.74, 2.87), (2, 2.92, 3.08), (2, 2.28, 2.4), (2, 3.05, 3.18),
)  # fmt: skip
RULE_42_DELAYS = delays(FREE, (2, 2.44, 2.58), (2, 3.18, 3.3), (2, 2.71, 2.86))
INIT_DELAYS = delays((0, 0.28, 0.4), (2, 2.66, 2.8), container="setup")
KUBELET_RESTART = [
    *delays(FREE, (2, 2.83, 2.97), (2, 2.52, 2.66)),
    {**delays((2, 6.94, 7.1))[0], "restart": 4, "stalled_s": 3.1, "reason": "backoff"},
]
MAX_10S = delays(FREE, (10, 10.65, 10.79), (10, 10.67, 10.8), (10, 10.65, 10.78), (10, 10.65, 10.77), (10, 10.68, 10.8))
MAX_11S = delays((0, 0.29, 0.42), (10, 10.66, 10.8), (11, 11.65, 11.77), (11, 11.67, 11.8), (11, 11.66, 11.79))
MAX_20S = delays(FREE, (10, 15.31, 15.44), (20, 23.87, 24.02), (20, 29.6, 29.77), (20, 21.45, 21.58))
RUN_590S = delays(FREE, (10, 10.66, 10.8), (20, 20.64, 20.77), (20, 20.21, 20.34), (20, 10.67, 10.81))
REDUCED = delays(
    FREE, (1, 1.44, 1.58), (2, 2.93, 3.05), (4, 5.27, 5.4), (8, 10.6, 10.73), (16, 21.88, 22.03), (32, 44.5, 44.65)
)
SKEW_NATURAL = delays((0, 1.24, 1.4), (2, 12.6, 12.74), (2, 13.6, 13.75), (2, 14.7, 14.84), (2, 15.6, 15.77), late=16)
SKEW_ANNOTATED = delays((0, 0.3, 0.44), (2, 2.62, 2.76), (2, 2.65, 2.79), (2, 2.68, 2.82), (2, 2.64, 2.77), late=16)
