"""The image that the nodes of a run were made from stands wherever a run is described."""

from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.kind.cluster import KindCluster
from crashloop.cluster.kind.plan import IMAGES_OWN
from crashloop.cluster.kubelets import KubeletProgram, Kubelets
from crashloop.record.environment import read_environment
from crashloop.report.conformance import conformance_document
from crashloop.report.markdown import to_markdown
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import OFFICIAL, begun, blueprint, fake_docker, store_in
from suites.selftest.kit.report_example import example_results


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
