"""A wrong API server as data: the real one, which drops fields of containers at creation, with 201 and no warning.

What it drops stands in mutating admission policies that it reads from files at its start, so what it stores lacks the fields
and the kubelet sees what is stored (KEP-5793, gate ManifestBasedAdmissionControlConfig, on since 1.37). Pure.
"""

from collections.abc import Mapping, Sequence

import msgspec
import yaml

from crashloop.yaml_text import Json

PLUGIN = "MutatingAdmissionPolicy"


class Drop(msgspec.Struct, frozen=True):
    """A field of regular and init containers that is dropped."""

    path: str
    """As a JSON pointer in the container."""
    where: str
    """CEL: whether the container `c` has it."""


def admission_configuration(folder: str) -> str:
    """The file of --admission-control-config-file; the policies are in `folder`, whose path is absolute."""
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": f"{PLUGIN}Configuration",
        "staticManifestsDir": folder,
    }
    return yaml.safe_dump(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AdmissionConfiguration",
            "plugins": [{"name": PLUGIN, "configuration": configuration}],
        }
    )


def policies(drops_of: Mapping[str, Sequence[Drop]]) -> str:
    """The policies, with their bindings. The key is how the names of the pods end that lose these fields."""
    return yaml.safe_dump_all(each for ending, drops in drops_of.items() for each in _policy(ending, drops))


def _policy(ending: str, drops: Sequence[Drop]) -> tuple[Json, Json]:
    # Names of policies from files end so (apiserver/pkg/admission/plugin/manifest/validation.go@v1.37.1).
    name = f"{ending}.static.k8s.io"
    created = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    lists = ("containers", "initContainers")
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [created]},
        "matchConditions": [{"name": "ending", "expression": f"object.metadata.name.endsWith('{ending}')"}],
        "mutations": [_mutation(of, drop) for of in lists for drop in drops],
    }
    return _object(PLUGIN, name, spec), _object(f"{PLUGIN}Binding", name, {"policyName": name})


def _mutation(of: str, drop: Drop) -> Json:
    patch = f"JSONPatch{{op: 'remove', path: '/spec/{of}/' + string(i) + '/{drop.path}'}}"
    expression = f"object.spec.?{of}.orValue([]).transformList(i, c, {drop.where}, {patch})"
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def _object(kind: str, name: str, spec: Json) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
