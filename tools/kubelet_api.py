"""The feature gates and the configuration fields of kubelets, generated from the sources of their releases.

    python -m tools.kubelet_api            # writes crashloop/model/kubelet_api.yaml, and go.mod and go.sum of kube_build

Gates are those of each release's own sources: a later one may give a gate a history that is older than itself.
Fields are those of `KubeletConfiguration` and what it contains, in k8s.io/kubelet/config/v1beta1/types.go of each release, with
their Go types; those of a pod's spec are in k8s.io/api/core/v1/types.go of the newest. Go fetches the modules that are missing.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from crashloop.cluster.binaries.go_build import write_committed_module
from crashloop.spec.version import PINNED, KubernetesVersion

PAGE = Path(__file__).parents[1] / "crashloop/model/kubelet_api.yaml"
GATE_FILES = {
    "k8s.io/kubernetes": ("pkg/features/kube_features.go",),
    "k8s.io/apiserver": ("pkg/features/kube_features.go",),
    "k8s.io/apiextensions-apiserver": ("pkg/features/kube_features.go",),
    "k8s.io/component-base": (
        "logs/api/v1/kube_features.go",
        "metrics/features/kube_features.go",
        "zpages/features/kube_features.go",
    ),
    "k8s.io/controller-manager": ("pkg/features/kube_features.go",),
    "k8s.io/client-go": ("features/known_features.go",),
}
_CONSTANT = re.compile(r'^\s*(\w+)\s+(?:\w+\.)?Feature\s+=\s+"(\w+)"', re.MULTILINE)
_ENTRY = re.compile(
    r"^\t+(?:\w+\.)?(\w+): +(?:\w+\.VersionedSpecs)?(?:\{\n(.*?)^\t+\},|(\{.*?\}),)", re.MULTILINE | re.DOTALL
)
_SPEC = re.compile(r"\{([^{}]*PreRelease:[^{}]*)\}")
_SINCE = re.compile(r'MustParse\("(\d+)\.(\d+)"\)')
_STAGE = re.compile(r"PreRelease: *(?:\w+\.)?(\w+)")
STAGES = {"Alpha": "alpha", "Beta": "beta", "GA": "stable", "Deprecated": "deprecated"}
_NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+): +\{([^}]+)\}", re.MULTILINE)
_NEEDED = re.compile(r"(\w+)\)?(?=\s*(?:,|$))")
"""The last name of each: `A`, `package.A` or `featuregate.Feature(package.A)`."""
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:\w+ +)?(\S+) +`json:"(\w+)', re.MULTILINE)
_NAMED = re.compile(r"^type (\w+) (string|int32)$", re.MULTILINE)


def at_version(path: str, release: str) -> str:
    """The module as it belongs to a version of Kubernetes."""
    return f"{path}@v{release if path == 'k8s.io/kubernetes' else release.replace('1.', '0.', 1)}"


def module(path: str, release: str) -> Path:
    """The folder of a module's sources. Raises CalledProcessError if Go cannot fetch it."""
    answer = subprocess.run(
        ["go", "mod", "download", "-json", at_version(path, release)], capture_output=True, text=True, check=True
    )
    return Path(json.loads(answer.stdout)["Dir"])


def gates(release: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The state of each gate that a release has, and the gates that a gate needs there.

    Raises ValueError for a need that is no gate of the sources.
    """
    texts = [
        (module(path, release) / file).read_text(encoding="utf-8")
        for path, files in GATE_FILES.items()
        for file in files
    ]
    names = {constant: name for text in texts for constant, name in _CONSTANT.findall(text)}
    states: dict[str, str] = {}
    needs: dict[str, list[str]] = {}
    for text in texts:
        for constant, body, line in _ENTRY.findall(text):
            state = _state(_SPEC.findall(body or line), KubernetesVersion.parse(release).release)
            if state is not None:
                states.setdefault(names.get(constant, constant), state)
        table = text.partition("FeatureGateDependencies = ")[2].partition("\n}\n")[0]
        for constant, listed in _NEEDS.findall(table):
            needs[names.get(constant, constant)] = [names.get(each, each) for each in _NEEDED.findall(listed)]
    if unknown := {each for wanted in needs.values() for each in wanted} - states.keys():
        raise ValueError(f"{release}: gates need {', '.join(sorted(unknown))}, which the sources do not define.")
    return states, dict(sorted(needs.items()))


def _state(specs: list[str], release: tuple[int, int]) -> str | None:
    """On or off by default, or locked to that, and the stage; None if the release does not have the gate yet."""
    for spec in reversed(specs):
        since = _SINCE.search(spec)
        if since is None or (int(since[1]), int(since[2])) <= release:
            locked = "locked-" if "LockToDefault: true" in spec else ""
            stage = _STAGE.search(spec)
            default = "on" if re.search(r"\bDefault: +true", spec) else "off"
            return f"{locked}{default}/{STAGES[stage[1] if stage else '']}"
    return None


def fields(version: str) -> dict[str, dict[str, str]]:
    """The fields of KubeletConfiguration and of every struct that it contains, with their Go types."""
    source = module("k8s.io/kubelet", version) / "config/v1beta1/types.go"
    text = source.read_text(encoding="utf-8")
    structs = {name: {json_name: go for go, json_name in _FIELD.findall(body)} for name, body in _STRUCT.findall(text)}
    plain = dict(_NAMED.findall(text))
    found: dict[str, dict[str, str]] = {}
    open_names = ["KubeletConfiguration"]
    while open_names:
        name = open_names.pop()
        found[name] = {field: _go_type(go, plain) for field, go in structs[name].items()}
        inner = (re.sub(r"^(\*|\[\]|map\[string\])+", "", go) for go in found[name].values())
        open_names += [each for each in inner if each in structs and each not in found]
    return dict(sorted(found.items()))


_EMBEDDED = re.compile(r'^\t(\w+) +`json:"(?:,inline)?"', re.MULTILINE)
OPAQUE = frozenset({"Affinity"})
"""Of a pod: what places it, which a run does itself."""


def pod_fields(version: str) -> dict[str, str]:
    """The fields of a PodSpec and of what it contains, `name:type` each, in k8s.io/api/core/v1/types.go."""
    text = (module("k8s.io/api", version) / "core/v1/types.go").read_text(encoding="utf-8")
    bodies = dict(_STRUCT.findall(text))
    plain = dict(_NAMED.findall(text))

    def of(name: str) -> dict[str, str]:
        own = {json_name: _go_type(go, plain) for go, json_name in _FIELD.findall(bodies[name])}
        return own | {key: go for inner in _EMBEDDED.findall(bodies[name]) for key, go in of(inner).items()}

    found: dict[str, str] = {}
    open_names = ["PodSpec"]
    while open_names:
        name = open_names.pop()
        has = of(name)
        found[name] = " ".join(f"{key}:{go}" for key, go in has.items())
        inner = (re.sub(r"^(\[\]|map\[string\])+", "", go) for go in has.values())
        open_names += [each for each in inner if each in bodies and each not in found and each not in OPAQUE]
    return dict(sorted(found.items()))


def _go_type(go: str, plain: dict[str, str]) -> str:
    """Without pointers, and named strings and numbers as what they are."""
    bare = (
        go.replace("*", "").replace("metav1.", "").replace("v1.", "").replace("logsapi.", "").replace("tracingapi.", "")
    )
    return re.sub(r"\w+$", lambda found: plain.get(found[0], found[0]), bare)


def generated() -> str:
    """The text of the file."""
    by_version = [gates(version) for version in PINNED]
    names = sorted({name for states, _ in by_version for name in states})
    all_states = {name: " ".join(states.get(name, "-") for states, _ in by_version) for name in names}
    releases = [KubernetesVersion.parse(version).release for version in PINNED]
    needs = {f"{major}.{minor}": needs for (major, minor), (_, needs) in zip(releases, by_version, strict=True)}
    by_release: dict[str, Any] = {}
    before: dict[str, dict[str, str]] = {}
    for version in PINNED:
        now = fields(version)
        # A release says what it adds to the one before it, and what it no longer has.
        added = {name: new for name, each in now.items() if (new := _differing(each, before.get(name, {})))}
        gone = {name: old for name, each in before.items() if (old := sorted(each.keys() - now.get(name, {}).keys()))}
        by_release[".".join(version.split(".")[:2])] = {"added": added, "gone": gone}
        before = now
    head = f"# Written by python -m tools.kubelet_api from the sources of {', '.join(PINNED)}.\n"
    document = {"releases": [*by_release], "gates": all_states, "needs": needs, "fields": by_release}
    pod = {"pod": pod_fields(PINNED[-1])}
    return head + yaml.safe_dump(document, sort_keys=False, width=120) + yaml.safe_dump(pod, width=130)


def _differing(now: dict[str, str], before: dict[str, str]) -> dict[str, str]:
    return {field: go for field, go in now.items() if before.get(field) != go}


if __name__ == "__main__":
    write_committed_module()
    PAGE.write_text(generated(), encoding="utf-8")
