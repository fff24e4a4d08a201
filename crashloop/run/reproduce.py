"""A FAIL or known deviation of a recorded run without crashloop: manifests, a kubelet's configuration, and a shell script. Pure.

Theory of operation. The manifests are those of the run, with an image that registries have. The script needs kubectl alone. It
makes the objects, does to them what the recorder did (`kubectl_script`), and prints the delays of the containers by their
journals, which are their logs, beside the documented ones.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from math import ceil
from typing import Any, NamedTuple

import msgspec
import yaml

from crashloop.errors import UsageError
from crashloop.pods.manifest import (
    HOSTNAME_LABEL,
    SCENARIO_LABEL,
    config_manifest,
    deployment_manifest,
    ephemeral_containers,
    job_manifest,
    pod_manifest,
    pull_secret_manifest,
    static_pod_manifest,
)
from crashloop.report.results import Results
from crashloop.report.text import config_yaml, printable, shortened
from crashloop.run.kubectl_script import KUBELET, NODE, OBJECTS, course_of, in_words
from crashloop.run.options import DEFAULT_IMAGE
from crashloop.spec.control_plane import ApiRequest, Verb
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import Deployment, Job, StaticPod
from crashloop.spec.plan import Plan
from crashloop.spec.profile import API_VERSION, KIND, PROFILE_LABEL, KubeletProfile, node_name
from crashloop.spec.scenario import ApiScenario, PodScenario, Scenario, StartupScenario
from crashloop.verdict import Outcome, Verdict

MOST_LINES = 30
"""Of a script."""
SCRIPT = "reproduce.sh"
MOST_TEXT = 400
RUN = "reproduce"
"""The label of a run on all objects."""

Files = dict[str, str]
"""Text by name."""


class _Case(NamedTuple):
    """What is shown, and where it was seen."""

    plan: Plan
    verdict: Verdict
    documented: str
    due: Mapping[str, list[str]]
    """Documented delays before restarts 1, 2, ... of a container; `-` where none is known."""


def reproducer(results: Results, plan: Plan, requirement: str) -> Files:
    """The files that show the worst verdict of a run on a requirement.

    Raises UsageError where the run has none, or one that no cluster shows, or a plan whose parts do not fit together.
    """
    judged = [each for each in results.verdicts if each.outcome is not Outcome.SKIPPED]
    verdict = next((each for each in judged if each.requirement == requirement), None)
    if verdict is None:
        failed = sorted({each.requirement for each in judged if each.outcome is Outcome.FAIL})
        raise UsageError(
            f"{requirement}: the run has no judgement of it.\n"
            f"It has a FAIL or a known deviation of: {', '.join(failed) or 'nothing'}."
        )
    text = results.requirement(requirement)
    case = _Case(plan, verdict, f"{text.sentence} ({text.source})", _due(verdict))
    scenario = _scenario_of(plan, verdict)
    try:
        return files_of(scenario, case)
    except (LookupError, ArithmeticError, ValueError, StopIteration) as error:
        raise UsageError(
            f"{requirement}: plan.json is damaged: what it says of {scenario.name} does not fit together "
            f"({type(error).__name__}: {error}).\nTake a whole copy of the run directory."
        ) from error


_WORD = re.compile(r"[\w./:=@%+,*-]*")
"""What a shell takes for one word, and a file name or a comment for what it is."""


def _check_words(case: _Case, scenario: Scenario) -> None:
    """Raise ValueError for what no run writes: a script of a run directory from elsewhere runs nothing that hides in a name."""
    plan = case.plan
    names = [case.verdict.scenario.replace(" ", ""), plan.kubernetes_version, *scenario.profiles]
    given = [names, plan.gates_for(scenario), [*map(plan.profile, scenario.profiles)], scenario]
    for text in _texts(msgspec.to_builtins(given)):
        if not _WORD.fullmatch(text) or ".." in text.split("/"):
            raise ValueError(f"{printable(text)!r} is no name")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each) if name != "description" else ()
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_texts, value))


def _scenario_of(plan: Plan, verdict: Verdict) -> Scenario:
    """The one that the first finding is about."""
    named = (*(each.scenario for each in verdict.grounds), *plan.histories_of(verdict.scenario))
    try:
        return plan.scenario(next(filter(None, named)))
    except KeyError as error:
        raise UsageError(
            f"{verdict.requirement}: the run judged {verdict.scenario} by it and found no fault, so no scenario shows it."
        ) from error


def _due(verdict: Verdict) -> dict[str, list[str]]:
    """Delays in the facts of a known deviation are due by the deviating rule, so only its findings say what is documented."""
    found: dict[str, dict[int, float]] = {}
    for each in verdict.facts.get("delays", ()) if verdict.deviation is None else ():
        found.setdefault(each["container"], {}).setdefault(each["restart"], each["due_s"])
    for ground in verdict.grounds:
        if ground.missed is not None:
            found.setdefault(ground.missed.container, {})[ground.missed.number] = ground.missed.due_s
    return {
        name: [f"{due[number]:g}s" if number in due else "-" for number in range(1, max(due) + 1)]
        for name, due in found.items()
    }


def files_of(scenario: Scenario, case: _Case) -> Files:
    """The files of any scenario. Raises UsageError for a text, which no cluster shows."""
    for kind, write in KINDS.items():
        if isinstance(scenario, kind):
            _check_words(case, scenario)
            return write(scenario, case)
    raise UsageError(f"{case.verdict.requirement}: it is about sums in a text, and no cluster shows them.")


def _script(case: _Case, needs: str, lines: Iterator[str]) -> str:
    """A whole script: what it shows, its lines, and at its end what is documented beside what was recorded."""
    verdict, version = case.verdict, case.plan.kubernetes_version
    recorded = next(iter(verdict.findings), "").removeprefix(f"{verdict.requirement}: ")
    told = {"documented": case.documented, "recorded": recorded or "as required"}
    head = f"# {verdict.requirement} in {verdict.scenario}, recorded on Kubernetes {version}. Needs {needs}."
    tail = (f"{name}: {shortened(' '.join(printable(text).split()), MOST_TEXT)}" for name, text in told.items())
    return "\n".join(
        ["#!/bin/sh", head, 'cd "$(dirname "$0")" || exit', *lines, *(f"echo {shlex.quote(each)}" for each in tail), ""]
    )


def _documents(*objects: Mapping[str, Any]) -> str:
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=130)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # libyaml, where PyYAML has it
    """Writes scripts as people do, line by line, and what occurs twice twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # the signature is that of PyYAML
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """A tab would put the whole text on one line."""
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text).expandtabs(2), style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_multi_representer(str, _text)


def kubelet_files(profile: KubeletProfile, name: str = KUBELET) -> Files:
    """The configuration of a profile as a file of a kubelet's drop-in directory."""
    typed = {"apiVersion": API_VERSION, "kind": KIND}
    about = f"# {profile.name}: {' '.join(profile.description.split())}\n" if profile.description else ""
    flags = f"# Arguments of its command line: {shlex.join(profile.arguments)}\n" if profile.arguments else ""
    version = f"# Of Kubernetes {profile.kubernetes_version}\n" if profile.kubernetes_version else ""
    return {name: about + version + flags + config_yaml(typed | profile.merged)}


def _pod_files(scenario: PodScenario, case: _Case) -> Files:
    profile = case.plan.profile(scenario.profile)
    files = kubelet_files(profile)
    for name in (*scenario.later_profiles, *scenario.refused_profiles):
        files |= kubelet_files(case.plan.profile(name), f"kubelet-{node_name(name)}.yaml")
    files[OBJECTS] = _documents(*_present(scenario), _made(scenario))
    for each in scenario.objects:
        if not each.present:
            files[f"{each.name}.yaml"] = _documents(_stored(scenario, each.name))
    if late := ephemeral_containers(scenario, image=DEFAULT_IMAGE):
        pod = pod_manifest(scenario, node=NODE, image=DEFAULT_IMAGE, run=RUN)
        pod["spec"]["ephemeralContainers"] = late
        files["late.json"] = msgspec.json.format(msgspec.json.encode(pod)).decode() + "\n"
    gates = case.plan.gates_for(scenario)
    control_plane = f", with a control plane of {in_words(gates)}" if gates else ""
    needs = f"kubectl, and a node whose kubelet has {KUBELET}{control_plane}"
    return files | {SCRIPT: _script(case, needs, course_of(scenario, case.due))}


def _made(scenario: PodScenario) -> dict[str, Any]:
    """The pod, or what makes it. The label of a profile is asked for only where the scenario takes it away."""
    owner = scenario.owner
    about: dict[str, Any] = {"node": NODE, "image": DEFAULT_IMAGE, "run": RUN}
    if isinstance(owner, Job):
        made = job_manifest(scenario, **about)
    elif isinstance(owner, Deployment):
        made = deployment_manifest(scenario, **about)
    elif isinstance(owner, StaticPod):
        made = static_pod_manifest(scenario, **about, namespace="default", revision=0)
    else:
        made = pod_manifest(scenario, **about, last_words=True)
    spec = made["spec"].get("template", made)["spec"]
    if scenario.by_scheduler:
        labels = {HOSTNAME_LABEL: NODE}
        taken = any(each.action is InterventionKind.UNLABEL_NODE for each in scenario.interventions)
        spec["nodeSelector"] = labels | ({PROFILE_LABEL: node_name(scenario.profile)} if taken else {})
    return made


def _present(scenario: PodScenario) -> Iterator[dict[str, Any]]:
    return (_stored(scenario, each.name) for each in scenario.objects if each.present)


def _stored(scenario: PodScenario, name: str) -> dict[str, Any]:
    each = next(each for each in scenario.objects if each.name == name)
    labels = {SCENARIO_LABEL: scenario.name}
    if name in scenario.pull_secrets:
        return pull_secret_manifest(scenario.name, each, each.data, labels=labels, registry="registry.example")
    return config_manifest(scenario.name, each, each.data, labels=labels)


# --- a start of a kubelet, and requests to the API server -----------------------------------------------------------------


def _start_files(scenario: StartupScenario, case: _Case) -> Files:
    profile = case.plan.profile(scenario.candidate)
    files, flags = {KUBELET: kubelet_files(msgspec.structs.replace(profile, drop_ins=()))[KUBELET]}, ""
    for number, each in enumerate(profile.drop_ins):
        typed = {"apiVersion": API_VERSION, "kind": KIND}
        files[f"kubelet.d/{number:02d}.conf"] = config_yaml(typed | each)
        flags = " --config-dir $PWD/kubelet.d"
    flags += "".join(f" {shlex.quote(each)}" for each in (*profile.arguments, *scenario.unknown_flags))
    lines = (
        f"timeout {ceil(scenario.at_most_s)} ${{KUBELET:-kubelet}} --config $PWD/{KUBELET}{flags} >kubelet.log 2>&1; ended=$?",
        'tail -n 1 kubelet.log && echo "observed: exit code $ended; 124: it ran until the time was up"',
    )
    return files | {SCRIPT: _script(case, "root on a node, with its kubelet stopped", iter(lines))}


def _api_files(scenario: ApiScenario, case: _Case) -> Files:
    files = {f"request-{n}.yaml": _documents(each.object) for n, each in enumerate(scenario.requests)}
    gates = case.plan.gates_for(scenario)
    needs = f"kubectl{f', and an API server of {in_words(gates)}' if gates else ''}"
    return files | {SCRIPT: _script(case, needs, _api_lines(scenario))}


def _api_lines(scenario: ApiScenario) -> Iterator[str]:
    stored = [n for n, each in enumerate(scenario.requests) if each.verb is Verb.CREATE and not each.dry_run]
    if stored:
        files = " ".join(f"-f request-{n}.yaml" for n in stored)
        yield f"trap 'kubectl delete --ignore-not-found --wait=false {files}' EXIT"
    for number, each in enumerate(scenario.requests):
        gates = None if each.feature_gates is None else in_words(each.feature_gates) or "its own gates"
        restart = "" if gates is None else f"echo 'Start the API server with {gates}, then press Enter.'; read -r _; "
        yield f"{restart}echo request {number}; {_request(each, f'request-{number}.yaml')}"


def _request(each: ApiRequest, file: str) -> str:
    how = " --dry-run=server" if each.dry_run else ""
    how += f" --as {each.as_user}" if each.as_user else ""
    if each.verb is Verb.CREATE:
        how += f" --validate={each.field_validation.value.lower()}"
        return f"kubectl create{how} -f {file} -o jsonpath='{{.spec}}{{\"\\n\"}}'"
    sub = f" --subresource {each.subresource}" if each.subresource else ""
    return f"kubectl patch {each.object['kind'].lower()} {each.name}{sub}{how} --patch-file {file}"


KINDS: dict[type, Callable[[Any, _Case], Files]] = {
    PodScenario: _pod_files,
    StartupScenario: _start_files,
    ApiScenario: _api_files,
}
"""What writes the files of a kind of scenario. A text has none."""
