"""The feature gates and the configuration fields of kubelets, generated from the sources of their releases.

    python -m tools.kubelet_api            # writes crashloop/model/kubelet_api.yaml

The newest release keeps the history of each gate that it has (`VersionedSpecs`), so one source gives their states in every
release; gates that are gone by then are only known by name (`crashloop.model.gate_names`). Fields are those of
`KubeletConfiguration` and what it contains, in k8s.io/kubelet/config/v1beta1/types.go of each release, with their Go types.
Go fetches the modules that are missing.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

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
_ENTRY = re.compile(r"^\t+(?:\w+\.)?(\w+): (?:\w+\.VersionedSpecs)?\{\n(.*?)^\t+\},", re.MULTILINE | re.DOTALL)
_SPEC = re.compile(
    r'MustParse\("(\d+)\.(\d+)"\), Default: (true|false), PreRelease: (?:\w+\.)?\w+(, LockToDefault: true)?'
)
_NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+): +\{([^}]+)\}", re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t\w+ +(\S+) +`json:"(\w+)', re.MULTILINE)
_NAMED = re.compile(r"^type (\w+) (string|int32)$", re.MULTILINE)


def module(path: str, version: str) -> Path:
    """The folder of a module's sources. Raises CalledProcessError if Go cannot fetch it."""
    answer = subprocess.run(
        ["go", "mod", "download", "-json", f"{path}@v{version}"], capture_output=True, text=True, check=True
    )
    return Path(json.loads(answer.stdout)["Dir"])


def gates(newest: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The states of each gate in the releases that are known, and the gates that a gate needs."""
    staging = newest.replace("1.", "0.", 1)
    texts = [
        (module(path, newest if path == "k8s.io/kubernetes" else staging) / file).read_text(encoding="utf-8")
        for path, files in GATE_FILES.items()
        for file in files
    ]
    names = {constant: name for text in texts for constant, name in _CONSTANT.findall(text)}
    states: dict[str, str] = {}
    needs: dict[str, list[str]] = {}
    for text in texts:
        for constant, body in _ENTRY.findall(text):
            specs = [((int(a), int(b)), on == "true", bool(locked)) for a, b, on, locked in _SPEC.findall(body)]
            if specs:
                found = [_state(specs, KubernetesVersion.parse(each).release) for each in PINNED]
                if set(found) != {"-"}:
                    states.setdefault(names.get(constant, constant), " ".join(found))
        table = text.partition("FeatureGateDependencies = ")[2].partition("\n}\n")[0]
        for constant, listed in _NEEDS.findall(table):
            wanted = [each.strip().rpartition(".")[2] for each in listed.split(",") if each.strip()]
            needs[names.get(constant, constant)] = [names.get(each, each) for each in wanted]
    return dict(sorted(states.items())), dict(sorted(needs.items()))


def _state(specs: list[tuple[tuple[int, int], bool, bool]], release: tuple[int, int]) -> str:
    """`-`: not there yet; on or off by default, or locked to that."""
    *_, newest = [None, *(each for each in specs if each[0] <= release)]
    if newest is None:
        return "-"
    return ("locked-" if newest[2] else "") + ("on" if newest[1] else "off")


def fields(version: str) -> dict[str, dict[str, str]]:
    """The fields of KubeletConfiguration and of every struct that it contains, with their Go types."""
    source = module("k8s.io/kubelet", version.replace("1.", "0.", 1)) / "config/v1beta1/types.go"
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


def _go_type(go: str, plain: dict[str, str]) -> str:
    """Without pointers, and named strings and numbers as what they are."""
    bare = (
        go.replace("*", "").replace("metav1.", "").replace("v1.", "").replace("logsapi.", "").replace("tracingapi.", "")
    )
    return re.sub(r"\w+$", lambda found: plain.get(found[0], found[0]), bare)


def generated() -> str:
    """The text of the file."""
    newest = max(PINNED, key=KubernetesVersion.parse)
    states, needs = gates(newest)
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
    document = {"releases": [*by_release], "gates": states, "needs": needs, "fields": by_release}
    return head + yaml.safe_dump(document, sort_keys=False, width=120)


def _differing(now: dict[str, str], before: dict[str, str]) -> dict[str, str]:
    return {field: go for field, go in now.items() if before.get(field) != go}


if __name__ == "__main__":
    PAGE.write_text(generated(), encoding="utf-8")
