"""The options of a conformance run, resolved and checked before pytest collects any test, or even starts.

`crashloop run` asks here in its own process; fixtures/ asks again, for runs that `pytest` started. What needs the collected
tests, programs that answer or a cluster is checked later: crashloop/run/preflight.py.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.binaries.ensure import PROGRAMS
from crashloop.cluster.binaries.skew import check_supported
from crashloop.cluster.binaries.versions import own_folder
from crashloop.cluster.kind.image_choice import version_in_tag
from crashloop.cluster.providers import LENDING
from crashloop.errors import UsageError
from crashloop.requirements import load_requirements
from crashloop.run.existing import existing_options
from crashloop.run.feature_gates import parsed_gates
from crashloop.run.option_checks import check_provider
from crashloop.run.options import OF_LENDERS, OPTIONS, OWN_CONTROL_PLANE
from crashloop.run.selection import Selection
from crashloop.rundir import folder_named, new_run_path
from crashloop.settings import resolve_settings
from crashloop.spec.version import KubernetesVersion


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


def run_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, of which each has a value, as resolved and written to run.json. Raises UsageError."""
    settings = resolve_settings()
    selection_of(options)
    check_provider(options["--provider"], options)
    version = options["--kubernetes-version"] or version_in_tag(options["--node-image"]) or settings.versions.kubernetes
    own_programs = any(options[each] is not None for each in OWN_CONTROL_PLANE)
    return {
        "provider": options["--provider"],
        "scope": options["--scope"],
        "at_least": _at_least(options["--at-least"]),
        "kubernetes_version": version,
        "feature_gates": parsed_gates(
            options["--feature-gate"], KubernetesVersion.parse(version), own_programs=own_programs
        ),
        "kubelet_binary": _absolute(options["--kubelet-binary"]),
        "bin_dir": _absolute(options["--bin-dir"]),
        "node_image": options["--node-image"],
        "kind_binary": _absolute(options["--kind-binary"]),
        "cluster": options["--cluster"],
        "existing": lender_options(options),
        "keep": bool(options["--keep"]),
    }


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
