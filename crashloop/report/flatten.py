"""Nested facts (verdicts, environment, configurations) as flat, readable rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from crashloop.report.text import seconds, shortened

MAX_TEXT = 2000
"""Characters of one fact that a view shows; results.json holds all of it."""


def node_facts(environment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of `nodes` in environment.json; none if the run ended before."""
    nodes = environment.get("nodes")
    return [node for node in nodes if isinstance(node, Mapping)] if isinstance(nodes, list) else []


def flattened(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """`{"host": {"cpus": 2}}` as `("host.cpus", "2")`, in the given order; empty values are left out.

    A list of mappings has one row each: `("nodes.max-1s", "kubelet v1.37.1, kernel 6.1.0")`.
    """
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flattened(value, f"{name}.")
        elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            yield from (_listed(name, position, each) for position, each in enumerate(value))
        elif value not in ((), [], None, ""):
            yield name, shortened(_plain(name, value), MAX_TEXT)


def _listed(name: str, position: int, value: Any) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return f"{name}.{position}", shortened(_plain(name, value), MAX_TEXT)
    own_name = value.get("name", position)
    parts = (f"{key} {text}" for key, text in flattened(value) if key != "name")
    return f"{name}.{own_name}", shortened(", ".join(parts), MAX_TEXT)


def _plain(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, float):
        return seconds(value)
    if isinstance(value, list | tuple):
        return ", ".join(_plain(name, each) for each in value)
    return str(value)


def config_yaml(config: Mapping[str, Any]) -> str:
    """A KubeletConfiguration fragment as a person would write it."""
    if not config:
        return "# nothing is set: the kubelet's defaults\n"
    return yaml.safe_dump(dict(config), sort_keys=False, default_flow_style=False, allow_unicode=True)
