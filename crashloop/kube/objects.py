"""The names that Kubernetes gives: k8s.io/apimachinery/pkg/util/validation@v0.37.1, after RFC 1123."""

import re

from crashloop.errors import UsageError

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""As of a namespace or a node that is made here."""
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""As of a pod."""


def check_namespace(name: str | None) -> None:
    """Raise UsageError for a --namespace that cannot be."""
    if name is not None and not LABEL.fullmatch(name):
        raise UsageError(
            f"--namespace {name!r}: expected 1 to 63 lower-case letters, digits and dashes, as Kubernetes names one."
        )
