"""Which host a node of the profile is in a stage: the arms of a comparison may change places from round to round. Pure."""

from collections.abc import Mapping, Sequence

from crashloop.stress.loads import AnyLoad
from crashloop.stress.profile import Stage


def host_of(node: str, stage: Stage, hosts: Mapping[str, str]) -> str:
    """Name of the Node object for a node of the profile in a stage; `hosts` are those of the beginning."""
    return hosts_in(stage, hosts)[node]


def hosts_in(stage: Stage | None, hosts: Mapping[str, str]) -> dict[str, str]:
    """Name of the Node object for each node of the profile in a stage."""
    if stage is None or stage.exchanged is None:
        return dict(hosts)
    one, other = stage.exchanged
    return {**hosts, one: hosts[other], other: hosts[one]}


def loaded_in(stage: Stage, loads: Mapping[str, AnyLoad], hosts: Mapping[str, str]) -> dict[str, None]:
    """Names of the Node objects on which a stage has users."""
    there = hosts_in(stage, hosts)
    return dict.fromkeys(there[loads[name].node] for name, count in stage.users.items() if count)


def changes_places(stages: Sequence[Stage], index: int) -> bool:
    """Whether arms have to change places before a stage."""
    before = stages[index - 1].exchanged if index else None
    return index < len(stages) and stages[index].exchanged != before
