"""The options of a conformance run, resolved and checked before anything of it starts, is shown or kept.

Source of the rules: k8s.io/component-base/featuregate/feature_gate.go@v0.37.1 (Set, dependencies).

`crashloop run` asks here in its own process; fixtures/ asks again, for runs that `pytest` started. What needs the collected
tests, programs that answer or a cluster is checked later: crashloop/run/requested.py.
"""

from collections.abc import Iterable, Mapping, Set
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.binaries.ensure import (
    PROGRAMS,
    ensure_containerd_1,
    ensure_state_metrics,
    require_controllers,
    require_kubelet,
)
from crashloop.cluster.binaries.versions import own_folder, own_kubelet
from crashloop.cluster.kind.kind_file import KindFile, read_kind_file
from crashloop.cluster.kind.node_image import version_in_tag
from crashloop.cluster.ownership import ClusterStore
from crashloop.cluster.provider import Capability, ClusterRequest
from crashloop.cluster.providers import LENDING, owning_provider
from crashloop.errors import UsageError
from crashloop.model.gates import GATES, GateState, gate_state, known, unmet
from crashloop.progress import default_progress
from crashloop.record.run_cluster import RecorderSettings, require_version, run_name
from crashloop.requirements import load_requirements
from crashloop.run.existing import existing_options
from crashloop.run.kinds import KINDS
from crashloop.run.options import CHOOSING, OF_LENDERS, OPTIONS, OWN_CONTROL_PLANE, as_arguments, check_provider
from crashloop.run.selection import Selection
from crashloop.rundir import folder_named, new_run_path
from crashloop.settings import resolve_settings
from crashloop.spec.control_plane import controllers_of
from crashloop.spec.plan import Plan
from crashloop.spec.version import KubernetesVersion, check_supported

_VALUES = {"true": True, "false": False}


def parsed_gates(
    given: Iterable[str], version: KubernetesVersion, *, option: str = "--feature-gate", own_programs: bool = False
) -> dict[str, bool]:
    """The gates by name, from the values of the option. The user's own programs may have gates of their own.

    Raises UsageError for a value of another form, a gate given twice, and gates with which a program of that version
    refuses to start.
    """
    names = None if own_programs else known(version)
    gates: dict[str, bool] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not name or not separator or value.lower() not in _VALUES:
            raise UsageError(
                f"{option} {text!r}: expected NAME=true or NAME=false, such as ContainerRestartRules=false."
            )
        if name in gates:
            raise UsageError(f"{option} {text}: {name} is given twice.\nGive it once.")
        gates[name] = _VALUES[value.lower()]
        state = None if own_programs and name not in GATES else gate_state(name, version)
        if state is GateState.ABSENT:
            near = [] if names is None or name in GATES else get_close_matches(name, names, 1)
            remedy = "Use another version." if name in GATES else "Name another, or bring your own binaries."
            remedy = f"Did you mean {near[0]}?" if near else remedy
            raise UsageError(f"{option} {text}: Kubernetes {version} does not have that gate.\n{remedy}")
        if state is (GateState.LOCKED_OFF if gates[name] else GateState.LOCKED):
            locked = str(not gates[name]).lower()
            raise UsageError(f"{option} {text}: Kubernetes {version} has that gate locked to {locked}.\nLeave it out.")
    for name, missing in unmet(gates, version).items():
        if name in GATES or not own_programs:
            raise UsageError(
                f"{option}: {name} is on and depends on {', '.join(missing)}, which is off; nothing starts with it.\n"
                f"Add {option} {name}=false, or switch on what it depends on."
            )
    return gates


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
            kind_config=settings.kind_config,
        )
    )


def _check_kept(name: str, plan: Plan) -> None:
    facts = ClusterStore().find(name).facts()
    if facts is not None:
        require_version(name, facts.kubernetes_version, plan.kubernetes_version)


def check_request(given: Mapping[str, Any]) -> None:
    """Raise UsageError for options with which no run can start. `given`: those that were given, by name."""
    options = {each.name: given.get(each.name, [] if each.repeats else each.default) for each in OPTIONS}
    settings = run_settings(options)
    choose_run_path(options["--run-dir"])
    if settings["provider"] in LENDING or settings["cluster"] is not None:
        return
    check_supported("--kubernetes-version", KubernetesVersion.parse(settings["kubernetes_version"]))
    if settings["bin_dir"] is not None:
        own_folder(Path(settings["bin_dir"]), PROGRAMS)


def run_settings(options: Mapping[str, Any], tests: Iterable[str] = ()) -> dict[str, Any]:
    """The options, of which each has a value, as resolved and written to run.json. Raises UsageError.

    `tests`: arguments of pytest that choose tests.
    """
    settings = resolve_settings()
    selection_of(options)
    check_provider(options["--provider"], options)
    if options["--cluster"] is not None and options["--kind-config"] is not None:
        raise UsageError(
            "--kind-config: it makes a cluster, and --cluster names one that is up.\nLeave one of them out."
        )
    file = KindFile() if options["--kind-config"] is None else read_kind_file(options["--kind-config"])
    node_image = options["--node-image"] or file.node_image
    version = options["--kubernetes-version"] or version_in_tag(node_image) or settings.versions.kubernetes
    own_programs = file.node_image is not None or any(options[each] is not None for each in OWN_CONTROL_PLANE)
    resolved = {
        "provider": options["--provider"],
        "scope": options["--scope"],
        "at_least": _at_least(options["--at-least"]),
        "kubernetes_version": version,
        "feature_gates": parsed_gates(
            file.gates_beside(options["--feature-gate"]), KubernetesVersion.parse(version), own_programs=own_programs
        ),
        "kubelet_gates": parsed_gates(
            file.gates_beside(options["--kubelet-gate"]),
            KubernetesVersion.parse(version),
            option="--kubelet-gate",
            own_programs=own_programs or options["--kubelet-binary"] is not None,
        ),
        "kubelet_binary": _absolute(options["--kubelet-binary"]),
        "bin_dir": _absolute(options["--bin-dir"]),
        "node_image": node_image,
        "kind_binary": _absolute(options["--kind-binary"]),
        "kind_config": _absolute(options["--kind-config"]),
        "cluster": options["--cluster"],
        "existing": lender_options(options),
        "keep": bool(options["--keep"]),
    }
    return resolved | {
        "selection": [*_given(options, resolved, CHOOSING), *tests],
        "arguments": _repeated(options, resolved),
    }


def _repeated(options: Mapping[str, Any], resolved: Mapping[str, Any]) -> list[str]:
    """The arguments that run the same again on any day and from any folder, but for those that select requirements."""
    is_lent = options["--provider"] in LENDING
    always = {"--provider", "--scope", "--kubeconfig" if is_lent else "--kubernetes-version"}
    return _given(options, resolved, {each.name for each in OPTIONS} - CHOOSING - {"--run-dir", "--dry-run"}, always)


def _given(
    options: Mapping[str, Any], resolved: Mapping[str, Any], names: Set[str], always: Set[str] = frozenset()
) -> list[str]:
    """The options of these names that were given, and those that are shown always, as resolved."""
    known = {**(resolved["existing"] or {}), **resolved}
    shown = [
        option
        for option in OPTIONS
        if option.name in always or (option.name in names and options[option.name] != option.default)
    ]
    return as_arguments(shown, {each.field: known.get(each.field, options[each.name]) for each in shown})


def selection_of(options: Mapping[str, Any]) -> Selection:
    """The requirements that the options name. Raises UsageError for an unknown one."""
    requirements, topics, skipped = (options[name] for name in ("--requirement", "--topic", "--skip"))
    return Selection.of(load_requirements(), requirements=requirements, topics=topics, skipped=skipped)


def lender_options(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Those of an existing cluster, as written to run.json; None for a provider that makes clusters. Raises UsageError."""
    if options["--provider"] not in LENDING:
        return None
    given = {option.field: options[option.name] for option in OF_LENDERS}
    plain: dict[str, Any] = msgspec.to_builtins(existing_options(**given))
    return plain


def choose_run_path(option: str | None) -> Path:
    """The folder for a new run: the option, or one named after the time. Raises UsageError if it is none, or holds a run."""
    if option is None:
        return new_run_path(resolve_settings().paths.runs_dir, "conformance", datetime.now(UTC)).absolute()
    path = folder_named(option).absolute()
    if (path / "run.json").exists():
        raise UsageError(
            f"--run-dir {option}: it already holds a run, which is never overwritten.\nName another folder."
        )
    return path


def _at_least(number: int) -> int:
    most = len(load_requirements())
    if not 0 <= number <= most:
        raise UsageError(f"--at-least {number}: expected 0 to {most}, the number of requirements in the catalogue.")
    return number


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).absolute())
