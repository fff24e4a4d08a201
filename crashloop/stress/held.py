"""Gauges over time whose growth a row judges: what the restarts leave behind. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from crashloop.report.stress.results import Series
from crashloop.slo.rows import GrowthSli, SloRow
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.timeline import points_of

WORDS: Mapping[str, str] = {
    "component_process_ids": "process ids",
    "component_sockets": "sockets",
    "component_open_files": "open files",
    "cluster_files": "files and folders",
}
"""What a gauge counts."""
WHOLE_CLUSTER = "whole cluster"


def held(rows: Iterable[SloRow], scrapes: Sequence[Scrapes], *, began_ns: int) -> Iterator[Series]:
    """One line per selected series of every such row; seconds since the load began."""
    for row in rows:
        if not isinstance(row.sli, GrowthSli):
            continue
        for source in scrapes:
            if source.source.source != row.sli.source:
                continue
            for each in source.series:
                if each.name == row.sli.metric and row.sli.selects(each.labels) and len(each.values):
                    words = WORDS.get(each.name, each.name)
                    yield Series(
                        name=f"held, {words}: {each.labels.get('component', '')}",
                        node=each.labels.get("node") or WHOLE_CLUSTER,
                        unit=words,
                        points=points_of((each.t_ns - began_ns) / 1e9, each.values),
                    )
