"""What the sources of the releases say of kubelets: their feature gates, and the fields of their configuration.

The data is kubelet_api.yaml, written by `python -m tools.kubelet_api`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import read_yaml

Fields = dict[str, dict[str, str]]
"""Of each struct the Go types of its fields, by their names in files."""


class GateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A feature gate as one release has it."""

    default: bool
    stage: str
    """alpha, beta, stable or deprecated."""
    locked: bool
    """Setting it to another value than its default is an error."""
    needs: tuple[str, ...] = ()
    """Gates that it cannot be on without."""


class KubeletApi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """kubelet_api.yaml."""

    releases: tuple[str, ...]
    gates: Mapping[str, str]
    """Of each gate its states in the releases, in their order: `-`, or `default/stage`, with `locked-` where that is fixed."""
    needs: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By release the gates that a gate cannot be on without. Kubelets check them from 1.35 on."""
    fields: Mapping[str, Mapping[str, Any]]
    """By release what it `added` to the one before it, and the fields that are `gone`."""
    pod: Mapping[str, str]
    """The fields of a PodSpec and of what it contains, in the newest release: `name:type`, with a space between two."""

    def fields_of_a_pod(self) -> Fields:
        """Without the contents of volumes and of affinity."""
        return {name: dict(each.split(":", 1) for each in listed.split()) for name, listed in self.pod.items()}

    def fields_of(self, version: KubernetesVersion) -> Fields:
        """Of a release, or of the newest where that is newer."""
        found: Fields = {}
        for release in self.releases:
            if KubernetesVersion.parse(release).release > version.release:
                break
            for name, added in self.fields[release]["added"].items():
                found.setdefault(name, {}).update(added)
            for name, gone in self.fields[release]["gone"].items():
                found[name] = {field: go for field, go in found[name].items() if field not in gone}
        return found


@cache
def kubelet_api() -> KubeletApi:
    """The data, read once."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return msgspec.convert(read_yaml(text), KubeletApi)


@cache
def known_gates(release: tuple[int, int]) -> Mapping[str, GateSpec] | None:
    """Every gate of a release, by its name; None for a release whose sources were not read."""
    api, name = kubelet_api(), f"{release[0]}.{release[1]}"
    if name not in api.releases:
        return None
    found = {gate: states.split()[api.releases.index(name)].partition("/") for gate, states in api.gates.items()}
    return {
        gate: GateSpec(
            default=default.endswith("on"),
            stage=stage,
            locked=default.startswith("locked"),
            needs=api.needs[name].get(gate, ()),
        )
        for gate, (default, _, stage) in found.items()
        if stage
    }
