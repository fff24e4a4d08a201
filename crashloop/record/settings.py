"""The settings of a run that the recorder needs."""

from collections.abc import Mapping
from typing import Any

import msgspec

from crashloop.cluster.provider import ExistingOptions
from crashloop.errors import UsageError


class RecorderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Read from `RunInfo.settings`; keys that are not named here are for others."""

    kubelet_binary: str | None = None
    """The user's own kubelet for all nodes. Default: the one of the plan's version. --kubelet-binary."""
    bin_dir: str | None = None
    """Folder with the user's own binaries. Default: cache and download only. --bin-dir."""
    node_image: str | None = None
    """Image of nodes that are containers; `own` is built here. Default: the official one of the plan's version. --node-image."""
    kind_binary: str | None = None
    """The user's own `kind`. Default: the release in the cache. --kind-binary."""
    cluster: str | None = None
    """Name of a kept cluster to record on. Default: one is made for the run. --cluster."""
    existing: ExistingOptions | None = None
    """The cluster to use with the provider `existing`. Default: none. --kubeconfig and what goes with it."""
    keep: bool = False
    """Whether the cluster is left up. Default: it is removed once the last evidence is in. --keep."""


def recorder_settings(settings: Mapping[str, Any]) -> RecorderSettings:
    """The settings of a run, from those of run.json. Raises UsageError if one has the wrong type."""
    try:
        return msgspec.convert(settings, RecorderSettings)
    except msgspec.ValidationError as error:
        raise UsageError(f"run.json: the settings cannot be used ({error}).") from error
