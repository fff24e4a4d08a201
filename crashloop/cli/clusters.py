"""Commands about clusters, and about this host: bring up, list and remove them; prepare and examine it; build a node image."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crashloop.cli.command import (
    Command,
    JsonOption,
    KubernetesVersionOption,
    ProviderOption,
    out,
    print_json,
    print_table,
)
from crashloop.errors import UsageError
from crashloop.verdict import ExitCode

if TYPE_CHECKING:
    from crashloop.cluster.ownership import ClusterRecord


DEFAULT_PROFILES = ("stock", "max-2s")


def up(
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the cluster.")] = "crashloop",
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROFILE",
            help="Kubelet profile of a node (name or file, also max-2s@1.36.4, max-2s+containerd-1.7); repeatable. "
            f"Default: {' and '.join(DEFAULT_PROFILES)}.",
        ),
    ] = None,
    provider: ProviderOption = "local",
    kubernetes_version: KubernetesVersionOption = None,
    feature_gate: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=BOOL", help="Feature gate of the control plane; repeatable."),
    ] = None,
    kubelet_binary: Annotated[Path | None, typer.Option(metavar="PATH", help="Your own kubelet for all nodes.")] = None,
    bin_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder with your own binaries.")] = None,
    node_image: Annotated[str | None, typer.Option(metavar="IMAGE", help="Node image, or own (provider kind).")] = None,
    kind_binary: Annotated[Path | None, typer.Option(metavar="PATH", help="Your own kind (provider kind).")] = None,
    kind_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your file for kind, merged under these nodes (provider kind).")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print files, arguments and addresses; start nothing.")] = False,
) -> None:
    """Bring up a cluster that stays; `crashloop down NAME` removes it. The last line is the path of its kubeconfig."""
    from crashloop.cluster.kind.kind_file import KindFile, read_kind_file
    from crashloop.cluster.kind.node_image import version_in_tag
    from crashloop.cluster.ownership import mark_kept
    from crashloop.cluster.provider import ClusterRequest, NodeRequest
    from crashloop.cluster.providers import owning_provider
    from crashloop.profiles import load_profile, validate_for_cluster
    from crashloop.progress import default_progress
    from crashloop.run.options import check_provider
    from crashloop.run.requested import parsed_gates
    from crashloop.settings import resolve_settings
    from crashloop.spec.profile import node_name
    from crashloop.spec.version import KubernetesVersion

    check_provider(provider, {"--node-image": node_image, "--kind-binary": kind_binary, "--kind-config": kind_config})
    file = KindFile() if kind_config is None else read_kind_file(str(kind_config))
    node_image = node_image or file.node_image
    version = KubernetesVersion.parse(
        kubernetes_version or version_in_tag(node_image) or resolve_settings().versions.kubernetes
    )
    gates = parsed_gates(
        file.gates_beside(feature_gate or ()), version, own_programs=bin_dir is not None or node_image is not None
    )
    profiles = [load_profile(each).with_gates(file.feature_gates) for each in profile or DEFAULT_PROFILES]
    validate_for_cluster(profiles, version)
    request = ClusterRequest(
        name=name,
        kubernetes_version=str(version),
        nodes=tuple(NodeRequest(name=node_name(each.name), profile=each) for each in profiles),
        feature_gates=gates,
        kubelet_binary=None if kubelet_binary is None else str(kubelet_binary.absolute()),
        bin_dir=None if bin_dir is None else str(bin_dir.absolute()),
        node_image=node_image,
        kind_binary=None if kind_binary is None else str(kind_binary.absolute()),
        kind_config=None if kind_config is None else str(kind_config.absolute()),
    )
    made_by = owning_provider(provider)
    if plan:
        typer.echo(made_by.describe_plan(request, default_progress()))
        return
    cluster = made_by.up(request, default_progress())
    mark_kept(name)
    nodes = ((node.name, node.profile, node.runtime_socket or "") for node in cluster.info.nodes)
    print_table(("node", "profile", "runtime socket"), nodes)
    out.print(cluster.info.kubeconfig, soft_wrap=True)


def down(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the cluster.")] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Every cluster, also those that stay, and the remains of every run; none if one is in use."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Also clusters that a run is using.")] = False,
) -> None:
    """Remove a cluster with everything it made on this host."""
    from crashloop.cluster.removal import remove, remove_all

    if every == (name is not None):
        raise UsageError("crashloop down: name one cluster, or use --all.\n`crashloop status` lists them.")
    if name is not None:
        remove(name, force=force)
        out.print(f"removed: {name}")
    else:
        out.print(f"removed: {', '.join(remove_all(force=force)) or 'nothing, there is no cluster'}")


def status(as_json: JsonOption = False) -> None:
    """List the clusters of this host."""
    from crashloop.cluster.ownership import list_clusters

    clusters = list_clusters()
    if as_json:
        print_json(clusters)
        return
    if not clusters:
        out.print("no clusters")
        return
    rows = ((each.name, each.provider, _state(each), " ".join(each.nodes), each.kubeconfig or "") for each in clusters)
    print_table(("cluster", "provider", "state", "nodes", "kubeconfig"), rows)


def _state(cluster: "ClusterRecord") -> str:
    return "in use" if cluster.owner_alive else "kept" if cluster.kept else "left behind"


COMMANDS = (Command(up), Command(down), Command(status))


def setup(
    kubernetes_version: KubernetesVersionOption = None,
    every_release: Annotated[
        bool,
        typer.Option("--every-release", help="The versions of `crashloop run --scope versions`, one after the other."),
    ] = False,
) -> None:
    """Fetch or build every binary and make the images, so that later commands start at once."""
    from crashloop.cluster.binaries.ensure import ensure_binaries
    from crashloop.cluster.images import ensure_image_archive
    from crashloop.progress import default_progress
    from crashloop.settings import resolve_settings
    from crashloop.spec.version import PINNED

    settings, progress = resolve_settings(), default_progress()
    if every_release and kubernetes_version is not None:
        raise UsageError("--every-release: has versions of its own.\nLeave --kubernetes-version out.")
    versions = PINNED if every_release else (kubernetes_version or settings.versions.kubernetes,)
    for version in versions:  # one after the other, each kept: what was interrupted goes on with the next one
        binaries = ensure_binaries(settings, kubernetes_version=version, progress=progress)
        ensure_image_archive(binaries, settings)
        found = ((name, each, binaries.source.get(name, "")) for name, each in sorted(binaries.versions.items()))
        print_table(("program", "version", "from"), found)


def doctor(as_json: JsonOption = False) -> None:
    """Report what this host can run, and what it lacks."""
    from crashloop.doctor import examine

    report = examine()
    if as_json:
        print_json(report)
    else:
        rows = ((row.name, row.value, row.state, row.advice) for row in report.rows)
        print_table(("check", "value", "state", "advice"), rows)
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.ERROR)


HOST_COMMANDS = (Command(setup), Command(doctor))


def build_node_image(
    kubernetes_version: KubernetesVersionOption = None,
    bin_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder with your own binaries.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="NAME:TAG", help="A further name of the image.")] = None,
) -> None:
    """Build a node image of the binaries that the provider `local` runs, and print its name (for --node-image)."""
    from crashloop.cluster.binaries.ensure import ensure_binaries
    from crashloop.cluster.kind.docker import Docker
    from crashloop.cluster.kind.node_image import ensure_own_image
    from crashloop.cluster.kind.prerequisites import check_docker, docker_facts
    from crashloop.progress import default_progress
    from crashloop.settings import resolve_settings

    settings, progress, docker = resolve_settings(), default_progress(), Docker()
    check_docker(docker_facts(), nodes=0, systemd=False)
    binaries = ensure_binaries(
        settings,
        kubernetes_version=kubernetes_version or settings.versions.kubernetes,
        bin_dir=bin_dir,
        progress=progress,
    )
    name = ensure_own_image(docker, binaries, settings, progress)
    if tag is not None:
        docker.run("tag", name, tag, describe=f"image {tag}")
    out.print(tag or name, soft_wrap=True)


kind_group = typer.Typer(help="Commands for the provider kind.", no_args_is_help=True)
Command(build_node_image).add_to(kind_group)
