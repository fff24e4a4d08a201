"""Builds from the Go module proxy, through the ordinary `go` client with the user's own GOPROXY, GOSUMDB and caches.

k8s.io/kubernetes is published as a module, but its own go.mod replaces the staging modules (k8s.io/api, ...) by folders; an
importer has to replace them by the published modules of the same release (v1.37.1 -> v0.37.1).
"""

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from crashloop.cluster.binaries.components import Component, GoDependency, GoInstall, NotAvailable
from crashloop.cluster.processes import CommandFailed, run
from crashloop.cluster.provider import Progress
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.settings import Versions
from crashloop.spec.version import KubernetesVersion

MODULE = "kube"
ETCD_MODULES = ("go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/client/v3")

_STAGING_MODULE = re.compile(r"^\s*(?:replace\s+)?(k8s\.io/[a-z0-9.-]+) => \./staging/", re.MULTILINE)
_GO_DIRECTIVE = re.compile(r"^go (\S+)$", re.MULTILINE)

VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


def staging_modules(upstream: str) -> tuple[str, ...]:
    """The staging modules that k8s.io/kubernetes' own go.mod replaces by folders."""
    return tuple(dict.fromkeys(_STAGING_MODULE.findall(upstream)))


def etcd_version(upstream: str) -> str | None:
    """The etcd release (without `v`) whose modules k8s.io/kubernetes' own go.mod requires."""
    for module in ETCD_MODULES:
        match = re.search(rf"^\s*{re.escape(module)} v(\S+)", upstream, re.MULTILINE)
        if match:
            return match[1]
    return None


def generated_go_mod(upstream: str, version: KubernetesVersion, *, with_etcd: bool) -> str:
    """A go.mod for the programs of one Kubernetes version; `go mod tidy` completes it.

    `upstream` is the go.mod of k8s.io/kubernetes at that version.
    """
    go = _GO_DIRECTIVE.search(upstream)
    requires = [f"k8s.io/kubernetes v{version}"]
    etcd = etcd_version(upstream)
    if with_etcd and etcd:
        requires.append(f"{ETCD_MODULES[0]} v{etcd}")
    staging = f"v0.{version.minor}.{version.patch}"
    lines = [
        f"module {MODULE}",
        "",
        f"go {go[1]}" if go else "",
        "",
        "require (",
        *(f"\t{required}" for required in requires),
        ")",
        "",
        "replace (",
        *(f"\t{module} => {module} {staging}" for module in staging_modules(upstream)),
        ")",
    ]
    return "\n".join(lines) + "\n"


def version_flags(version: KubernetesVersion) -> str:
    """Linker flags that make the programs report their version, as upstream's hack/lib/version.sh does.

    The module proxy does not know the commit; forty zeros keep its form.
    """
    values = {
        "gitVersion": f"v{version}",
        "gitMajor": str(version.major),
        "gitMinor": str(version.minor),
        "gitTreeState": "clean",
        "gitCommit": "0" * 40,
    }
    settings = [f"-X {package}.{name}={value}" for package in VERSION_PACKAGES for name, value in values.items()]
    return " ".join(["-s -w", *settings])


TEMPLATES = Path(__file__).parent.parent / "kube_build"
COMMITTED = KubernetesVersion.parse(Versions().kubernetes)
"""Version of the shipped go.mod and go.sum in kube_build."""

SELF_UPDATING_GO = (1, 21)
"""From this release on `go` downloads the toolchain of go.mod (go.dev/doc/toolchain)."""
KUBERNETES_MODULE = "k8s.io/kubernetes"
BINARY = "kube"
BUILD_S = 3600.0
"""A cold build takes about 8 minutes on 2 cores."""
MODULES_S = 900.0
MISSING = (
    "no required module provides package",
    "missing go.sum entry for module providing package",
    "unknown revision",
    "404 Not Found",
    "410 Gone",
    "403 Forbidden",
)
UNREACHABLE = ("dial tcp", "i/o timeout", "TLS handshake", "connection reset", "module lookup disabled")
"""Texts of `go`, which has no exit codes for these cases."""
ENVIRONMENT = {"CGO_ENABLED": "0", "GOWORK": "off", "GO111MODULE": "on"}


class _GoModule(msgspec.Struct, rename="pascal"):
    """Output of `go mod download -json` and `go list -m -json`."""

    go_mod: str = ""
    versions: list[str] = []


def build_component(component: Component, folder: Path, progress: Progress) -> None:
    """Build all programs of a component into the folder.

    Raises NotAvailable if there is no `go` or no module proxy answers, UsageError for a version that does not exist,
    PrerequisiteError or CommandFailed if the build fails.
    """
    _check_go()
    if component.go_install is None:
        _build_module(component, folder, progress)
    else:
        _go_install(component, component.go_install, folder, progress)


def _check_go() -> None:
    if shutil.which("go") is None:
        raise NotAvailable("no `go` on PATH")
    answer = run(["go", "env", "GOVERSION"], describe="Go's version", timeout_s=60).strip()
    match = re.match(r"go(\d+)\.(\d+)", answer)
    if match and (int(match[1]), int(match[2])) < SELF_UPDATING_GO:
        raise NotAvailable(
            f"`go` on PATH is {answer}; 1.26 or newer is needed (from 1.21 on it fetches that by itself)"
        )


def _go_install(component: Component, recipe: GoInstall, folder: Path, progress: Progress) -> None:
    packages = tuple(recipe.packages.values())
    versioned = [f"{package}@v{component.version}" for package in packages]
    variable = recipe.version_variable.format(version=component.version)
    flags = ["-trimpath", "-tags", recipe.tags, "-ldflags", f"-s -w -X {variable}" if variable else "-s -w"]
    with (
        progress.step(f"building {component.label} (about a minute the first time)"),
        TemporaryDirectory() as module,
    ):
        commands = [["go", "install", *flags, *versioned]]
        if isinstance(recipe, GoDependency):
            commands = [
                ["go", "mod", "init", "crashloop.dev/build"],
                ["go", "mod", "edit", f"-require={recipe.module}@v{component.version}"],
                ["go", "build", "-mod=mod", *flags, "-o", f"{folder}/", *packages],
            ]
        for argv in commands:
            _run_go(argv, f"build of {component.label}", BUILD_S, cwd=Path(module), env={"GOBIN": str(folder)})


def prepare_module(
    module: Path, programs: tuple[str, ...], version: KubernetesVersion, label: str, progress: Progress
) -> None:
    """Make a Go module that holds these programs of a Kubernetes version, and download what it needs.

    Raises what `build_component` raises.
    """
    module.mkdir()
    for source in ("main", *programs):
        shutil.copy(TEMPLATES / f"{source.replace('-', '_')}.go", module)
    if version == COMMITTED:
        for name in ("go.mod", "go.sum"):
            shutil.copy(TEMPLATES / name, module)
    else:
        with progress.step(f"resolving the Go modules of {label}"):
            _resolve_module(version, module, with_etcd="etcd" in programs)
    with progress.step(f"downloading the Go modules of {label}"):
        _run_go(["go", "list", "-mod=readonly", "-deps", "."], f"Go modules of {label}", MODULES_S, cwd=module)


def compile_module(
    module: Path, binary: Path, version: KubernetesVersion, label: str, *, flags: tuple[str, ...] = ()
) -> None:
    """Compile such a module into one binary, with further flags of `go build`. Raises what `build_component` raises."""
    argv = ["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-tags", "providerless", *flags]
    argv += ["-ldflags", version_flags(version), "-o", str(binary), "."]
    _run_go(argv, f"build of {label}", BUILD_S, cwd=module)


def _build_module(component: Component, folder: Path, progress: Progress) -> None:
    module, label = folder / ".module", component.label
    is_etcd_alone = component.go_programs == ("etcd",)
    version = COMMITTED if is_etcd_alone else KubernetesVersion.parse(component.version)
    prepare_module(module, component.go_programs, version, label, progress)
    with progress.step(f"building {label} (about 8 minutes the first time on 2 cores)"):
        compile_module(module, folder / BINARY, version, label)
    shutil.rmtree(module)
    for program in component.go_programs:
        (folder / program).symlink_to(BINARY)


def require_module(version: KubernetesVersion, folder: Path) -> None:
    """Ask the Go module proxy for a Kubernetes version, without downloading it.

    Raises what `build_component` raises where it is not to be had. `folder` is any folder outside of a Go module.
    """
    _check_go()
    try:
        run(
            ["go", "list", "-m", f"{KUBERNETES_MODULE}@v{version}"],
            describe="module proxy",
            timeout_s=60,
            env=ENVIRONMENT,
            cwd=folder,
        )
    except CommandFailed as error:
        raise _no_such_version(version, folder) from error


def _resolve_module(version: KubernetesVersion, module: Path, *, with_etcd: bool) -> None:
    download = ["go", "mod", "download", "-json", f"{KUBERNETES_MODULE}@v{version}"]
    try:
        answer = run(download, describe="module proxy", timeout_s=MODULES_S, env=ENVIRONMENT, cwd=module)
    except CommandFailed as error:
        raise _no_such_version(version, module) from error
    upstream = Path(msgspec.json.decode(answer, type=_GoModule).go_mod).read_text()
    (module / "go.mod").write_text(generated_go_mod(upstream, version, with_etcd=with_etcd))
    # -e: some k8s.io/sample-* modules were not published for every release, and nothing here imports them
    _run_go(["go", "mod", "tidy", "-e"], f"Go modules of Kubernetes {version}", MODULES_S, cwd=module)


def write_committed_module() -> None:
    """Resolve go.mod and go.sum of kube_build for the default version anew. Raises what `build_component` raises."""
    with TemporaryDirectory() as folder:
        module = Path(folder)
        for source in TEMPLATES.glob("*.go"):
            shutil.copy(source, module)
        _resolve_module(COMMITTED, module, with_etcd=True)
        for name in ("go.mod", "go.sum"):
            shutil.copy(module / name, TEMPLATES)


def _no_such_version(version: KubernetesVersion, module: Path) -> Exception:
    listing = ["go", "list", "-m", "-versions", "-json", KUBERNETES_MODULE]
    try:
        answer = run(listing, describe="module proxy", timeout_s=60, env=ENVIRONMENT, cwd=module)
    except CommandFailed as unanswered:
        return NotAvailable(f"the Go module proxy does not answer ({_last_line(unanswered.output)})")
    served = msgspec.json.decode(answer, type=_GoModule).versions
    if f"v{version}" in served:
        return NotAvailable(f"the Go module proxy lists Kubernetes {version} but does not serve it")
    same_minor = [name for name in served if name.startswith(f"v{version.major}.{version.minor}.") and "-" not in name]
    known = f"Of {version.major}.{version.minor} it has: {', '.join(same_minor)}." if same_minor else ""
    return UsageError(f"Kubernetes version {version}: the Go module proxy has no such release.\n{known}".strip())


def _run_go(
    argv: list[str], describe: str, timeout_s: float, *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> None:
    try:
        run(argv, describe=describe, timeout_s=timeout_s, cwd=cwd, env={**ENVIRONMENT, **(env or {})})
    except CommandFailed as error:
        missing = _line_with(MISSING, error.output)
        if missing:
            raise PrerequisiteError(
                f"{describe}: the Go module proxy does not serve what it needs: {missing}\n"
                "Choose another patch release, or use --bin-dir or --kubelet-binary."
            ) from error
        unreachable = _line_with(UNREACHABLE, error.output)
        if unreachable:
            raise NotAvailable(f"the Go module proxy does not answer: {unreachable}") from error
        raise


def _line_with(texts: tuple[str, ...], output: str) -> str | None:
    return next((line.strip() for line in output.splitlines() if any(text in line for text in texts)), None)


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else "no output"
