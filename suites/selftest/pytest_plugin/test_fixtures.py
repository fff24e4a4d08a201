"""The fixtures in somebody else's tests, which pytest runs in a folder of their own."""

from pathlib import Path
from textwrap import dedent

import pytest

from crashloop.errors import PrerequisiteError, UsageError
from crashloop.kube.kubeconfig import NAME_ANOTHER
from crashloop.pytest_plugin.access import plain_errors
from crashloop.verdict import ExitCode
from suites.selftest.kit.cluster_peer import ClusterPeer, looping, node, serving
from suites.selftest.kit.existing_kit import crashloop_run
from suites.selftest.kit.existing_peer import NAMESPACE, PODS, ExistingPeer
from suites.selftest.kit.existing_peer import serving as serving_existing
from suites.selftest.kit.their_pytest import session


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """The folder of their tests."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    return folder


WATCHING = """\
    def test_watching(restarts):
        restarts(namespace="shop")
"""


def test_the_plugin_loads_nothing_until_a_fixture_is_used(theirs: Path) -> None:
    tests = """\
        import sys

        def test_nothing_is_loaded():
            assert [name for name in sys.modules if name.startswith("crashloop.")] == ["crashloop.pytest_plugin"]
    """
    status, output = session(theirs, tests)
    assert status == 0, output


def test_the_cluster_is_that_of_pytest_kubernetes_whose_kubeconfig_is_kept(theirs: Path, tmp_path: Path) -> None:
    peer = ClusterPeer([[node("worker")]], [])
    looping(peer, 11, 12, 11)
    tests = """\
        def test_the_shop(restarts, crashloop_curve):
            restarts(namespace="shop").assert_follows(crashloop_curve("1.37.1", maximum="10s"), within_s=30)
    """
    with serving(peer, tmp_path) as kubeconfig:
        status, output = session(theirs, tests, "--k8s-kubeconfig", kubeconfig)
        assert status == 0, output
        assert Path(kubeconfig).exists()


def test_a_cluster_can_be_given_by_its_kubeconfig(theirs: Path, tmp_path: Path) -> None:
    tests = """\
        def test_the_shop(restarts, crashloop_curve, pytestconfig):
            watched = restarts(KUBECONFIG, namespace="shop")
            watched.assert_follows(crashloop_curve("1.37.1", maximum="10s"), within_s=0)
    """
    with serving(ClusterPeer([[node("worker")]], []), tmp_path) as kubeconfig:
        tests = tests.replace("KUBECONFIG", repr(kubeconfig))
        status, output = session(theirs, tests, "-p", "no:pytest-kubernetes")
    assert status == 1
    assert "AssertionError: no restart with a due delay was seen, so nothing was judged." in output
    assert "crashloop/pytest_plugin" not in output, "the traceback ends in the test"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-p", "no:pytest-kubernetes"), "kubeconfig /nowhere/config: there is no such file"),
        (("--k8s-kubeconfig", "FILE", "--k8s-provider", "kind"), "--k8s-provider kind makes one."),
        (("--k8s-kubeconfig", "/nowhere"), "kubeconfig /nowhere: there is no such file"),
    ],
    ids=["no-cluster", "contradiction", "no-file"],
)
def test_without_a_cluster_the_message_says_why(theirs: Path, arguments: tuple[str, ...], said: str) -> None:
    status, output = session(theirs, WATCHING, *arguments, kubeconfig="/nowhere/config")
    assert status == 1
    assert said in output


def test_an_error_that_explains_itself_ends_the_traceback_in_the_test(theirs: Path) -> None:
    tests = """\
        def test_theirs(crashloop_curve):
            crashloop_curve(profile="max-3s")

        def test_others(restarts):
            restarts("nowhere")

        def test_folders(restarts):
            restarts("/")
    """
    status, output = session(theirs, tests)
    assert status == 1
    assert 'kubelet profile "max-3s": unknown' in output
    assert "kubeconfig nowhere: there is no such file" in output
    assert "kubeconfig /: cannot be read (Is a directory)" in output
    said, _, _ = output.partition("short test summary info")  # where CI is set, pytest repeats whole messages there
    assert said.count("Set KUBECONFIG, name one with --k8s-kubeconfig of pytest-kubernetes, or give the fixture") == 2
    assert "crashloop/" not in output


def test_a_sentence_of_ours_stays_as_it_is() -> None:
    def refused() -> None:
        raise UsageError(NAME_ANOTHER)

    with pytest.raises(UsageError) as caught:
        plain_errors(refused)()
    assert str(caught.value) == NAME_ANOTHER


def test_an_extra_that_is_not_installed_is_named() -> None:
    def wanting() -> None:
        raise ModuleNotFoundError(name="pytest_kubernetes")

    with pytest.raises(PrerequisiteError) as caught:
        plain_errors(wanting)()
    assert str(caught.value) == (
        "this fixture needs 'pytest_kubernetes', which is not installed.\n"
        "Install the wheel with the extra [run]: pip install 'crashloop[run] @ ADDRESS-OF-THE-WHEEL'."
    )


def test_a_cluster_with_profiles_is_refused_where_the_options_name_another(theirs: Path) -> None:
    tests = 'def test_theirs(crashloop_cluster):\n    crashloop_cluster("stock")\n'
    status, output = session(theirs, tests, "--k8s-kubeconfig", "FILE")
    assert status == 1
    assert "--k8s-kubeconfig FILE: crashloop_cluster makes a cluster of its own" in output


def test_a_crashing_pod_is_deleted_before_the_cluster_is(theirs: Path, tmp_path: Path) -> None:
    (theirs / "conftest.py").write_text(
        dedent("""\
            from pathlib import Path
            from types import SimpleNamespace

            import pytest

            @pytest.fixture
            def k8s(request):
                kubeconfig = request.config.getoption("k8s_kubeconfig")
                yield SimpleNamespace(kubeconfig=Path(kubeconfig), cluster_name="theirs", context=None)
                Path("deleted").touch()
        """)
    )
    tests = f"""\
        def test_a_crash_loop(crash_pod, k8s):
            assert crash_pod("loop", namespace="{NAMESPACE}", exit_code=3) == "loop"
    """
    peer, seen = ExistingPeer(), []

    def note(request: str) -> None:
        if PODS in request:
            seen.append((request.split()[0], (theirs / "deleted").exists()))

    peer.before = note
    with serving_existing(peer, tmp_path) as kubeconfig:
        status, output = session(theirs, tests, "--k8s-kubeconfig", kubeconfig)
    assert status == 0, output
    assert seen == [("POST", False), ("DELETE", False)]
    assert (theirs / "deleted").exists()
    assert peer.names(PODS) == []


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--k8s-kubeconfig", "FILE", "--k8s-kubeconfig FILE: an option of pytest-kubernetes"),
        ("--crashloop-provider", "kind", "--crashloop-provider kind: for fixtures of the plugin"),
        ("--crashloop-image", "IMAGE", "Use --image."),
    ],
)
def test_runs_of_crashloop_take_no_option_of_either_plugin(tmp_path: Path, option: str, value: str, said: str) -> None:
    status, output = crashloop_run(tmp_path, option, value)
    assert status == ExitCode.USAGE
    assert said in output
    assert not (tmp_path / "runs").exists()
