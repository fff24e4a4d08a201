"""Whether a run can start: checked by the owner of the run before anything of it is shown or kept."""

from pathlib import Path

from crashloop.cluster.binaries.ensure import (
    PROGRAMS,
    ensure_containerd_1,
    ensure_state_metrics,
    require_controllers,
    require_kubelet,
)
from crashloop.cluster.binaries.skew import check_supported
from crashloop.cluster.binaries.versions import own_folder, own_kubelet
from crashloop.cluster.ownership import ClusterStore
from crashloop.cluster.provider import Capability, ClusterRequest
from crashloop.cluster.providers import LENDING, owning_provider
from crashloop.progress import default_progress
from crashloop.record.run_cluster import RecorderSettings, require_version, run_name
from crashloop.run.kinds import KINDS
from crashloop.settings import resolve_settings
from crashloop.spec.control_plane import controllers_of
from crashloop.spec.plan import Plan
from crashloop.spec.version import KubernetesVersion


def check_options(plan: Plan, settings: RecorderSettings) -> None:
    """Raise UsageError for a version, programs or a cluster that cannot be used. Gets and starts nothing."""
    if plan.provider in LENDING:
        return
    if settings.cluster is not None:
        _check_kept(settings.cluster, plan)
        return
    check_supported("--kubernetes-version", KubernetesVersion.parse(plan.kubernetes_version))
    if settings.kubelet_binary is not None:
        own_kubelet(Path(settings.kubelet_binary))
    if settings.bin_dir is not None:
        own_folder(Path(settings.bin_dir), PROGRAMS)


def check_start(run_dir: Path, plan: Plan, settings: RecorderSettings) -> None:
    """Raise UsageError or PrerequisiteError for what would stop the recorder before its first node.

    An existing cluster has been surveyed before.
    """
    check_options(plan, settings)
    if plan.provider in LENDING:
        return
    resolved, progress = resolve_settings(), default_progress()
    for version in sorted({each.kubernetes_version for each in plan.profiles if each.kubernetes_version is not None}):
        require_kubelet(resolved, kubernetes_version=version, progress=progress)
    for version in controllers_of(each.control_plane for each in plan.scenarios):
        require_controllers(resolved, kubernetes_version=version, progress=progress)
    # What is seldom needed is got here, since its build would disturb what is recorded.
    if any(each.runtime is not None for each in plan.profiles):
        ensure_containerd_1(resolved, progress)
    if any(Capability.STATE_METRICS in KINDS[type(each)].capabilities(each) for each in plan.scenarios):
        ensure_state_metrics(resolved, progress)
    if settings.cluster is not None:
        return
    owning_provider(plan.provider).check(
        ClusterRequest(
            name=run_name(run_dir),
            kubernetes_version=plan.kubernetes_version,
            nodes=(),
            bin_dir=settings.bin_dir,
            node_image=settings.node_image,
            kind_binary=settings.kind_binary,
        )
    )


def _check_kept(name: str, plan: Plan) -> None:
    facts = ClusterStore().find(name).facts()
    if facts is not None:
        require_version(name, facts.kubernetes_version, plan.kubernetes_version)
