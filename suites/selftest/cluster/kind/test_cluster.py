"""A kind cluster: the capabilities that it lacks (docs/providers.md), its node image, and the logs of its nodes.

Pytest-kubernetes' manager as it is used here: what it passes to `kind`, and what it leaves alone.
"""

import os
import re
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.kind.bring_up import KindProgram
from crashloop.cluster.kind.cluster import BEYOND, IN_REACH, KindCluster, collect_logs
from crashloop.cluster.kind.plan import IMAGES_OWN
from crashloop.cluster.kubelets import KubeletProgram, Kubelets
from crashloop.cluster.processes import CommandFailed
from crashloop.record.run_cluster import read_environment
from crashloop.report.conformance import conformance_document
from crashloop.report.markdown import to_markdown
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import OFFICIAL, begun, blueprint, fake_docker, store_in, write_script
from suites.selftest.kit.report_example import example_results

DOCUMENT = Path(__file__).parents[4] / "docs" / "providers.md"
ROW = re.compile(r"^\| (?P<names>`[^|]+`) \| (?P<says>\w+)", re.MULTILINE)


def test_the_documentation_names_what_kind_lacks() -> None:
    _, _, rest = DOCUMENT.read_text(encoding="utf-8").partition("| Capability | on `kind` |")
    table, _, _ = rest.partition("\n\n")
    says = {name: row["says"] for row in ROW.finditer(table) for name in re.findall(r"`([\w-]+)`", row["names"])}
    assert {name for name, answer in says.items() if answer == "no"} == {each.value for each in BEYOND}
    assert {name for name, answer in says.items() if answer == "if"} == {each.value for each in IN_REACH}


def test_the_cluster_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(tmp_path, monkeypatch, "'inspect '*) echo /crashloop-demo-worker 0 ;;")
    store = store_in(tmp_path)
    own = KubeletProgram(path=IMAGES_OWN, version="1.35.4")
    kubelets = Kubelets(own, api_server="1.35.4", settings=settings_for(tmp_path))
    cluster = KindCluster(blueprint("stock", image=OFFICIAL), state=begun(store), store=store, kubelets=kubelets)
    assert cluster.info.node_image == OFFICIAL.name


def test_the_environment_and_the_summary_say_it() -> None:
    environment = msgspec.to_builtins(read_environment([], node_image=OFFICIAL.name))
    results = msgspec.structs.replace(example_results(), provider="kind", environment=environment)
    assert "provider kind (nodes of kindest/node:v1.35.4) · scope" in to_markdown(conformance_document(results))
    assert "nodes of" not in to_markdown(conformance_document(example_results()))


def test_everybody_may_read_what_was_copied_out_of_a_node_with_its_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    pods = logs / "control-plane" / "pods"
    fake_docker(
        tmp_path,
        monkeypatch,
        f"""'cp crashloop-demo-control-plane:/var/log/pods {pods}')
mkdir -m 700 {pods} {pods}/etcd; install -m 640 /dev/null {pods}/etcd/0.log; install -m 700 /dev/null {pods}/etcd/run
ln -s /nowhere {pods}/away ;;
exec*) echo text ;;""",
    )
    collect_logs(blueprint("stock"), logs)
    assert {str(path.relative_to(pods)): f"{path.lstat().st_mode & 0o777:o}" for path in pods.rglob("*")} == {
        "away": "777",
        "etcd": "755",
        "etcd/0.log": "644",
        "etcd/run": "755",
    }
    assert f"{pods.stat().st_mode & 0o777:o}" == "755"
    assert (logs / "stock" / "kubelet.log").read_text() == "text\n"


RECORDS = """
for word; do printf '%s\\n' "$word"; done >>{log}
echo "network=$KIND_EXPERIMENTAL_DOCKER_NETWORK" >>{log}
"""


def kind_of(tmp_path: Path, script: str) -> KindProgram:
    config = tmp_path / "kind.yaml"
    config.write_text("kind: Cluster\nname: crashloop-demo\n")
    program = write_script(tmp_path / "bin with spaces" / "kind", script)
    environment = {"KIND_EXPERIMENTAL_DOCKER_NETWORK": "ours"}
    return KindProgram(program, environment, config=config, kubeconfig=tmp_path / "kubeconfig")


def test_kind_gets_our_configuration_and_our_name(tmp_path: Path) -> None:
    log = tmp_path / "log"
    before = dict(os.environ)
    kind = kind_of(tmp_path, RECORDS.format(log=log) + f"touch {tmp_path}/kubeconfig")
    kind.create_cluster()
    kind.load_archive(Path("images $HOME.tar"))
    assert log.read_text().splitlines() == [
        *("create", "cluster", "--retain", "--config", str(tmp_path / "kind.yaml")),
        *("--kubeconfig", str(tmp_path / "kubeconfig"), "network=ours"),
        *("load", "image-archive", "images $HOME.tar", "--name", "crashloop-demo", "network=ours"),
    ]
    assert dict(os.environ) == before


def test_what_kind_said_is_in_the_error(tmp_path: Path) -> None:
    kind = kind_of(tmp_path, 'echo "ERROR: failed to create cluster: no space" >&2; exit 1')
    with pytest.raises(CommandFailed) as caught:
        kind.create_cluster()
    message = str(caught.value)
    assert message.startswith("kind cluster crashloop-demo: `")
    assert message.endswith(
        "ended with exit code 1, expected exit code 0.\nIts last lines:\n  ERROR: failed to create cluster: no space"
    )
