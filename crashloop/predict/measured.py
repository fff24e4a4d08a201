"""Default costs, for predictions without a stress run of the user's: measured.json, which `python -m tools.default_costs` makes
of published runs."""

from datetime import datetime
from pathlib import Path

import msgspec

from crashloop.predict.costs import Costs, read_costs

MEASURED_FILE = Path(__file__).with_name("measured.json")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A published run whose costs are among the default ones."""

    profile: str
    started: datetime


class DefaultCosts(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of measured.json."""

    sources: tuple[Source, ...]
    costs: Costs


def _read(path: Path) -> DefaultCosts:
    found = msgspec.json.decode(path.read_bytes(), type=DefaultCosts)
    read_costs(msgspec.json.encode(found.costs), name=path.name)
    return found


_DEFAULT = _read(MEASURED_FILE)
MEASURED = _DEFAULT.costs
SOURCES = _DEFAULT.sources


def is_source(started: datetime) -> bool:
    """Whether the run that started then is one that the default costs are from: they predict nothing about it."""
    return any(each.started == started for each in SOURCES)


# Of the control plane, on 2 cores, Kubernetes 1.37.1. Durations are means by the API server's own metrics, in a run of `quick`
# with 9 crashing pods: GET of a pod; PATCH of a status, POST and PATCH of an event. The others are from bench/status_writes.py.
READ_S, WRITE_S = 0.0030, 0.0060
STATUS_SHARE = 0.5
"""Of the writes, those of a pod's status; the rest are events."""
MEASURED_REQUESTS_PER_S = 360.0
"""The highest rate at which replayed restarts kept up in three of four runs, on a host with other work."""
STORED_BYTES_PER_WRITE = 2000.0
"""Growth of etcd's database; pods of one container and a short status."""
