"""pictures.yaml: what each picture of docs/findings shows."""

from pathlib import Path

import msgspec
import yaml

PICTURES = Path(__file__).with_name("pictures.yaml")


class Picture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a recorded scenario that a picture shows."""

    scenario: str
    heading: str
    """What is to be seen."""
    from_s: float = 0.0
    to_s: float | None = None
    """Seconds from the creation of the pod; None: to the end of the recording."""
    without: tuple[str, ...] = ("Events",)
    """Lanes that are left out."""
    histogram: str = ""
    """Metric of the kubelet whose samples are shown by their buckets."""


def load_pictures(path: Path = PICTURES) -> dict[str, Picture]:
    """By name of the file, without its ending."""
    return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), dict[str, Picture])
