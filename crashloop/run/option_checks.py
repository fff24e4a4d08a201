"""Options of a run that contradict each other, or that no API server could accept. Pure."""

import re
from collections.abc import Mapping

from crashloop.errors import UsageError
from crashloop.run.options import OPTIONS

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1123, as for the name of a namespace."""


def check_provider(provider: str, given: Mapping[str, object]) -> None:
    """Raise UsageError for an option that the provider would ignore. `given` has the options by name."""
    for option in OPTIONS:
        value = given.get(option.name)
        is_given = value is not None and value is not False and value != []  # 0 is a value
        if is_given and provider not in option.providers:
            raise UsageError(f"{option.name}: only for --provider {', '.join(option.providers)}, not {provider}.")


def check_objects(*, namespace: str | None, image: str | None, max_pods: int | None) -> None:
    """Raise UsageError for a namespace, an image or a number of pods that cannot be."""
    if namespace is not None and not _LABEL.fullmatch(namespace):
        raise UsageError(
            f"--namespace {namespace!r}: expected 1 to 63 lower-case letters, digits and dashes, as Kubernetes names one."
        )
    if image is not None and (not image or image != image.strip() or " " in image):
        raise UsageError(f"--image {image!r}: expected the name of an image, such as docker.io/library/busybox:1.37.")
    if max_pods is not None and max_pods < 1:
        raise UsageError(f"--max-pods {max_pods}: expected 1 or more.")
