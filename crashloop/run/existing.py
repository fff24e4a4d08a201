"""An existing cluster: the options that name it, what its nodes offer, and which of them match a kubelet profile.

A node matches a profile that was declared for it, or that its kubelet's effective configuration matches
(crashloop.spec.profile). One node may match several profiles.
"""

import os
from collections.abc import Iterable
from typing import Any

import msgspec

from crashloop.cluster.provider import ExistingOptions, Survey, SurveyedNode
from crashloop.errors import UsageError
from crashloop.kube.kubeconfig import default_kubeconfig
from crashloop.model.config import agrees, profile_of, shipped_curve
from crashloop.profiles import load_profile
from crashloop.run.options import DEFAULT_IMAGE, check_objects
from crashloop.spec.profile import KubeletProfile, version_of, with_version
from crashloop.spec.version import KubernetesVersion


class Offer:
    """The nodes of a surveyed cluster, by kubelet profile."""

    def __init__(self, survey: Survey, declared: Iterable[KubeletProfile] = ()) -> None:
        """`declared` are the profiles that users declare for nodes.

        Raises UsageError if a node's own configuration contradicts what was declared.
        """
        self.version = KubernetesVersion.parse(survey.kubernetes_version)
        self._nodes = survey.nodes
        self._declared = {profile.name: profile for profile in declared}
        for profile in self._declared.values():
            for node in self._nodes:
                if node.declared == profile.name:
                    self._require_truth(node, profile)

    def node_for(self, profile: KubeletProfile) -> str | None:
        """The first usable node that matches a profile; None if there is none."""
        return next((node.name for node in self.usable if self.has(node, profile)), None)

    @property
    def usable(self) -> tuple[SurveyedNode, ...]:
        """Nodes where pods of the suite may run."""
        return tuple(node for node in self._nodes if node.unusable is None)

    def kubelet_on(self, node: SurveyedNode, profile: KubeletProfile) -> KubeletProfile:
        """The profile of a node's kubelet: `profile` if the node matches it, else what was declared or read.

        Its version is the kubelet's, and stands in its name where that is not the cluster's.
        """
        if self.has(node, profile):
            found = profile
        elif node.configz is not None:
            found = msgspec.structs.replace(profile_of(node.configz), name=f"of-{node.name}")
        else:
            found = self._declared[node.declared or ""]
        found = self._versioned(found, node)
        if found.kubernetes_version is None or version_of(found.name) is not None:
            return found
        return msgspec.structs.replace(found, name=with_version(found.name, found.kubernetes_version))

    def on_node(self, profile: KubeletProfile) -> KubeletProfile:
        """The profile with the version of the node's kubelet, where that is not the cluster's."""
        node = next(node for node in self._nodes if node.name == self.node_for(profile))
        return self._versioned(profile, node)

    def why_none(self, profile: KubeletProfile) -> str:
        """Why no node matches a profile, with the nodes' own profiles."""
        have = ", ".join(f"{node.name} ({self._in_words(node)})" for node in self._nodes)
        return f'no node of the cluster has the kubelet profile "{profile.name}"; its nodes: {have or "none"}'

    def has(self, node: SurveyedNode, profile: KubeletProfile) -> bool:
        """Whether a node matches a profile."""
        if profile.kubernetes_version not in (None, str(KubernetesVersion.parse(node.kubelet_version))):
            return False
        if node.configz is not None:
            return agrees(node.configz, self._versioned(profile, node), self.version) is True
        return node.declared == profile.name

    def _in_words(self, node: SurveyedNode) -> str:
        if node.unusable is not None:
            return f"not used: {node.unusable}"
        if node.configz is None:
            return node.declared or "profile unknown"
        curve = shipped_curve(profile_of(node.configz, version=node.kubelet_version), self.version)
        return f"{curve.initial_s:g} s to {curve.maximum_s:g} s by its configuration" if curve else "own configuration"

    def _versioned(self, profile: KubeletProfile, node: SurveyedNode) -> KubeletProfile:
        if KubernetesVersion.parse(node.kubelet_version) == self.version:
            return profile
        return msgspec.structs.replace(profile, kubernetes_version=node.kubelet_version)

    def _require_truth(self, node: SurveyedNode, profile: KubeletProfile) -> None:
        if node.configz is not None and agrees(node.configz, self._versioned(profile, node), self.version) is False:
            raise UsageError(
                f'node {node.name}: declared to have the kubelet profile "{profile.name}", but its configuration is '
                f"another ({self._in_words(node)}).\nLeave --node-profile {node.name}={profile.name} out."
            )


def existing_options(*, kubeconfig: str | None, node_profile: Iterable[str], **given: Any) -> ExistingOptions:
    """The cluster and the limits of its use; `given` are further fields, None for the default.

    `node_profile`: NODE=PROFILE each. Raises UsageError for values that cannot be.
    """
    check_objects(namespace=given.get("namespace"), image=given.get("image"), max_pods=given.get("max_pods"))
    chosen = {name: value for name, value in given.items() if value is not None}
    return ExistingOptions(
        kubeconfig=default_kubeconfig(kubeconfig, os.environ),
        node_profiles=_declared(node_profile),
        **({"image": DEFAULT_IMAGE} | chosen),
    )


def offer_of(survey: Survey) -> Offer:
    """Raises UsageError for a profile that does not exist, or that a node's own configuration contradicts."""
    names = dict.fromkeys(node.declared for node in survey.nodes if node.declared is not None)
    return Offer(survey, [load_profile(name) for name in names])


def _declared(given: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        node, profile = _profile_by_node(text)
        if node in found:
            raise UsageError(f"--node-profile {text!r}: {node!r} has a profile already; a node has one.")
        found[node] = profile
    return found


def _profile_by_node(text: str) -> tuple[str, str]:
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
