"""The command that predicts what crashing pods cost a cluster."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crashloop.cli.command import Command, JsonOption, KubernetesVersionOption, out, print_json, print_table, seconds
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.model.config import Curve
    from crashloop.observe.nodes import Fleet
    from crashloop.predict.load import CrashLoad
    from crashloop.spec.profile import KubeletProfile
    from crashloop.spec.version import KubernetesVersion


def predict(
    maximum: Annotated[
        str | None, typer.Option("--max", metavar="DURATION", help="The maximum to configure: 1s to 300s. Default: 1s.")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option("--from", metavar="DURATION", help="The maximum before. Default: 300s, the kubelet's own."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE", help="Kubelet profile (name or file) whose curve the nodes follow, instead of --max."
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, max=100_000, metavar="N", help="Nodes of the cluster. Default: 1.")
    ] = None,
    pods: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            metavar="N",
            help="Pods on each node; all of them crash, or the share of --crashing. Default: 110.",
        ),
    ] = None,
    crashing: Annotated[
        str | None, typer.Option("--crashing", metavar="SHARE", help="The share of the pods that crash, such as 10%.")
    ] = None,
    crashing_pods_in_all: Annotated[
        int | None,
        typer.Option("--crashing-pods", min=1, max=1_000_000, metavar="N", help="Crashing pods of the whole cluster."),
    ] = None,
    containers: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Crashing containers in each pod.")] = 1,
    life: Annotated[
        str,
        typer.Option("--life", metavar="DURATION", help="How long each container runs before it crashes: 0s, 10s, 1m."),
    ] = "0s",
    cores: Annotated[
        float | None,
        typer.Option(min=0.1, max=1024, metavar="N", help="Cores of each node. Default: as many as were measured."),
    ] = None,
    from_cluster: Annotated[
        bool,
        typer.Option(
            "--from-cluster", help="Read nodes, cores, pods and those that crash now from a cluster (two lists)."
        ),
    ] = False,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="For --from-cluster. Default: $KUBECONFIG, else ~/.kube/config."),
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.")] = None,
    kube_api_qps: Annotated[
        float,
        typer.Option("--kube-api-qps", min=0.1, max=100_000, metavar="N", help="Client rate limit of the kubelets."),
    ] = 50.0,
    costs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="costs.json of a stress run. Default: measured on 2 cores.")
    ] = None,
    kubernetes_version: KubernetesVersionOption = None,
    kep: Annotated[bool, typer.Option("--kep", help="Show the KEPs' own load arithmetic instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Predict API requests, etcd writes and CPU of crashing pods, from the cost of one restart."""
    from crashloop.predict.costs import MEASURED, read_costs
    from crashloop.predict.load import FULL_NODE, CrashLoad, crashing_pods, spread
    from crashloop.predict.text import (
        by_load_rows,
        claim_rows,
        claim_sentences,
        cost_rows,
        every_pod_sentence,
        fits_sentence,
        headline,
        limit_rows,
        limit_sentences,
        predictions,
        rate_rows,
        sentences,
        window_rows,
    )

    measured = MEASURED if costs is None else read_costs(_read(costs), name=str(costs))
    seen = None
    if from_cluster:
        seen = _fleet(kubeconfig, context)
        nodes, cores = nodes or seen.nodes, seen.cores if cores is None else cores
        if crashing is None and pods is None:
            crashing_pods_in_all = crashing_pods_in_all or seen.crashing
        kubernetes_version = kubernetes_version or seen.oldest
    elif kubeconfig is not None or context is not None:
        raise UsageError("--kubeconfig, --context: only with --from-cluster.")
    nodes = nodes or 1
    number = crashing_pods(nodes, pods, share=crashing, number=crashing_pods_in_all)
    placed = spread(number, nodes)
    load = CrashLoad(
        nodes=placed.nodes,
        pods=placed.pods,
        one_less_on=placed.one_less_on,
        of_nodes=nodes,
        of_pods=FULL_NODE if pods is None and crashing is not None else pods,
        curve=_curve(_configured(profile, maximum, kubernetes_version), kubernetes_version),
        containers=containers,
        run_s=seconds("--life", life, least_s=0.0),
        cores=measured.cores if cores is None else cores,
        kube_api_qps=kube_api_qps,
    )
    curve_before = _curve(_of_maximum("--from", "300s" if before is None else before), kubernetes_version)
    _check_modelled(load, curve_before, life, kubernetes_version)
    found = predictions(load, measured, before=curve_before)
    if as_json:
        print_json(found)
        return
    if kep:
        print_table(_CLAIMS, claim_rows(found.claims))
        _say(claim_sentences(measured))
        return
    _say(
        (fits_sentence(found), headline(found), *([] if seen is None else [seen.in_words]), *every_pod_sentence(found))
    )
    for columns, rows in (
        (_RATES, rate_rows(found)),
        (_COSTS, cost_rows(found)),
        (_LIMITS, limit_rows(found)),
        (_FIRST, window_rows(found)),
        (_BY_LOAD, by_load_rows(measured)),
    ):
        print_table(columns, rows)
    _say((*sentences(found), *limit_sentences(found)))


_RATES = ("pods/node", "restarts/s", "by the curve", "limit", "late, p50 (s)", "p99 (s)")
_COSTS = (
    "pods/node", "API requests/s", "etcd writes/s", "kubelet cores/node", "runtime cores/node", "API server cores", "etcd cores",
)  # fmt: skip
_LIMITS = ("limit", "by default", "used", "share", "headroom", "what it is")
_FIRST = ("after the start of all", "restarts/s", "requests/s", "late, p50 (s)", "p99 (s)")
_BY_LOAD = (
    "at restarts/s", "maximum", "seen", "requests", "writes", "kubelet (ms)", "runtime (ms)", "API server (ms)", "etcd (ms)",
    "overhead (s)",
)  # fmt: skip
_CLAIMS = ("KEP", "number", "says", "computed", "at measured costs", "unit", "contradiction")


def _say(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        out.print(sentence, soft_wrap=not out.is_terminal)


def _fleet(kubeconfig: Path | None, context: str | None) -> "Fleet":
    """Raises UsageError for a cluster where nothing crashes, as there is nothing to predict from."""
    import os
    from contextlib import closing

    from crashloop.kube.client import KubeApi
    from crashloop.kube.kubeconfig import default_kubeconfig
    from crashloop.observe.nodes import read_fleet

    named = default_kubeconfig(None if kubeconfig is None else str(kubeconfig), os.environ)
    with closing(KubeApi(named, context=context)) as api:
        return read_fleet(api)


def _configured(profile: str | None, maximum: str | None, version: str | None) -> "KubeletProfile":
    from crashloop.profiles import load_profile, validate_for_node

    if profile is None:
        return _of_maximum("--max", "1s" if maximum is None else maximum)
    if maximum is not None:
        raise UsageError("--profile and --max: both name the curve; expected one of them.")
    configured = load_profile(profile)
    validate_for_node(configured, _kubernetes(version))
    return configured


def _of_maximum(option: str, maximum: str) -> "KubeletProfile":
    from crashloop.spec.profile import MAX_PERIOD_GATE, KubeletProfile

    config = {"featureGates": {MAX_PERIOD_GATE: True}, "crashLoopBackOff": {"maxContainerRestartPeriod": maximum}}
    return KubeletProfile(name=f"{option} {maximum}", config=config)


def _curve(configured: "KubeletProfile", version: str | None) -> "Curve":
    from crashloop.model.config import Refusal, effective_curve

    kubernetes = _kubernetes(version)
    curve = effective_curve(configured, kubernetes)
    if isinstance(curve, Refusal):
        raise UsageError(
            f'kubelet profile "{configured.name}": a kubelet v{kubernetes} refuses to start with it: {curve.text}.'
        )
    return curve


def _kubernetes(version: str | None) -> "KubernetesVersion":
    from crashloop.settings import resolve_settings
    from crashloop.spec.version import KubernetesVersion, check_supported

    found = KubernetesVersion.parse(resolve_settings().versions.kubernetes if version is None else version)
    check_supported("--kubernetes-version", found)
    return found


def _check_modelled(load: "CrashLoad", before: "Curve", life: str, version: str | None) -> None:
    """Raises UsageError where restarts do not come by their curve: their number would be wrong by a multiple."""
    from crashloop.model.counter import RESET_AFTER_S
    from crashloop.model.lateness import POLL_S, polls

    longest_s = max(load.curve.maximum_s, before.maximum_s)
    if load.run_s + longest_s > RESET_AFTER_S:
        raise UsageError(
            f"--life {life!r}: expected {RESET_AFTER_S - longest_s:g}s at most; of a container that runs longer, a kubelet "
            f"forgets delays of {longest_s:g} s (docs/findings/short-run-resets.md)."
        )
    kubernetes, shortest_s = _kubernetes(version), min(load.curve.maximum_s, before.maximum_s)
    if polls(kubernetes) and shortest_s < POLL_S:
        raise UsageError(
            f"a maximum of {shortest_s:g} s on Kubernetes {kubernetes}: kubelets before 1.35 look every {POLL_S:g} to "
            f"{1.5 * POLL_S:g} s, however short the delay.\nExpected a maximum of {POLL_S:g}s or more, or a newer "
            "--kubernetes-version."
        )


def _read(path: Path) -> bytes:
    from crashloop.yaml_text import Unreadable, text_of

    try:
        return text_of(path).encode()
    except Unreadable as error:
        raise UsageError(f"costs {path}: cannot be read ({error}).") from error


COMMANDS = (Command(predict),)
