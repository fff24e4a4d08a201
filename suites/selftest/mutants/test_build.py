"""What the build reads from a compiler, and the mirror of a module."""

from pathlib import Path

from mutants.build import compile_errors, mirror_folder

OUTPUT = """\
# k8s.io/client-go/util/flowcontrol
client-go/util/flowcontrol/mutant-5.go:71:3: declared and not used: random
client-go/util/flowcontrol/mutant-5.go:72:3: another
client-go/util/flowcontrol/mutant-12.go:130: missing return
"""


def test_the_first_error_of_each_mutant_is_its_reason() -> None:
    assert compile_errors(OUTPUT) == {5: "declared and not used: random", 12: "missing return"}


def test_an_error_of_something_else_accuses_no_mutant() -> None:
    assert compile_errors("pkg/kubelet/kubelet.go:12:1: syntax error") == {}


def test_a_mirror_has_everything_but_the_files_that_are_rewritten(tmp_path: Path) -> None:
    original, mirror = tmp_path / "original", tmp_path / "mirror"
    for name in ("go.mod", "pkg/kubelet/kubelet.go", "pkg/kubelet/util.go", "cmd/main.go"):
        (original / name).parent.mkdir(parents=True, exist_ok=True)
        (original / name).write_text(name)
    mirror_folder(original, mirror, {original / "pkg/kubelet/kubelet.go"})
    assert sorted(str(path.relative_to(mirror)) for path in mirror.rglob("*")) == [
        "cmd",
        "go.mod",
        "pkg",
        "pkg/kubelet",
        "pkg/kubelet/util.go",
    ]
    assert (mirror / "cmd" / "main.go").read_text() == "cmd/main.go"
    assert (mirror / "cmd").is_symlink()
