"""One kubelet with all mutants, built from the published modules of its release, and cached.

Go refuses overlays of its module cache. So the modules are mirrored by symbolic links, with rewritten files in their places,
and the build's go.mod replaces the modules by their mirrors. A mutant that does not compile is left out with the compiler's
reason, and the build is repeated. Nothing of upstream's source is kept.
"""

import hashlib
import re
import shutil
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import msgspec

from crashloop.cluster.binaries.components import BinarySource, architecture
from crashloop.cluster.binaries.go_build import ENVIRONMENT, compile_module, prepare_module
from crashloop.cluster.binaries.provision import Cache, CachedProgram, Entry
from crashloop.cluster.processes import CommandFailed, run
from crashloop.cluster.provider import Progress
from crashloop.settings import Settings
from crashloop.spec.version import KubernetesVersion
from mutants.data import FOLDER, Sources
from mutants.mutant import LeftOut, Listing, Mutant, MutantKubelet

REWRITER = FOLDER / "rewriter"
PROGRAM = "kubelet"
LISTING = "listing.json"
REWRITE_S = 300.0

_ERROR = re.compile(r"mutant-(\d+)\.go:\d+(?::\d+)?: (.*)")


def ensure_kubelet(
    settings: Settings, version: KubernetesVersion, sources: Sources, progress: Progress
) -> MutantKubelet:
    """The kubelet of that version with all mutants.

    Raises NotAvailable if there is no `go` or no module proxy answers, CommandFailed if the build fails for another reason
    than a mutant, PrerequisiteError if the cache cannot be written.
    """
    recipe = hashlib.sha256(msgspec.json.encode(sources))
    for path in sorted(set(REWRITER.glob("*.go")) - set(REWRITER.glob("*_test.go"))):
        recipe.update(path.read_bytes())
    name = f"mutants-{version}-linux-{architecture()}-{recipe.hexdigest()[:8]}"
    cached = Cache(settings.paths.cache_dir).ensure(
        name, lambda folder: _make(folder, version, sources, progress), progress
    )
    listing = msgspec.json.decode((cached.folder / LISTING).read_bytes(), type=Listing)
    return MutantKubelet(path=cached.path(PROGRAM), name=name, listing=listing)


def _make(folder: Path, version: KubernetesVersion, sources: Sources, progress: Progress) -> Entry:
    module, label = folder / ".module", f"the mutants of Kubernetes {version}"
    prepare_module(module, (PROGRAM,), version, label, progress)
    request = _request(module, sources)
    left_out: dict[str, str] = {}
    while True:
        rewritten = _rewrite(module, request | {"without": list(left_out)})
        if refused := {each.id: each.refused for each in rewritten if each.refused}:
            left_out |= refused
            continue
        mutants = tuple({each.id: each for each in rewritten}.values())
        try:
            with progress.step(f"building a kubelet with {len(mutants)} mutants (about 10 minutes the first time)"):
                compile_module(module, folder / PROGRAM, version, label, flags=_all_errors(sources))
        except CommandFailed as failure:
            ids = {each.number: each.id for each in mutants}
            wrong = {ids[number]: reason for number, reason in compile_errors(failure.output).items()}
            if not wrong:
                raise
            left_out |= wrong
        else:
            break
    shutil.rmtree(module)
    listing = Listing(
        mutants=mutants, left_out=tuple(LeftOut(id=each, reason=reason) for each, reason in left_out.items())
    )
    (folder / LISTING).write_bytes(msgspec.json.format(msgspec.json.encode(listing)))
    program = CachedProgram(size=(folder / PROGRAM).stat().st_size, version=str(version))
    return Entry(component="mutants", source=BinarySource.BUILD, programs={PROGRAM: program})


def compile_errors(output: str) -> dict[int, str]:
    """The first error of the compiler about each mutant, by its number. Pure."""
    found: dict[int, str] = {}
    for number, error in _ERROR.findall(output):
        found.setdefault(int(number), error)
    return found


def _all_errors(sources: Sources) -> tuple[str, ...]:
    """Flags to see all errors of a package at once, instead of the first ten."""
    packages = {f"{file.module}/{PurePosixPath(file.path).parent}" for file in sources.files}
    return tuple(f"-gcflags={package}=-e" for package in sorted(packages))


def _request(module: Path, sources: Sources) -> dict[str, object]:
    """What the rewriter is asked, once the mirrors are there."""
    files = []
    for name in sorted({file.module for file in sources.files}):
        original = Path(_go(module, "list", "-m", "-f", "{{.Dir}}", name).strip())
        mirror = module / PurePosixPath(name).name
        ours = [file for file in sources.files if file.module == name]
        mirror_folder(original, mirror, {original / file.path for file in ours})
        _go(module, "mod", "edit", "-replace", f"{name}=./{mirror.name}")
        for file in ours:
            functions = msgspec.to_builtins(file.functions)
            for function in functions:
                del function["battery"]
            files.append({"path": str(original / file.path), "target": str(mirror / file.path), "functions": functions})
    return {"files": files, "elsewhere": sources.elsewhere}


def mirror_folder(original: Path, mirror: Path, without: Collection[Path]) -> None:
    """Mirror a folder by symbolic links, without some files below it."""
    mirror.mkdir()
    for each in original.iterdir():
        if each.is_dir() and any(path.is_relative_to(each) for path in without):
            mirror_folder(each, mirror / each.name, without)
        elif each not in without:
            (mirror / each.name).symlink_to(each)


def _rewrite(module: Path, request: dict[str, object]) -> tuple[Mutant, ...]:
    argv = ["go", "run", ".", str(module)]
    text = msgspec.json.encode(request).decode()
    run(argv, describe="rewriter of functions", timeout_s=REWRITE_S, cwd=REWRITER, env=ENVIRONMENT, input=text)
    return msgspec.json.decode((module / "mutants.json").read_bytes(), type=tuple[Mutant, ...])


def _go(module: Path, *arguments: str) -> str:
    return run(["go", *arguments], describe="Go modules", timeout_s=60, cwd=module, env=ENVIRONMENT)
