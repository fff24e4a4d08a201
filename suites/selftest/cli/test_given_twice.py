"""What takes one value and is given two is refused: options, nodes of a profile, keys of a manifest."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.errors import UsageError
from crashloop.run.existing import existing_options


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("run", "--scope", "quick", "--scope=full", "--dry-run"), "--scope"),
        (("run", "-k", "a", "-k", "b"), "-k"),
        (("predict", "--max", "10s", "--max", "10s"), "--max"),
        (
            ("profile", "check", "stock", "--kubernetes-version", "1.36.0", "--kubernetes-version", "1.37.1"),
            "--kubernetes-version",
        ),
        (("stress", "--provider", "local", "--provider", "kind", "--dry-run"), "--provider"),
        (("why", "p", "--namespace", "a", "--namespace", "b"), "--namespace"),
    ],
    ids=" ".join,
)
def test_an_option_of_one_value_that_is_given_twice_is_refused(arguments: tuple[str, ...], option: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, UsageError), done.output
    assert str(done.exception) == f"{option}: given 2 times; it takes one value.\nGive it once."


def test_an_option_of_several_values_and_a_flag_may_be_given_twice() -> None:
    done = CliRunner().invoke(app, ("list", "--help", "--help"))
    assert done.exit_code == 0
    given = ("run", "--topic", "NOSUCH", "--topic", "CAP", "--keep", "--keep")
    assert "--topic 'NOSUCH'" in str(CliRunner().invoke(app, given).exception)


def test_a_node_has_one_profile() -> None:
    with pytest.raises(UsageError, match="'a' has a profile already"):
        existing_options(kubeconfig="k", node_profile=["a=stock", "a=max-10s"])


@pytest.mark.parametrize("command", [("why",), ("stress", "--dry-run")], ids=" ".join)
def test_a_manifest_with_a_key_twice_is_refused_as_kubectl_does(tmp_path: Path, command: tuple[str, ...]) -> None:
    manifest = tmp_path / "d.yaml"
    manifest.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 1\n  replicas: 2\n"
        "  template:\n    spec: {containers: [{name: c, image: i}]}\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, (*command, str(manifest)))
    assert isinstance(done.exception, UsageError), done.output
    assert 'line 6: key "replicas" already set in map' in str(done.exception)
