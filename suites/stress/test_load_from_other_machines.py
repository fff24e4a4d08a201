"""Workers that share nothing with the run but a network: each on a machine of its own, with its own interface and address.

The machines are network namespaces on the bridge of a local cluster, so nothing leaves this host.
"""

import secrets
import shutil
from pathlib import Path

import pytest

from crashloop.cluster.images import PROGRAM_IMAGE
from crashloop.kube.client import KubeApi
from crashloop.stress.assignment import WORKERS, Operation, WorkerLine, read_jsonl
from crashloop.verdict import ExitCode
from suites.provider.conftest import Kit, node
from suites.provider.traces import left_since, traces
from suites.stress.machines import Network
from suites.stress.started import CHECKS, left_on_host, require_passed, started, verdict

NODE = "worker"
MACHINES = ("load-1", "load-2")
FOUND_WITHIN_S = 120.0


def test_two_workers_on_machines_of_their_own_make_the_load_and_leave_nothing(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kit = Kit(request.config)
    if kit.provider.name != "local":
        pytest.skip("only the network of the provider local takes further machines")
    name = f"remote-{secrets.token_hex(3)}"
    before = traces(of=name)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    with kit.up(name, node(NODE, "max-1s")) as cluster:
        info = cluster.info
        kubeconfig = Path(shutil.copy(info.kubeconfig, theirs / "kubeconfig"))
        api = KubeApi(info.kubeconfig)
        namespace = api.create_namespace(prefix="team-", labels={})
        api.wait_for_default_service_account(namespace)
        network = Network(name)
        where = ("--provider", "existing", "--kubeconfig", info.kubeconfig, "--namespace", namespace)
        how = ("--image", PROGRAM_IMAGE, "--node-profile", f"{NODE}=max-1s")
        load = ("--workers", str(len(MACHINES)), "--listen", network.this_host)
        with network.machines(*MACHINES) as machines:
            for machine in machines:
                machine.works_for(network.this_host, kubeconfig=kubeconfig, within_s=FOUND_WITHIN_S)
            with started("short", tmp_path, *where, *how, *load) as running:
                results = running.ended()
            said = [machine.ended() for machine in machines]
        listed = api.call("list pods", "GET", f"/api/v1/namespaces/{namespace}/pods")
        api.close()
    assert [code for code, _ in said] == [ExitCode.OK] * 2, said
    came = {each.worker: each.host for each in read_jsonl(running.run.load_dir / WORKERS, WorkerLine)}
    assert sorted(came.items()) in ([(1, MACHINES[0]), (2, MACHINES[1])], [(1, MACHINES[1]), (2, MACHINES[0])])
    for number in came:
        operations = read_jsonl(running.run.load_dir / f"operations-{number}.jsonl", Operation)
        assert {"create", "delete", "log"} <= {each.what for each in operations}, number
    require_passed(results, *CHECKS)
    assert verdict(results, "restarts-conserved").value == 0
    assert results.totals["restarts"] >= 6
    assert listed["items"] == []
    assert left_on_host(running) == []
    assert left_since(before, of=name) == set()
