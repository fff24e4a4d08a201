"""Stress profiles as files: manifests/stress/<name>.yaml, or a file of the user's own.

The pod templates that its loads name are read once: a resolved profile holds them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.kube.objects import misspelt_kind
from crashloop.profiles import purpose, read_manifest
from crashloop.resources import MANIFESTS
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.comparing import COMPARED
from crashloop.stress.highest_rate import with_steps
from crashloop.stress.loads import AnyLoad, Crash, Demand
from crashloop.stress.pod_rules import invalid_class
from crashloop.stress.pod_template import PodTemplate, faults_of, objects_in, template_in
from crashloop.stress.profile import BOTH, FULL, STRESS_FORMAT, Stage, StressProfile, placed, pods_on
from crashloop.words import in_words
from crashloop.yaml_text import Unreadable, documents, text_of


def _with_template(name: str, load: AnyLoad, profile: Path, read: list[Any]) -> AnyLoad:
    """The load with the contents of the template that it names; `read` is in the file of the profile, which may be a pipe.

    Raises UsageError for a file that is missing, has no pod, or has one that a load cannot take.
    """
    if not isinstance(load, Crash) or load.template is None:
        return load
    if isinstance(load.template, PodTemplate):
        raise UsageError(f"load {name!r}: template is no text; expected the path of a YAML file.")
    file, _, chosen = load.template.partition("#")
    path = profile.parent / file
    try:
        found = read if path == profile else documents(text_of(path), is_strict=True)
        template = template_in(found, file=path.name, chosen=chosen)
        faults = list(faults_of(template))
    except Unreadable as error:
        faults = [f"it cannot be read ({error})."]
    except ValueError as error:
        faults = [str(error)]
    if faults:
        raise UsageError("\n".join(f"load {name!r}, template {load.template}: {fault}" for fault in faults))
    return msgspec.structs.replace(load, template=template)


STRESS_MANIFESTS = MANIFESTS / "stress"

_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
MAX_NAME = 20
"""Longest name of a load or node: with a number it is part of a pod's name of at most 63 letters."""


PODS, KUBELET = 40, "stock"


def load_stress_profile(
    profile: str | Path,
    *,
    steps: Sequence[int] = (),
    placement: int = 0,
    pods: int | None = None,
    kubelet: str | None = None,
) -> StressProfile:
    """The profile of that name in manifests/stress, or in the file whose path is given (.yaml or with a slash).

    A file with the pods themselves, such as a Deployment (of several `#Deployment/web`), is a profile of so many of its `pods`
    on one node with that `kubelet` profile. `steps` are numbers of users in place of those of its own steps; `placement` moves
    its loads to other nodes that are alike. The pod templates that it names are read with it. Raises UsageError for a file that
    is missing, is no stress profile, or is inconsistent, for such a template, for `steps` of a profile that has none, for a
    `placement` of one without such nodes, and for `pods` and `kubelet` of a profile.
    """
    file, _, chosen = str(profile).partition("#")
    path, text = read_manifest("stress profile", STRESS_MANIFESTS, file)
    try:
        found = objects = documents(text, is_strict=True)
        if any(map(_is_manifest, found)):
            for field in ("apiVersion", "kind"):
                if any(isinstance(each, dict) and field not in each for each in found):
                    raise _faulty_file(path, f"{field} is missing; Kubernetes takes no object without it.")
            for fault in (*_misspelt_kinds(found), *_faulty_classes(found)):
                raise _faulty_file(path, f"{fault}.")
            found = [_profile_of(f"{path.name}#{chosen}", pods or PODS, kubelet or KUBELET)]
        elif (pods or kubelet or chosen) and any(isinstance(each, dict) and "nodes" in each for each in found):
            raise _faulty_file(path, "--pods, --profile and #KIND/NAME are for a file with the pods themselves.")
        read = msgspec.convert(found[0] if len(found) == 1 else None, StressProfile)
    except Unreadable as error:
        raise _faulty_file(path, f"{error}.") from error
    except msgspec.ValidationError as error:
        said = in_words(error) if any(found) else "it is empty"
        raise _faulty_file(
            path, f"{said}.\nExpected a stress profile (docs/stress.md), or objects with apiVersion and kind."
        ) from error
    read = msgspec.structs.replace(read, name=path.stem, description=purpose(text))
    if steps:
        read = with_steps(read, steps)
    faults = list(_faults(read))
    if faults:
        raise _faulty_file(path, "\n".join(faults))
    read = placed(read, placement)
    try:
        loads = {name: _with_template(name, load, path, objects) for name, load in read.loads.items()}
        return msgspec.structs.replace(read, loads=loads)
    except UsageError as error:
        raise _faulty_file(path, str(error)) from error


def _is_manifest(document: Any) -> bool:
    """Whether it is meant for Kubernetes, even if it lacks something; a stress profile has nodes."""
    return isinstance(document, dict) and bool(document.keys() & {"apiVersion", "kind"}) and "nodes" not in document


def _misspelt_kinds(read: list[Any]) -> Iterator[str]:
    """A sentence without its full stop per object that no API server knows, and that is called like one of Kubernetes."""
    for each in (*read, *objects_in(read)):
        if isinstance(each, dict) and (said := misspelt_kind(each)):
            yield said


def _faulty_classes(read: list[Any]) -> Iterator[str]:
    for each in objects_in(read):
        if each.get("kind") == "PriorityClass":
            yield from (f"PriorityClass: {fault}" for fault in invalid_class(each))


def _profile_of(template: str, pods: int, kubelet: str) -> dict[str, Any]:
    """A node without the pods, and with them."""
    return {
        "nodes": [{"name": "storm", "profile": kubelet}],
        "loads": {
            "app": {"kind": "crash", "node": "storm", "template": template.removesuffix("#")},
            "healthy": {"kind": "churn", "node": "storm", "rate_per_s": 0.5, "hold_s": 0.5, "in_flight": 6},
        },
        "stages": [
            {"name": "baseline", "duration_s": 60, "users": {"healthy": 1}},
            {"name": "storm", "duration_s": 300, "users": {"healthy": 1, "app": pods}, "settle_s": 60},
        ],
        "slos": {
            "files": ["official", "restarts", "node"],
            "without": ["restart-all-first-container", "unexpected-restarts"],
        },
    }


def with_max_pods(kubelet: KubeletProfile, max_pods: int) -> KubeletProfile:
    """A kubelet profile with that maxPods, unless the profile sets it."""
    config: dict[str, Any] = {"maxPods": max_pods, **kubelet.config}
    return msgspec.structs.replace(kubelet, config=config)


def _faults(profile: StressProfile) -> Iterator[str]:
    """Inconsistencies, one sentence per fault."""
    if profile.format != STRESS_FORMAT:
        yield f"format is {profile.format!r}; expected {STRESS_FORMAT}."
    nodes = [each.name for each in profile.nodes]
    if not nodes or not profile.stages:
        yield "it needs at least one node and one stage."
    for name in sorted({name for name in nodes if nodes.count(name) > 1}):
        yield f"node {name!r} is declared twice."
    for name in (*nodes, *profile.loads):
        if not name or len(name) > MAX_NAME or not set(name) <= _NAME_LETTERS or name[0] == "-" or name[-1] == "-":
            yield f"name {name!r}: expected 1 to {MAX_NAME} lower-case letters, digits and dashes."
    for name, load in profile.loads.items():
        if load.node not in nodes:
            yield f"load {name!r}: unknown node {load.node!r}; known are: {', '.join(nodes)}."
    for disturbance in profile.disturbances:
        if disturbance.node not in nodes:
            yield f"disturbance {disturbance.action}: unknown node {disturbance.node!r}."
    if not 1 <= profile.rounds <= 20:
        yield f"rounds is {profile.rounds}; expected 1 to 20."
    if not 0 <= profile.workers <= 8:
        yield f"workers is {profile.workers}; expected 0 to 8."
    if not 1 <= profile.scrape_every_s <= 60:
        yield f"scrape_every_s is {profile.scrape_every_s:g}; expected 1 to 60."
    if not 1 <= profile.scrape_nodes <= 100:
        yield f"scrape_nodes is {profile.scrape_nodes}; expected 1 to 100."
    yield from _faults_of_stages(profile, nodes)
    yield from _faults_of_comparison(profile)


def _faults_of_comparison(profile: StressProfile) -> Iterator[str]:
    arms = sorted(node.arm for node in profile.nodes if node.arm)
    design = profile.comparison
    compares = design.primary or design.alternates or any(stage.arm for stage in profile.stages)
    for name in design.primary:
        if name not in COMPARED:
            yield f"comparison: primary effect {name!r} is not known; expected some of {', '.join(sorted(COMPARED))}."
    if compares and arms != ["baseline", "treatment"]:
        yield f"comparison: the nodes have the arms {', '.join(arms) or 'none'}; expected one baseline and one treatment."
    elif compares:
        yield from _arms_elsewhere(profile)
    for stage in profile.stages:
        if stage.exchanged and design.alternates:
            yield f"stage {stage.name!r}: exchanged is set; with comparison: {{alternates: true}} that is an outcome."
        elif stage.exchanged and {each.name for each in profile.nodes if each.arm} != set(stage.exchanged):
            yield f"stage {stage.name!r}: exchanged is {', '.join(stage.exchanged)}; expected the two nodes that have an arm."


def _arms_elsewhere(profile: StressProfile) -> Iterator[str]:
    """Stages that load a node of another arm in the place of their own: both arms would be measured on one node."""
    for stage in profile.stages:
        loaded = {profile.loads[name].node for name in stage.users.keys() & profile.loads.keys()}
        for node in profile.nodes:
            if node.arm and loaded and stage.arm in (node.arm, BOTH) and node.name not in loaded:
                yield (
                    f"stage {stage.name!r}: its loads run on {', '.join(sorted(loaded))}; expected one on node "
                    f"{node.name!r}, which has the arm {node.arm}."
                )


def _faults_of_stages(profile: StressProfile, nodes: list[str]) -> Iterator[str]:
    for stage in profile.stages:
        unknown = sorted(stage.users.keys() - profile.loads.keys())
        if unknown:
            yield f"stage {stage.name!r}: unknown load {unknown[0]!r}; known are: {', '.join(profile.loads)}."
            continue
        for name, count in stage.users.items():
            if count != FULL and not 0 < int(count) <= profile.max_pods:
                yield f"stage {stage.name!r}: {count} users of {name!r}; expected 1 to {profile.max_pods}, or {FULL}."
        if not stage.users:
            yield f"stage {stage.name!r}: it has no users."
        for node in nodes:
            pods = pods_on(profile, stage, node)
            if pods > profile.max_pods:
                yield f"stage {stage.name!r}: {pods} pods on node {node!r}; its kubelet takes {profile.max_pods}."
        yield from _endless_bursts(profile, stage)


def _endless_bursts(profile: StressProfile, stage: Stage) -> Iterator[str]:
    """What a burst leaves behind shows after it, so a stage has to last longer."""
    lasts_s = stage.settle_s + stage.duration_s
    for name in stage.users:
        load = profile.loads[name]
        for burst in load.bursts if isinstance(load, Demand) else ():
            if burst.to_s > lasts_s:
                yield (
                    f"stage {stage.name!r}: a burst of load {name!r} ends at {burst.to_s:g} s; expected at most "
                    f"{lasts_s:g} s, its settle_s and duration_s."
                )


def _faulty_file(path: Path, fault: str) -> UsageError:
    return UsageError(f'stress profile "{path.stem}": {fault}\nSeen in {path}.')
