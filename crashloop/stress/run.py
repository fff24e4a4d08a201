"""Runs a stress profile: plan, cluster, load, evidence, verdicts, report.

A run on many nodes has an open file per history and per heartbeat. A process may have more than it is given at first.
"""

import lzma
import os
import resource
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.binaries.versions import own_kubelet
from crashloop.cluster.ownership import ClusterStore
from crashloop.cluster.prerequisites import OPEN_FILES
from crashloop.cluster.provider import Capability, ClusterRequest, ExistingOptions, Progress, Survey
from crashloop.cluster.providers import lending_provider, owning_provider
from crashloop.errors import ClusterError, PrerequisiteError, UsageError
from crashloop.processors import available_processors
from crashloop.profiles import load_profile, validate_for_node
from crashloop.record.scenario_loop import Lifeline
from crashloop.report.stress.results import StressResults
from crashloop.run.existing import offer_of
from crashloop.run.options import OF_LENDERS, arguments
from crashloop.rundir import new_run_path, point_latest_at
from crashloop.settings import resolve_settings
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion, check_supported
from crashloop.stress.evidence import StressEvidence
from crashloop.stress.folder import Cause, Incidents, StressDir, publish_stress
from crashloop.stress.generator import address_of, check_free, load_access
from crashloop.stress.judging import judge_run
from crashloop.stress.lent_nodes import Number, group_for, lend, open_files_of, spread_out
from crashloop.stress.loads import Crash
from crashloop.stress.plan import SUITE, StressPlan, plan_of
from crashloop.stress.profile import StressProfile
from crashloop.stress.profiles import load_stress_profile, with_max_pods
from crashloop.stress.recorder import StressRecorder
from crashloop.stress.requirements import fitting_rows, rows_of
from crashloop.stress.testbed import kinds_of, site


def allow_open_files(number: int) -> None:
    """Let this process and its children have so many files open. Raises PrerequisiteError if the host permits fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = number + OPEN_FILES
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise PrerequisiteError(
            f"open files: {needed} are needed for histories and heartbeats; the hard limit of this process is {hard}.\n"
            "Raise it (ulimit -Hn), or spread the load over fewer nodes."
        )
    if soft != resource.RLIM_INFINITY and needed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


_IMAGE_INDEXES = frozenset({"manifest.json", "index.json"})
"""Of a docker-archive, and of an OCI archive."""


def ended_by_signals() -> Lifeline:
    """Only signals end a stress run: its standard input is arbitrary."""
    return Lifeline(os.pipe()[0])


class StressOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The user's options; written to run.json."""

    profile: str
    """A name of manifests/stress, or a path, also of a file with the pods themselves."""
    pods: int | None = None
    """So many of these pods."""
    kubelet_profile: str | None = None
    """Of their node."""
    steps: tuple[int, ...] = ()
    """Numbers of users in place of those of the profile's steps."""
    placement: int = 0
    """How many nodes further each load is, among those that are alike."""
    provider: str = "local"
    kubernetes_version: str | None = None
    run_dir: str | None = None
    cluster: str | None = None
    """Name of a kept cluster. Default: a new one for the run."""
    keep: bool = False
    kubelet_binary: str | None = None
    """The user's own kubelet: of the treatment in a comparison, otherwise of all nodes. Default: that of the version."""
    workers: int | None = None
    """Workers of Locust. Default: the profile's."""
    listen: str | None = None
    """HOST[:PORT] to which the workers come from other machines. Default: they are started on this one."""
    web_port: int | None = None
    """Where Locust's web UI is served. Default: nowhere."""
    existing: ExistingOptions | None = None
    """The cluster of the provider `existing`, and the limits of its use."""
    spread_over: Number | None = None
    """Nodes of the cluster that exists over which the load of the profile's only node is spread. Default: it has one."""
    image_archives: tuple[str, ...] = ()
    """Files as `docker save` writes them: images for all nodes."""


def arguments_of(options: StressOptions, kubernetes_version: str) -> list[str]:
    """The arguments of `crashloop stress` that run the same again on any day and from any folder."""
    file, separator, chosen = options.profile.partition("#")
    is_path = "/" in file or file.endswith((".yaml", ".yml", ".json"))
    values: dict[str, Any] = {
        "provider": options.provider,
        "kubernetes-version": kubernetes_version if options.existing is None else options.kubernetes_version,
        "pods": options.pods,
        "profile": options.kubelet_profile,
        "steps": ",".join(map(str, options.steps)) or None,
        "placement": options.placement or None,
        "kubelet-binary": options.kubelet_binary,
        "image-archive": list(options.image_archives),
        "cluster": options.cluster,
        "keep": options.keep,
        "workers": options.workers,
        "listen": options.listen,
        "web": options.web_port is not None,
        "web-port": options.web_port,
        "spread-over": options.spread_over,
    }
    existing = {} if options.existing is None else msgspec.to_builtins(options.existing)
    declared = [f"{node}={profile}" for node, profile in existing.get("node_profiles", {}).items()]
    lent = {each.name.lstrip("-"): existing.get(each.field) or None for each in OF_LENDERS} | {"node-profile": declared}
    subject = f"{Path(file).absolute() if is_path else file}{separator}{chosen}"
    return [subject, *(word for name, value in (values | lent).items() for word in arguments(f"--{name}", value))]


def plan_stress(options: StressOptions) -> StressPlan:
    """The plan. Raises UsageError for a faulty stress profile, kubelet profile or SLO, and what options name that cannot be used.

    An existing cluster is surveyed for it: raises UsageError and PrerequisiteError for what stands in the way there.
    """
    profile = load_stress_profile(
        options.profile,
        steps=options.steps,
        placement=options.placement,
        pods=options.pods,
        kubelet=options.kubelet_profile,
    )
    if options.workers is not None:
        profile = msgspec.structs.replace(profile, workers=options.workers)
    if options.listen is not None:
        if not profile.workers:
            raise UsageError(f"--listen {options.listen}: no worker is expected.\nGive their number with --workers.")
        check_free(address_of(options.listen, option="--listen"), option="--listen")
    fitting_rows(profile)
    if options.existing is not None:
        plan = _plan_on_existing(profile, options, options.existing)
    else:
        plan = _plan_on_own(profile, options)
    _check_options(plan, options)
    return msgspec.structs.replace(plan, listen=options.listen)


def _plan_on_own(profile: StressProfile, options: StressOptions) -> StressPlan:
    version = KubernetesVersion.parse(options.kubernetes_version or resolve_settings().versions.kubernetes)
    return plan_of(
        profile,
        provider=options.provider,
        kubernetes_version=str(version),
        cores=available_processors(),
        kubelet=lambda name: _kubelet_for_node(name, profile, version),
        kubelet_binary=options.kubelet_binary,
        reconfigures=Capability.KUBELET_RECONFIGURATION in owning_provider(options.provider).capabilities,
    )


def _plan_on_existing(profile: StressProfile, options: StressOptions, existing: ExistingOptions) -> StressPlan:
    load_access(existing.kubeconfig, existing.context)
    kinds = kinds_of(profile.loads.values())
    outliving = [kind for kind in ("Deployment", "Service") if kind in kinds]
    if existing.namespace is not None and outliving:
        raise UsageError(
            f'stress profile "{profile.name}": it makes {outliving[0]}s, which would outlive a killed run in a namespace that '
            "stays.\nLeave --namespace out: the namespace of the run goes with it."
        )
    survey = lending_provider(options.provider).survey(existing, kinds)
    if options.spread_over is not None:
        return _spread_plan(profile, options, survey, options.spread_over, max_pods=existing.max_pods)
    lent = lend(profile, survey, offer_of(survey), load_profile)
    return plan_of(
        lent.profile,
        provider=options.provider,
        kubernetes_version=survey.kubernetes_version,
        cores=lent.cores,
        kubelet=lent.kubelets.__getitem__,
        reconfigures=False,
        pods_each=lent.pods_each,
    )


def _spread_plan(
    profile: StressProfile, options: StressOptions, survey: Survey, over: Number, *, max_pods: int
) -> StressPlan:
    group = group_for(profile, survey, offer_of(survey), load_profile, over, max_pods=max_pods)
    plan = plan_of(
        group.profile,
        provider=options.provider,
        kubernetes_version=survey.kubernetes_version,
        cores=group.cores,
        kubelet=lambda _: group.kubelet,
        reconfigures=False,
        pods_each=group.pods_each,
    )
    return spread_out(plan, group.hosts)


def plan_in_words(plan: StressPlan) -> Iterator[str]:
    """Nodes, loads and stages."""
    for node, kubelet in zip(plan.load.nodes, plan.kubelets, strict=True):
        yield f"node {node.name}: kubelet profile {kubelet.name}"
    for name, load in plan.load.loads.items():
        own = (
            f" {load.own.file} ({', '.join(load.own.images)})"
            if isinstance(load, Crash) and load.own is not None
            else ""
        )
        yield f"load {name}: {type(load).__name__.lower()}{own} on node {load.node}"
    for stage in plan.load.stages:
        users = ", ".join(f"{count} {name}" for name, count in stage.users.items())
        yield f"stage {stage.name}: {stage.settle_s + stage.duration_s:g} s with {users}"
    yield f"{sum(each.settle_s + each.duration_s for each in plan.load.stages) * plan.load.rounds / 60:.3g} min of load in all."


def replaced_in(plan: StressPlan) -> Iterator[str]:
    """What of the user's own templates the run does not use."""
    for name, load in plan.load.loads.items():
        if isinstance(load, Crash) and load.own is not None:
            yield from (f"load {name!r}, {load.own.file}: {each}" for each in load.own.replaced)


def run_stress(
    options: StressOptions, progress: Progress, say: Callable[[str], None], lifeline: Lifeline
) -> tuple[StressDir, StressResults]:
    """Make the run and its report. A `lifeline` that breaks ends its load.

    Raises the provider's errors if no load was run at all. If the cluster cannot be left as it was after a load, that is an
    incident of the run.
    """
    plan = plan_stress(options)
    if options.existing is None and options.cluster is None:
        maker = owning_provider(options.provider)
        maker.check(ClusterRequest(name=SUITE, kubernetes_version=plan.kubernetes_version, nodes=()))
    if plan.spread:
        allow_open_files(open_files_of(plan))
    run = _new_run(plan, options)
    say(f"run directory: {run.root}")
    for line in replaced_in(plan):
        say(line)
    rows = rows_of(plan.load.slos)
    where_at = site(
        run,
        plan,
        lifeline,
        progress,
        cluster=options.cluster,
        keep=options.keep,
        existing=options.existing,
        image_archives=[Path(each) for each in options.image_archives],
    )
    try:
        with where_at as where:
            evidence = StressEvidence(run, plan, rows, where)
            StressRecorder(run, plan, where, evidence, lifeline, say, web_port=options.web_port).record()
    except ClusterError as error:
        if not run.marks():
            raise
        Incidents(run.incidents_jsonl, say).note(Cause.NOT_REMOVED, f"The cluster could not be left as it was: {error}")
    with progress.step("judging"):
        results = judge_run(run)
        publish_stress(run, results)
    return run, results


def _check_options(plan: StressPlan, options: StressOptions) -> None:
    """Raise UsageError for files, a version or a cluster that cannot be used. Gets and starts nothing."""
    check_archives(options.image_archives)
    if options.existing is not None:
        return  # the survey has
    if options.kubelet_binary is not None:
        own_kubelet(Path(options.kubelet_binary))
    if options.cluster is not None:
        ClusterStore().find(options.cluster)
    else:
        check_supported("--kubernetes-version", KubernetesVersion.parse(plan.kubernetes_version))


def check_archives(archives: Iterable[str]) -> None:
    """Raise UsageError for a file that is no archive of images: no tar, or without an index of the images in it."""
    for each in archives:
        try:
            with tarfile.open(each) as tar:
                indexed = not _IMAGE_INDEXES.isdisjoint(tar.getnames())
        except (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise UsageError(f"--image-archive {each}: it cannot be read as a tar ({reason}).") from error
        if not indexed:
            raise UsageError(
                f"--image-archive {each}: no images in it; expected a file as `docker save` writes it, with "
                f"{' or '.join(sorted(_IMAGE_INDEXES))}."
            )


def _kubelet_for_node(name: str, profile: StressProfile, version: KubernetesVersion) -> KubeletProfile:
    kubelet = load_profile(name)
    validate_for_node(kubelet, version)
    return with_max_pods(kubelet, profile.max_pods)


def _new_run(plan: StressPlan, options: StressOptions) -> StressDir:
    path = _default_path() if options.run_dir is None else Path(options.run_dir)
    settings = {**msgspec.to_builtins(options), "arguments": arguments_of(options, plan.kubernetes_version)}
    run = StressDir.begin(path.absolute(), plan, settings, now=datetime.now(UTC))
    point_latest_at(run.root)
    return run


def _default_path() -> Path:
    return new_run_path(resolve_settings().paths.runs_dir, SUITE, datetime.now(UTC))
