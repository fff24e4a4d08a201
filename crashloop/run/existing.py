"""An existing cluster: the options that name it, and what its nodes offer."""

import os
from collections.abc import Iterable
from typing import Any

from crashloop.cluster.provider import ExistingOptions, Survey
from crashloop.errors import UsageError
from crashloop.kube.kubeconfig import default_kubeconfig
from crashloop.profiles import load_profile
from crashloop.run.matching import Offer
from crashloop.run.option_checks import check_objects
from crashloop.run.options import DEFAULT_IMAGE


def existing_options(*, kubeconfig: str | None, node_profile: Iterable[str], **given: Any) -> ExistingOptions:
    """The cluster and the limits of its use; `given` are further fields, None for the default.

    `node_profile`: NODE=PROFILE each. Raises UsageError for values that cannot be.
    """
    check_objects(namespace=given.get("namespace"), image=given.get("image"), max_pods=given.get("max_pods"))
    chosen = {name: value for name, value in given.items() if value is not None}
    return ExistingOptions(
        kubeconfig=default_kubeconfig(kubeconfig, os.environ),
        node_profiles=dict(map(_declared, node_profile)),
        **({"image": DEFAULT_IMAGE} | chosen),
    )


def offer_of(survey: Survey) -> Offer:
    """Raises UsageError for a profile that does not exist, or that a node's own configuration contradicts."""
    names = dict.fromkeys(node.declared for node in survey.nodes if node.declared is not None)
    return Offer(survey, [load_profile(name) for name in names])


def _declared(text: str) -> tuple[str, str]:
    node, separator, profile = text.partition("=")
    if not (node and separator and profile):
        raise UsageError(f"--node-profile {text!r}: expected NODE=PROFILE, such as worker-1=max-10s.")
    name = load_profile(profile).name
    if name != profile:
        raise UsageError(
            f"--node-profile {text!r}: expected the name of a profile of manifests/kubelet, since scenarios name those.\n"
            "With --read-configz kubelets state their effective values."
        )
    return node, name
