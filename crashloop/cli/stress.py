"""Commands about stress runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from crashloop.cli.command import JUDGED, Command, Example, epilog, out
from crashloop.run.options import EXISTING, KUBERNETES_HELP, LENDERS, MAKERS, OF_LENDERS, PROVIDERS

DEFAULT_WEB_PORT = 8089
LOAD_WITHIN_S = 600.0
MAX_PLACEMENT = 99


def of_existing(name: str) -> Any:
    """The option of that name of conformance runs, for a cluster that exists."""
    option = next(each for each in OF_LENDERS if each.name == name)
    return typer.Option(name, metavar=option.metavar, help=option.help, rich_help_panel=EXISTING)


def stress(
    profile: Annotated[
        str,
        typer.Argument(
            metavar="PROFILE|MANIFEST",
            help="A name of manifests/stress, or the path of a file: also a Deployment or the like.",
        ),
    ] = "quick",
    pods: Annotated[
        int | None,
        typer.Option(min=1, max=1000, metavar="N", help="Pods of MANIFEST that crash on one node. Default: 40."),
    ] = None,
    kubelet_profile: Annotated[
        str | None, typer.Option("--profile", metavar="PROFILE", help="Kubelet profile of that node. Default: stock.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print nodes, loads and stages, and what of a manifest is replaced; start nothing."
        ),
    ] = False,
    provider: Annotated[
        str, typer.Option("--provider", metavar=f"<{'|'.join(PROVIDERS)}>", help="What provides the cluster.")
    ] = "local",
    kubernetes_version: Annotated[
        str | None, typer.Option(metavar="V", help=f"{KUBERNETES_HELP}; with --provider existing the cluster's.")
    ] = None,
    run_dir: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where to write. Default: runs/<UTC time>-stress.")
    ] = None,
    kubelet_binary: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Your own kubelet: of the treatment in a comparison, otherwise of all nodes."
        ),
    ] = None,
    image_archive: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Images for all nodes, as `docker save` writes them (`template:` of a load); repeatable.",
        ),
    ] = None,
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Run on this cluster (`crashloop up`).")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the cluster up; `crashloop down NAME` removes it.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=8, metavar="N", help="Workers of the load generator. Default: the profile's."),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Numbers of users of each step, in place of the profile's; for profiles with steps, such as knee.",
        ),
    ] = None,
    placement: Annotated[
        int,
        typer.Option(
            min=0,
            max=MAX_PLACEMENT,
            metavar="N",
            help="Run each load N nodes further on, among nodes of one kubelet profile; for profiles with such nodes, "
            "such as demand.",
        ),
    ] = 0,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="An address of this host, to which the workers come from other machines (`crashloop load-worker`).",
        ),
    ] = None,
    web: Annotated[bool, typer.Option("--web", help="Serve Locust's web UI on this machine during the run.")] = False,
    web_port: Annotated[
        int, typer.Option(min=1, max=65535, metavar="PORT", help="Port of the web UI.")
    ] = DEFAULT_WEB_PORT,
    kubeconfig: Annotated[str | None, of_existing("--kubeconfig")] = None,
    context: Annotated[str | None, of_existing("--context")] = None,
    namespace: Annotated[str | None, of_existing("--namespace")] = None,
    image: Annotated[str | None, of_existing("--image")] = None,
    max_pods: Annotated[int | None, of_existing("--max-pods")] = None,
    node_selector: Annotated[str | None, of_existing("--node-selector")] = None,
    read_configz: Annotated[bool, of_existing("--read-configz")] = False,
    node_profile: Annotated[list[str] | None, of_existing("--node-profile")] = None,
    spread_over: Annotated[
        str | None,
        typer.Option(
            metavar="N|all",
            help="Spread the load of the profile's only node over so many nodes; numbers of pods are those of each.",
            rich_help_panel=EXISTING,
        ),
    ] = None,
) -> None:
    """Run a load of crashing pods on nodes, measure its effects, and judge them by SLOs."""
    from crashloop.errors import UsageError
    from crashloop.progress import default_progress
    from crashloop.report.stress.document import stress_document
    from crashloop.report.terminal import render
    from crashloop.report.text import printable
    from crashloop.run.existing import existing_options
    from crashloop.run.options import check_provider
    from crashloop.rundir import folder_named
    from crashloop.stress.highest_rate import counts_of
    from crashloop.stress.lent_nodes import number_of
    from crashloop.stress.run import (
        StressOptions,
        ended_by_signals,
        plan_in_words,
        plan_stress,
        replaced_in,
        run_stress,
    )

    given: dict[str, Any] = {
        "kubeconfig": kubeconfig,
        "context": context,
        "namespace": namespace,
        "image": image,
        "max_pods": max_pods,
        "node_selector": node_selector,
        "read_configz": read_configz,
        "node_profile": node_profile or [],
    }
    named = {option.name: given[option.field] for option in OF_LENDERS}
    of_makers = {"--kubelet-binary": kubelet_binary, "--cluster": cluster, "--keep": keep}
    check_provider(provider, named | of_makers)
    if spread_over is not None and provider not in LENDERS:
        raise UsageError(f"--spread-over: only for --provider {', '.join(LENDERS)}, not {provider}.")
    if image_archive and provider in LENDERS:
        raise UsageError(f"--image-archive: only for --provider {', '.join(MAKERS)}; let the nodes pull the image.")
    progress = default_progress()
    options = StressOptions(
        profile=profile,
        pods=pods,
        kubelet_profile=kubelet_profile,
        steps=() if steps is None else counts_of(steps),
        placement=placement,
        provider=provider,
        kubernetes_version=kubernetes_version,
        run_dir=None if run_dir is None else str(folder_named(run_dir)),
        kubelet_binary=None if kubelet_binary is None else str(kubelet_binary.absolute()),
        cluster=cluster,
        keep=keep,
        workers=workers,
        listen=listen,
        web_port=web_port if web else None,
        existing=existing_options(**given) if provider in LENDERS else None,
        spread_over=None if spread_over is None else number_of(spread_over),
        image_archives=tuple(str(each.absolute()) for each in image_archive or ()),
    )
    if dry_run:
        plan = plan_stress(options)
        for line in (*plan_in_words(plan), *replaced_in(plan)):
            out.print(printable(line), markup=False, soft_wrap=True)
        return
    if web:
        progress.console.print(f"Locust's web UI: http://127.0.0.1:{web_port}", soft_wrap=True)

    def say(line: str) -> None:
        progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    run, results = run_stress(options, progress, say, ended_by_signals())
    render(stress_document(results), out, report=str(run.report_html))
    raise typer.Exit(results.exit_code)


STRESS_EPILOG = epilog(
    Example("crashloop stress", "a node within the official limit, judged by SLOs"),
    Example("crashloop stress knee", "how many crashing pods a node carries"),
    Example("crashloop stress knee --steps 20,25,30,35,40", "more closely"),
    Example("crashloop stress demand --placement 1", "the same servers, each on the other of two nodes"),
    Example("crashloop stress --provider existing --kubeconfig FILE", "on your own cluster, in a new namespace"),
    Example("crashloop stress --provider existing --spread-over 50 --max-pods 20", "on fifty of its nodes at once"),
    Example(
        "crashloop stress ./deployment.yaml --pods 40 --profile max-10s --dry-run",
        "your own Deployment: what would run",
    ),
    Example("crashloop stress ./mine.yaml --image-archive app.tar", "your own image, by `template:` of a load"),
    Example(
        "crashloop stress --workers 2 --listen 192.0.2.7 --provider existing --kubeconfig FILE",
        "with the load from two other machines",
    ),
    Example("crashloop stress ab-kubelet --kubelet-binary ./kubelet", "does yours need more CPU?"),
    exit_codes=JUDGED,
)


def load_worker(
    master: Annotated[
        str, typer.Option("--master", metavar="HOST[:PORT]", help="Where `crashloop stress --listen` waits for it.")
    ],
    kubeconfig: Annotated[
        str | None,
        typer.Option("--kubeconfig", metavar="FILE", help="Default: KUBECONFIG, or ~/.kube/config."),
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Default: the current one of the kubeconfig.")
    ] = None,
    within: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Longest wait for the stress run.")
    ] = LOAD_WITHIN_S,
) -> None:
    """Make a part of the load of a stress run on another machine: one worker, which ends with the load."""
    import os
    from importlib.util import find_spec

    from crashloop.kube.kubeconfig import default_kubeconfig
    from crashloop.stress.assignment import Joining
    from crashloop.stress.generator import address_of, become_worker, load_access

    if find_spec("locust") is None:
        raise ModuleNotFoundError("locust", name="locust")
    at = address_of(master, option="--master")
    own = default_kubeconfig(kubeconfig, os.environ)
    load_access(own, context)
    become_worker(Joining(host=at.host, port=at.port, kubeconfig=own, context=context, within_s=within))


LOAD_WORKER_EPILOG = epilog(
    Example("crashloop load-worker --master 192.0.2.7 --kubeconfig FILE", "for `crashloop stress --listen 192.0.2.7`"),
    exit_codes="0 the load is over, 1 no master, or it refuses, 2 wrong usage",
)

COMMANDS = (Command(stress, {"epilog": STRESS_EPILOG}), Command(load_worker, {"epilog": LOAD_WORKER_EPILOG}))
