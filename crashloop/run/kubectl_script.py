"""What the recorder did to the pod of a scenario, and what it watched, as lines of a shell script for kubectl. Pure.

What is done on a node is a command there, after $ON_NODE; what no command does is a sentence for the person who runs the script.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any

import msgspec

from crashloop.pods.manifest import REVISION_ANNOTATION, SCENARIO_LABEL, stored_name
from crashloop.run.options import DEFAULT_IMAGE
from crashloop.spec.dependency import ConfigKind
from crashloop.spec.intervention import Intervention, InterventionKind, absent_s, down_s, hangs
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.profile import PROFILE_LABEL, node_name
from crashloop.spec.program import LifeEnd
from crashloop.spec.scenario import Mode, PodScenario

OBJECTS, KUBELET = "objects.yaml", "kubelet.yaml"
NODE = "the-node"
"""In manifests; the script puts the name of the node in its place."""
STATIC_PODS = "/etc/kubernetes/manifests"
POKE = "crashloop.dev/poke"


def in_words(gates: Mapping[str, bool]) -> str:
    """As a component's flag has them."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))


_OF_CONTAINER = "{range .status['initContainerStatuses','containerStatuses'][?(@.name=='$1')]}"
HELPERS = {
    "objects": f'objects() {{ sed "s|{NODE}|$NODE|; s|{DEFAULT_IMAGE}|$IMAGE|" "$1"; }}',
    "field": f'field() {{ kubectl get pod "$pod" -o jsonpath="{_OF_CONTAINER}$2{{end}}" 2>/dev/null; }}',
    "state": "state() { field \"$1\" '{.restartCount} {.state.terminated.finishedAt}{.state.waiting.reason}'; }",
    "restarts": 'restarts() { now=$(state "$1"); [ "${now%% *}0" -ge "${2}0" ]; }',
    "exited": 'exited() { restarts "$1" $(($2 + 1)) || case $now in "$2 " | *ing) false ;; "$2 "*) ;; *) false ;; esac; }',
    "running": 'running() { [ "$(state "$1")" = "$2 " ]; }',
    "phase_is": 'phase_is() { [ "$(kubectl get pod "$pod" -o jsonpath="{.status.phase}")" = "$1" ]; }',
    "job_ended": 'job_ended() { [ "$(kubectl get job "$1" -o jsonpath="{.status.conditions[*].type}")" ]; }',
    "made_by": "made_by() { pod=$(kubectl get pod -l "
    f"{SCENARIO_LABEL}=$1 -o jsonpath='{{.items[0].metadata.name}}' 2>/dev/null); }}",
    "wait_for": 'wait_for() { until "$@" || [ "$(date +%s)" -ge "$end" ]; do sleep 0.5; done; }',
    "at_second": 'at_second() { while [ "$(date +%s)" -lt $((end - longest + $1)) ]; do sleep 0.5; done; }',
    "on_node": "on_node() { printf '%s\\n' \"$1\" | "
    '${ON_NODE:?what runs sh on $NODE, such as "ssh $NODE" or "docker exec -i $NODE"} sh; }',
    "by_hand": "by_hand() { printf '%s Then press Enter. ' \"$1\" && read -r _; }",
    "show_delays": """show_delays() { kubectl logs "$pod" -c "$1" 2>/dev/null | awk -v c="$1" -v due="$2" '
  BEGIN { split(due, d) } $2 == "exit" { e[$3] = $4 } $2 == "start" && ($3 - 1) in e {
  printf "restart %d of %s: %.2f s after the exit, documented: %s\\n", $3, c, $4 - e[$3 - 1], d[$3] ? d[$3] : "-" }'; }""",
}
"""Functions of the script, in their order; a script has those that it uses. A container's state is how often it was restarted, a
blank, and why it does not run, if it does not."""
NEEDED_BY = {
    "state": ("field",),
    "restarts": ("state", "field"),
    "exited": ("restarts", "state", "field"),
    "running": ("state", "field"),
}


def course_of(scenario: PodScenario, due: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of a whole script. `due`: documented delays before restarts 1, 2, ... of a container, as they are shown."""
    done = list(_course(scenario, due))
    used = {name for name in HELPERS if any(re.search(rf"(?<![\w-]){name} ", line) for line in done)}
    used |= {each for name in used for each in NEEDED_BY.get(name, ())}
    yield (
        f"NODE=${{NODE:?the node whose kubelet has {KUBELET}}} IMAGE=${{IMAGE:-{DEFAULT_IMAGE}}} pod={scenario.name} "
        f"longest={ceil(scenario.longest_s)} end=$(($(date +%s) + {ceil(scenario.longest_s)}))"
    )
    yield from (line for name, line in HELPERS.items() if name in used)
    yield from done


def _course(scenario: PodScenario, due: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Everything that happens, in its order."""
    early = [each for each in scenario.interventions if each.trigger.before_pod]
    yield from _registry(scenario)
    yield from (_action(scenario, each) for each in early)
    yield from _begun(scenario)
    yield from _kills(scenario)
    yield from (f"{_when(each)}{_action(scenario, each)}" for each in scenario.interventions if each not in early)
    yield from filter(None, ["; ".join(_awaited(scenario))])
    shown = [
        each for each in scenario.pod.containers if each.kind is not ContainerKind.EPHEMERAL and each.program.known
    ]
    yield "; ".join(f"show_delays {each.name} '{' '.join(due.get(each.name, ()))}'" for each in shown)
    if scenario.job is not None:
        yield f"kubectl get job {scenario.name} -o jsonpath='{{.status}}{{\"\\n\"}}'"
    if families := [each for each in scenario.samples if not each.startswith("kube_")]:
        yield f"kubectl get --raw /api/v1/nodes/$NODE/proxy/metrics | grep -E '^({'|'.join(families)})'"
    yield 'kill $background; echo "$(sort -u statuses.txt | wc -l) statuses in statuses.txt; the last:"; tail -n 1 statuses.txt'


def _awaited(scenario: PodScenario) -> Iterator[str]:
    until = scenario.until
    yield from (f"wait_for restarts {name} {number}" for name, number in until.restarts.items())
    yield from (f"wait_for exited {name} {number - 1}" for name, number in until.exits.items())
    if scenario.job is not None:
        yield f"wait_for job_ended {scenario.name}"
    if until.phase:
        yield f"wait_for phase_is {until.phase}"
    if until.at_least_s:
        yield f"at_second {ceil(until.at_least_s)}"
    if until.quiet_s:
        yield f"sleep {ceil(until.quiet_s)}"


def _begun(scenario: PodScenario) -> Iterator[str]:
    by_label = f"{SCENARIO_LABEL}={scenario.name}"
    if isinstance(scenario.owner, StaticPod):
        yield f"trap 'exit 130' INT; trap 'on_node \"rm -f {_file(scenario)}\"' EXIT"
        yield f'on_node "$(echo "cat >{_file(scenario)} <<\'POD\'"; objects {OBJECTS}; echo POD)"'
    else:
        gone = f"objects {OBJECTS} | kubectl delete --ignore-not-found --wait=false -f -"
        yield f"trap 'exit 130' INT; trap '{gone}' EXIT"
        yield f"objects {OBJECTS} | kubectl apply -f - || exit"
    yield f"kubectl get pod -l {by_label} --watch -o jsonpath='{{.status}}{{\"\\n\"}}' >statuses.txt & background=$!"
    if scenario.owner is not None:
        yield f"wait_for made_by {scenario.name}"
    if scenario.pod.of_kind(ContainerKind.EPHEMERAL):
        path = "/api/v1/namespaces/default/pods/$pod/ephemeralcontainers"
        yield f"objects late.json | kubectl replace --raw {path} -f - >/dev/null"
    if scenario.mode is Mode.ANNOTATED:
        poke = f"kubectl annotate --overwrite pod $pod {POKE}=$(date +%s) >/dev/null"
        yield f'while sleep 1; do {poke}; done & background="$background $!"'


def _registry(scenario: PodScenario) -> Iterator[str]:
    for each in scenario.pod.containers:
        if each.image is not None:
            state = "does not have yet" if each.image.version is None else "has"
            secret = f", for a login with the secret {each.image.secret}" if each.image.secret else ""
            slow = f", with {each.image.answers_after_s:g} s for each answer" if each.image.answers_after_s else ""
            yield f"by_hand {shlex.quote(f'Give {each.name} in {OBJECTS} an image of a registry that {state} it{secret}{slow}.')}"


def _kills(scenario: PodScenario) -> Iterator[str]:
    """Lives that a signal from the node ends."""
    for container in scenario.pod.containers:
        lives = [(n, life.run_s) for n, life in enumerate(container.program.each_life()) if life.end is LifeEnd.SIGNAL]
        if lives:
            numbers, run_s = " ".join(str(number) for number, _ in lives), lives[0][1]
            kill = _kill_process(container)
            yield f"for n in {numbers}; do wait_for running {container.name} $n; sleep {run_s:g}; on_node {kill}; done &"


def _kill_process(container: Container) -> str:
    return (
        "\"kill -9 \\$(crictl inspect -o go-template --template '{{.info.pid}}' "
        f'\\$(crictl ps -q --name {container.name} --pod \\$(crictl pods -q --name $pod)))"'
    )


def _when(intervention: Intervention) -> str:
    trigger = intervention.trigger
    if trigger.container is None or trigger.after_restart is None:
        return f"at_second {ceil(trigger.after_s)}; " if trigger.after_s else ""
    slept = f"sleep {trigger.after_s:g}; " if trigger.after_s else ""
    return f"wait_for exited {trigger.container} {trigger.after_restart}; {slept}"


def _action(scenario: PodScenario, intervention: Intervention) -> str:
    """A command, or a sentence for a person; in the background what the recorder does not wait for."""
    given = intervention.arguments
    command = ACTIONS[intervention.action](scenario, given)
    if intervention.profile is not None:
        file = f"kubelet-{node_name(intervention.profile)}.yaml"
        command = f"by_hand 'Put {file} in the place of {KUBELET} on the node.'; {command}".removesuffix("; ")
    is_left = not given.get("wait", True) and intervention.action is not InterventionKind.DELETE_POD
    return f"{command} &" if is_left else command


def _service(name: str, given: Mapping[str, Any]) -> str:
    pause = f"stop {name}; sleep {down_s(given):g}; systemctl start {name}" if down_s(given) else f"restart {name}"
    return f"on_node 'systemctl {pause}'"


def _patch(container: str, scenario: PodScenario, change: Mapping[str, Any]) -> str:
    kind = next(each.kind for each in scenario.pod.containers if each.name == container)
    field = "initContainers" if kind is ContainerKind.INIT else "containers"
    return shlex.quote(msgspec.json.encode({"spec": {field: [{"name": container, **change}]}}).decode())


def _resized(scenario: PodScenario, given: Mapping[str, Any]) -> str:
    requests = {name: given[name] for name in ("cpu", "memory") if name in given}
    change = _patch(given["container"], scenario, {"resources": {"requests": requests}})
    return f"kubectl patch pod $pod --subresource resize -p {change}"


def _object(scenario: PodScenario, given: Mapping[str, Any]) -> str:
    each = next(each for each in scenario.objects if each.name == given["object"])
    return f"{'configmap' if each.kind is ConfigKind.CONFIG_MAP else 'secret'} {stored_name(scenario.name, each.name)}"


def _changed(scenario: PodScenario, given: Mapping[str, Any]) -> str:
    about = _object(scenario, given)
    data = {"data" if about.startswith("configmap") else "stringData": given["data"]}
    return f"kubectl patch {about} -p {shlex.quote(msgspec.json.encode(data).decode())}"


def _deleted(_: PodScenario, given: Mapping[str, Any]) -> str:
    how = "" if given.get("wait", True) else " --wait=false"
    how += " --force --grace-period=0" if given.get("at_once") else ""
    return f"kubectl delete pod $pod{how}"


def _file(scenario: PodScenario) -> str:
    return f"{STATIC_PODS}/{scenario.name}.yaml"


_CRICTL_POD = "crictl pods -q --name $pod"
ACTIONS: dict[InterventionKind, Callable[[PodScenario, Mapping[str, Any]], str]] = {
    InterventionKind.ANNOTATE: lambda *_: f"kubectl annotate --overwrite pod $pod {POKE}=1",
    InterventionKind.LABEL: lambda *_: "kubectl label --overwrite pod $pod crashloop.dev/changed=1",
    InterventionKind.CHANGE_IMAGE: lambda _, given: (
        f"kubectl set image pod/$pod {given['container']}="
        + (given.get("image") or f"\"$(field {given['container']} '{{.imageID}}')\"")
    ),
    InterventionKind.RESIZE: _resized,
    InterventionKind.RECREATE_POD: lambda *_: f"kubectl delete pod $pod; objects {OBJECTS} | kubectl apply -f -",
    InterventionKind.KILL_SANDBOX: lambda *_: (
        f"on_node \"kill -9 \\$(crictl inspectp -o go-template --template '{{{{.info.pid}}}}' \\$({_CRICTL_POD}))\""
    ),
    InterventionKind.REMOVE_CONTAINER: lambda _, given: (
        f'on_node "crictl rm -f \\$(crictl ps -aq --name {given["container"]} --pod \\$({_CRICTL_POD}) | head -n 1)"'
    ),
    InterventionKind.DELETE_POD: _deleted,
    InterventionKind.EDIT_STATIC_POD: lambda scenario, _: (
        f'on_node "sed -i \'s|{REVISION_ANNOTATION}: .*|{REVISION_ANNOTATION}: \\"$(date +%s)\\"|\' {_file(scenario)}"'
    ),
    InterventionKind.RENEW_STATIC_POD: lambda scenario, given: (
        f"on_node 'mv {_file(scenario)} /tmp; sleep {absent_s(given):g}; mv /tmp/{scenario.name}.yaml {STATIC_PODS}'"
    ),
    InterventionKind.DELETE_MIRROR_POD: lambda *_: "kubectl delete pod $pod",
    InterventionKind.CREATE_OBJECT: lambda _, given: f"kubectl apply -f {given['object']}.yaml",
    InterventionKind.CHANGE_OBJECT: _changed,
    InterventionKind.DELETE_OBJECT: lambda scenario, given: f"kubectl delete {_object(scenario, given)}",
    InterventionKind.OFFER_IMAGE: lambda _, given: (
        f"by_hand 'Let the registry have the image of {given['container']}.'"
    ),
    InterventionKind.RESTART_KUBELET: lambda _, given: _service("kubelet", given),
    InterventionKind.KILL_KUBELET: lambda _, given: (
        f"on_node 'systemctl kill -s KILL kubelet'; {_service('kubelet', given)}"
    ),
    InterventionKind.WRITE_KUBELET_CONFIG: lambda *_: "",
    InterventionKind.RESTART_RUNTIME: lambda _, given: (
        f"on_node 'kill -STOP $(pidof containerd); sleep {down_s(given):g}; kill -CONT $(pidof containerd)'"
        if hangs(given)
        else _service("containerd", given)
    ),
    InterventionKind.TAKE_NETWORK: lambda *_: "on_node 'mv /etc/cni/net.d /etc/cni/away.d'",
    InterventionKind.GIVE_NETWORK: lambda *_: "on_node 'mv /etc/cni/away.d /etc/cni/net.d'",
    InterventionKind.UNLABEL_NODE: lambda *_: f"kubectl label node $NODE {PROFILE_LABEL}-",
    InterventionKind.STOP_COMPONENT: lambda _, given: f"by_hand 'Stop {given['component']}.'",
    InterventionKind.START_COMPONENT: lambda _, given: (
        f"by_hand 'Start {given['component']} with {in_words(given.get('feature_gates') or {}) or 'its own gates'}.'"
    ),
    InterventionKind.CUT_OFF_NODE: lambda *_: "on_node 'iptables -I OUTPUT -p tcp --dport 6443 -j DROP'",
    InterventionKind.CONNECT_NODE: lambda *_: "on_node 'iptables -D OUTPUT -p tcp --dport 6443 -j DROP'",
}
"""What the recorder does, as a person does it."""
