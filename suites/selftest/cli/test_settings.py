"""Settings are resolved once: option before environment before default, and nonsense is refused by name.

What takes one value and is given two is refused: options, nodes of a profile, keys of a manifest.
"""

from pathlib import Path

import platformdirs
import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.errors import UsageError
from crashloop.run.existing import existing_options
from crashloop.settings import MAX_STATE_DIR_BYTES, resolve_settings


def test_without_anything_the_cache_lies_in_the_users_cache_folder() -> None:
    settings = resolve_settings(environ={})
    assert settings.paths.cache_dir == platformdirs.user_cache_path("crashloop")
    assert settings.paths.runs_dir == Path("runs")
    assert settings.downloads.release_url == "https://dl.k8s.io"


def test_the_environment_beats_the_default() -> None:
    settings = resolve_settings(
        environ={"CRASHLOOP_CACHE_DIR": "/big/cache", "CRASHLOOP_FIRST_ANSWER_S": "2.5", "CRASHLOOP_READY_S": "240"}
    )
    assert settings.paths.cache_dir == Path("/big/cache")
    assert settings.waits.ready_s == 240
    assert settings.downloads.first_answer_s == 2.5


def test_an_option_beats_the_environment_and_one_that_was_not_given_does_not() -> None:
    environ = {"CRASHLOOP_KUBERNETES_VERSION": "1.36.3", "CRASHLOOP_RUNS_DIR": "/from/environment"}
    settings = resolve_settings({"kubernetes_version": "1.35.4", "runs_dir": None}, environ)
    assert settings.versions.kubernetes == "1.35.4"
    assert settings.paths.runs_dir == Path("/from/environment")


def test_an_address_is_taken_without_its_last_slash() -> None:
    settings = resolve_settings({"release_url": "http://127.0.0.1:8080/mirror/"}, {})
    assert settings.downloads.release_url == "http://127.0.0.1:8080/mirror"


@pytest.mark.parametrize(
    ("options", "environ", "message"),
    [
        pytest.param(
            {},
            {"CRASHLOOP_CACHE_DIR": " "},
            "CRASHLOOP_CACHE_DIR: the value is empty; a folder was expected.",
            id="empty-folder",
        ),
        pytest.param({"release_url": ""}, {}, "--release-url: the value is empty.", id="empty-address"),
        pytest.param(
            {"release_url": "dl.k8s.io"},
            {},
            "release_url 'dl.k8s.io': expected an address that starts with https:// or http://.",
            id="no-scheme",
        ),
        pytest.param(
            {},
            {"CRASHLOOP_STALL_S": "0"},
            "CRASHLOOP_STALL_S: '0' is not a number of seconds above zero.",
            id="no-time",
        ),
        pytest.param(
            {},
            {"CRASHLOOP_STALL_S": "long"},
            "CRASHLOOP_STALL_S: 'long' is not a number of seconds above zero.",
            id="no-number",
        ),
        pytest.param(
            {"kubernetes_version": "latest"},
            {},
            "Kubernetes version 'latest': expected something like 1.37.1 or v1.37.1.",
            id="no-version",
        ),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(options: dict[str, str], environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_settings(options, environ)
    assert str(caught.value) == message


def test_a_state_folder_whose_sockets_would_not_fit_is_refused() -> None:
    fits = "/" + "x" * (MAX_STATE_DIR_BYTES - 1)
    assert resolve_settings({"state_dir": fits}, {}).paths.state_dir == Path(fits)
    with pytest.raises(UsageError, match="the path has 61 bytes, at most 60 fit"):
        resolve_settings({"state_dir": fits + "x"}, {})


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
