"""`crashloop why`: when a crashed container starts next, why it ended, and what its rules would do. Read-only."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crashloop.cli.command import Command, Example, JsonOption, epilog, out, print_json
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.spec.version import KubernetesVersion
    from crashloop.why.answer import ContainerAnswer, Setting


def why(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="POD|deploy/NAME|FILE|-",
            help="A pod or a workload of a cluster; output of kubectl get -o yaml or json, a manifest, or the folder of a dump.",
        ),
    ],
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Of the pod. Default: the context's.")
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Default: $KUBECONFIG, else ~/.kube/config.")
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.")] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help="Kubelet profile of the nodes (name or file). Default: not known."),
    ] = None,
    read_configz: Annotated[bool, typer.Option("--read-configz", help="Read the kubelet's configuration.")] = False,
    kubernetes_version: Annotated[
        str | None, typer.Option("--kubernetes-version", metavar="V", help="Of kubelets that a file does not name.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a pod's crash loop: delay, last exit, next start, and what each restart rule would do."""
    from crashloop.kube.client import KubeApi
    from crashloop.kube.kubeconfig import default_kubeconfig
    from crashloop.kube.objects import check_namespace
    from crashloop.report.text import printable
    from crashloop.spec.version import KubernetesVersion
    from crashloop.why.answer import TooOld, WhyAnswer, answer_of
    from crashloop.why.objects import at
    from crashloop.why.sources import from_cluster, from_files

    if namespace is not None:
        check_namespace(namespace)
    if read_configz and profile is not None:
        raise UsageError("--read-configz and --profile exclude each other.")
    default = None if kubernetes_version is None else KubernetesVersion.parse(kubernetes_version)
    options = {"--namespace": namespace, "--kubeconfig": kubeconfig, "--context": context}
    given = next((name for name, value in options.items() if value is not None), "")
    evidence, api = from_files(subject, of_a_cluster=given), None
    if evidence is not None and read_configz:
        raise UsageError("--read-configz: a file has no kubelet to ask; give the name of a pod.")
    if evidence is None:
        api = KubeApi(default_kubeconfig(None if kubeconfig is None else str(kubeconfig), os.environ), context=context)
        evidence = from_cluster(api, subject, namespace or api.namespace)
    events: dict[str, list[dict[str, object]]] = {}
    for each in evidence.events:
        events.setdefault(str(at(each, "involvedObject", "uid")), []).append(each)
    containers: list[ContainerAnswer] = []
    too_old: list[TooOld] = []
    for pod in evidence.pods:
        spec = pod.get("spec")
        node = spec.get("nodeName") if isinstance(spec, dict) else None
        stated = evidence.versions.get(str(node))
        try:
            version = KubernetesVersion.parse(stated) if stated else default
        except UsageError as error:
            raise UsageError(f"node {node}: its kubelet has no version ({error})") from error
        try:
            containers += answer_of(
                pod,
                _setting(version, profile, api if read_configz else None, node),
                events.get(str(at(pod, "metadata", "uid")), ()),
            )
        except TooOld as error:
            too_old.append(error)
    if too_old and not containers:
        raise too_old[0]
    if too_old:
        more = f" {len(too_old) - 1} more are left out like it." if len(too_old) > 1 else ""
        typer.echo(f"crashloop: {printable(str(too_old[0]))}{more}", err=True)
    answer = WhyAnswer(asked_at=api.now() if api else datetime.now(UTC), containers=tuple(containers))
    if api is not None:
        api.close()
    if as_json:
        print_json(answer)
        return
    lines = map(printable, _lines(answer.containers, answer.asked_at))
    out.print("\n".join(lines), markup=False, soft_wrap=True)


def _setting(version: "KubernetesVersion | None", profile: str | None, api: object, node: str | None) -> "Setting":
    """What is known of a node. Raises UsageError for a profile with which its kubelet would not start."""
    from crashloop.kube.client import KubeApi
    from crashloop.kube.kubelet import ConfigzReader
    from crashloop.model.config import profile_of, shipped_curve
    from crashloop.model.gates import effective_gates
    from crashloop.profiles import load_profile
    from crashloop.spec.version import RELEASES, KubernetesVersion
    from crashloop.why.answer import Setting

    found = version or KubernetesVersion(*RELEASES[-1])
    if found.release < RELEASES[0]:
        return Setting(version=found)
    if isinstance(api, KubeApi) and node:
        known = profile_of(ConfigzReader(api).config(api.node(node)), version=str(found))
        by = "the kubelet's configuration (configz)"
    elif profile is not None:
        known, by = load_profile(profile), f"profile {profile}"
    else:
        newest = ".".join(map(str, RELEASES[-1]))
        by = "" if version else "the default of the newest release; neither release nor configuration is known"
        if found.release > RELEASES[-1]:
            by = (
                f"the default of {newest}, the newest release that is known here; the node's configuration is not known"
            )
        return Setting(version=found, states_version=version is not None, curve_by=by)
    curve = shipped_curve(known, found)
    if curve is None:
        raise UsageError(f"{by}: a kubelet {found} does not start with it (crashloop profile check says why).")
    return Setting(
        version=found,
        states_version=version is not None,
        gates=effective_gates(known, found),
        curve=curve,
        curve_by=by,
    )


def _lines(containers: "tuple[ContainerAnswer, ...]", now: datetime) -> Iterator[str]:
    from crashloop.model.counter import RESET_AFTER_S
    from crashloop.words import count

    for each in containers:
        where = f" on {each.node}" if each.node else ""
        kubelet = f"kubelet {each.kubelet_version or 'of unknown release'}"
        yield f"{each.pod}, container {each.container}{where}, {kubelet}: {count(each.restarts, 'restart')}"
        yield f"  now         {each.state}"
        yield f"  last exit   {each.last_exit}"
        if each.delay_s is not None:
            yield f"  delay       {each.delay_s:g} s, as the kubelet states; {each.step}"
        elif each.counted_s == 0:
            yield f"  delay       0 s, for a first restart and after a run of more than {RESET_AFTER_S:g} s; not stated yet"
        elif each.counted_s is not None:
            yield f"  delay       {each.counted_s:g} s by its restart count, unless something reset it; not stated yet"
        yield f"  curve       {each.curve.initial_s:g} s, doubled up to {each.curve.maximum_s:g} s: {each.curve_by}"
        if each.earliest is not None and each.latest is not None:
            due = _countdown(
                each.earliest, each.latest, now, longest=timedelta(seconds=max(each.curve.maximum_s, each.delay_s or 0))
            )
            day = "" if each.earliest.date() == now.date() else f"{each.earliest:%Y-%m-%d} "
            yield f"  next start  {day}{each.earliest:%H:%M:%S} to {each.latest:%H:%M:%S} UTC ({due})"
        yield f"  resets      {'; '.join(each.resets)}"
        for exit_ in each.exits:
            yield f"  exit {exit_.exit:<6} {exit_.decision}: {exit_.step}"
        if each.looks_like_liveness_spiral:
            yield "  beware      a liveness probe and a CPU limit: it may be too slow to answer; docs/liveness-loop.md"
        for field in each.unknown_fields:
            yield f"  left out    {field}"
        for finding in each.findings:
            yield f"  finding     {finding}"


def _countdown(earliest: datetime, latest: datetime, now: datetime, *, longest: timedelta) -> str:
    """`longest`: the longest delay of the container's curve; what is later than that is an old status, not a late start."""
    from crashloop.report.text import took

    if now > latest + longest:
        return f"that was {took(now - latest)} ago: the status is old"
    if now > latest:
        return f"{took(now - latest)} overdue, or the status is that old"
    if now > earliest:
        return f"due now, within {took(latest - now)}"
    ahead = (
        "" if earliest - now <= longest else "; the exit is later than now, so its node's clock is ahead of this one"
    )
    return f"in {took(earliest - now)} to {took(latest - now)}{ahead}"


WHY_EPILOG = epilog(
    Example("crashloop why web-7d4b9-x2x --namespace shop", "a pod of the cluster"),
    Example("kubectl get pods -o json | crashloop why -", "what kubectl shows"),
    Example("crashloop why must-gather.local.123", "a dump"),
    exit_codes="0 answered, 2 wrong usage, no such pod, or a file without one, 70 no answer from the cluster, 130 interrupted",
)

COMMANDS = (Command(why, {"epilog": WHY_EPILOG}),)
