"""What the sources of the releases say of kubelets: their feature gates, and the fields of their configuration.

The data is kubelet_api.yaml, written by `python -m tools.kubelet_api`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from crashloop.spec.version import KubernetesVersion

Fields = dict[str, dict[str, str]]
"""Of each struct the Go types of its fields, by their names in files."""


class KubeletApi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """kubelet_api.yaml."""

    releases: tuple[str, ...]
    gates: Mapping[str, str]
    """Of each gate its states in the releases, in their order: `-`, or its default, with `locked-` where that is fixed."""
    needs: Mapping[str, tuple[str, ...]]
    """Gates that a gate cannot be on without."""
    fields: Mapping[str, Mapping[str, Any]]
    """By release what it `added` to the one before it, and the fields that are `gone`."""

    def gate(self, name: str, version: KubernetesVersion) -> str | None:
        """Its state in a release; None where the sources that were read do not have it."""
        states, release = self.gates.get(name), ".".join(map(str, version.release))
        if states is None or release not in self.releases:
            return None
        return states.split()[self.releases.index(release)]

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
    return msgspec.convert(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)), KubeletApi)
