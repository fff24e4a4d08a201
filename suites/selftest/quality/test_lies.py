"""What a wrong kubelet hears: exactly the lie, and everything else as it was."""

from pathlib import Path

import pytest
from grpc_tools import protoc
from hypothesis import given
from hypothesis import strategies as st

from crashloop.spec.pod import ProbeKind
from quality.cri import api_pb2
from quality.lies import (
    CONTAINER_STATUS,
    LIST_CONTAINERS,
    POD_SANDBOX_STATUS,
    RESTART_COUNT,
    START_CONTAINER,
    TRUTH,
    Lie,
    NotThere,
    altered,
    altered_exec,
    container_of,
    exited_in,
    is_restart,
    successor,
    with_environment_of,
)

ROOT = Path(__file__).parents[3]
PROTO = "quality/cri/api.proto"

EXITED, RUNNING = api_pb2.CONTAINER_EXITED, api_pb2.CONTAINER_RUNNING
UNKNOWN = b"\x4a\x05image\x7a\x09app/1.log"
"""Fields of a ContainerStatus that the reduced messages do not know: image_ref (9) and log_path (15)."""


def status(*, state: api_pb2.ContainerState = EXITED, exit_code: int = 1, restarts: int = 1) -> api_pb2.ContainerStatus:
    return api_pb2.ContainerStatus(
        id="c1",
        state=state,
        started_at=10 * 10**9,
        finished_at=11 * 10**9 if state == EXITED else 0,
        exit_code=exit_code,
        reason="Error" if exit_code else "Completed",
        annotations={RESTART_COUNT: str(restarts), "other": "kept"},
    )


def heard(truth: api_pb2.ContainerStatus, lie: Lie) -> api_pb2.ContainerStatus:
    """A container's status as the kubelet hears it."""
    answer = api_pb2.ContainerStatusResponse(status=truth).SerializeToString()
    return api_pb2.ContainerStatusResponse.FromString(altered(CONTAINER_STATUS, answer, lie)).status


def changed(truth: api_pb2.ContainerStatus, **fields: object) -> api_pb2.ContainerStatus:
    """A copy with other values."""
    copy = api_pb2.ContainerStatus()
    copy.CopyFrom(truth)
    for name, value in fields.items():
        setattr(copy, name, value)
    return copy


@pytest.mark.parametrize("suffix", ["_pb2.py", "_pb2.pyi"])
def test_the_generated_messages_are_those_of_the_proto_file(suffix: str, tmp_path: Path) -> None:
    arguments = ["protoc", f"-I{ROOT}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", str(ROOT / PROTO)]
    assert protoc.main(arguments) == 0
    name = PROTO.replace(".proto", suffix)
    assert (tmp_path / name).read_text() == (ROOT / name).read_text()


@given(st.sampled_from([LIST_CONTAINERS, CONTAINER_STATUS, START_CONTAINER]), st.binary())
def test_the_truth_passes_byte_for_byte(method: str, answer: bytes) -> None:
    assert altered(method, answer, TRUTH) == answer


def test_what_a_lie_is_not_about_passes_byte_for_byte() -> None:
    lie = Lie(finished_by_ms=(-1_000,), hides_exited=True)
    assert altered("/runtime.v1.ImageService/ListImages", b"\xff not a message", lie) == b"\xff not a message"


def test_fields_that_are_not_known_here_travel_on() -> None:
    raw = status().SerializeToString() + UNKNOWN
    answer = api_pb2.ContainerStatusResponse(status=api_pb2.ContainerStatus.FromString(raw)).SerializeToString()
    altered_status = api_pb2.ContainerStatusResponse.FromString(
        altered(CONTAINER_STATUS, answer, Lie(finished_by_ms=(1_000,)))
    ).status
    assert altered_status.SerializeToString(deterministic=True).endswith(UNKNOWN)
    assert altered_status.finished_at == 12 * 10**9


@pytest.mark.parametrize("by_s", [pytest.param(-1, id="older"), pytest.param(30, id="younger")])
def test_an_exit_is_stated_at_another_time(by_s: int) -> None:
    assert heard(status(), Lie(finished_by_ms=(by_s * 1_000,))) == changed(status(), finished_at=(11 + by_s) * 10**9)


@pytest.mark.parametrize(("number", "by_s"), [(0, 0), (1, 5), (2, 7), (3, 7)])
def test_an_exit_is_stated_by_the_number_of_its_instance(number: int, by_s: int) -> None:
    assert heard(status(restarts=number), Lie(finished_by_ms=(0, 5_000, 7_000))).finished_at == (11 + by_s) * 10**9


def test_a_running_container_has_no_exit_to_lie_about() -> None:
    running = status(state=RUNNING, exit_code=0)
    assert heard(running, Lie(finished_by_ms=(30_000,), exit_codes={0: 1}, hides_exited=True)) == running


@pytest.mark.parametrize(
    ("code", "as_code", "reason"),
    [
        pytest.param(1, 0, "Completed", id="failure-as-success"),
        pytest.param(42, 43, "Error", id="swapped"),
        pytest.param(43, 42, "Error", id="swapped-back"),
        pytest.param(7, 7, "Error", id="not-lied-about"),
    ],
)
def test_an_exit_code_is_stated_as_another_with_the_runtimes_word_for_it(code: int, as_code: int, reason: str) -> None:
    lie = Lie(exit_codes={1: 0, 42: 43, 43: 42})
    assert heard(status(exit_code=code), lie) == changed(status(), exit_code=as_code, reason=reason)


def test_restarts_are_stated_one_too_high_in_statuses_and_lists() -> None:
    lie = Lie(restart_count_by=1)
    assert dict(heard(status(restarts=1), lie).annotations) == {RESTART_COUNT: "2", "other": "kept"}
    listed = api_pb2.ListContainersResponse(containers=[api_pb2.Container(id="c0"), listed_container("c1", RUNNING)])
    answer = altered(LIST_CONTAINERS, listed.SerializeToString(), lie)
    annotations = [dict(each.annotations) for each in api_pb2.ListContainersResponse.FromString(answer).containers]
    assert annotations == [{}, {RESTART_COUNT: "1"}]


def test_exited_containers_are_hidden_wherever_they_are_listed() -> None:
    lie = Lie(hides_exited=True)
    listed = api_pb2.ListContainersResponse(
        containers=[listed_container("c1", EXITED), listed_container("c2", RUNNING), listed_container("c3", EXITED)]
    )
    answer = api_pb2.ListContainersResponse.FromString(altered(LIST_CONTAINERS, listed.SerializeToString(), lie))
    assert list(answer.containers) == [listed_container("c2", RUNNING)]
    sandbox = api_pb2.PodSandboxStatusResponse(containers_statuses=[status(), status(state=RUNNING)])
    altered_sandbox = api_pb2.PodSandboxStatusResponse.FromString(
        altered(POD_SANDBOX_STATUS, sandbox.SerializeToString(), lie)
    )
    assert list(altered_sandbox.containers_statuses) == [status(state=RUNNING)]


def test_the_status_of_a_hidden_container_is_not_there() -> None:
    with pytest.raises(NotThere, match=r"^c1$"):
        heard(status(), Lie(hides_exited=True))


def test_a_successor_is_what_the_kubelet_would_create_next() -> None:
    request = create_request(attempt=3)
    assert is_restart(request)
    assert not is_restart(create_request(attempt=0))
    assert asked(successor(request)) == asked(create_request(attempt=4))


@pytest.mark.parametrize(("kind", "exit_code"), [("readiness", 0), ("liveness", 1)])
def test_only_probes_of_the_named_kinds_are_said_to_succeed(kind: str, exit_code: int) -> None:
    request = api_pb2.ExecSyncRequest(cmd=["sh", "-c", "exit 1", kind]).SerializeToString()
    answer = api_pb2.ExecSyncResponse(exit_code=1).SerializeToString()
    lie = Lie(succeeding_probes=(ProbeKind.READINESS,))
    assert api_pb2.ExecSyncResponse.FromString(altered_exec(request, answer, lie)).exit_code == exit_code


def test_a_later_instance_gets_the_environment_of_the_first() -> None:
    first, later = create_request(attempt=0, greeting="one"), create_request(attempt=2, greeting="two")
    assert container_of(first) == container_of(later) == ("", "app")
    assert asked(with_environment_of(first, later)) == asked(create_request(attempt=2, greeting="one"))


def test_a_list_tells_which_containers_have_exited() -> None:
    listed = api_pb2.ListContainersResponse(
        containers=[listed_container("c1", EXITED), listed_container("c2", RUNNING)]
    )
    assert exited_in(listed.SerializeToString()) == ("c1",)


def listed_container(container_id: str, state: api_pb2.ContainerState) -> api_pb2.Container:
    return api_pb2.Container(id=container_id, state=state, annotations={RESTART_COUNT: "0"})


def create_request(*, attempt: int, greeting: str = "one") -> bytes:
    config = api_pb2.ContainerConfig(
        envs=[api_pb2.KeyValue(key="GREETING", value=greeting)],
        metadata=api_pb2.ContainerMetadata(name="app", attempt=attempt),
        annotations={RESTART_COUNT: str(attempt), "io.kubernetes.container.hash": "abc"},
        log_path=f"app/{attempt}.log",
    )
    return api_pb2.CreateContainerRequest(config=config).SerializeToString()


def asked(request: bytes) -> api_pb2.CreateContainerRequest:
    """What a request says: bytes of equal requests differ, since the order of a map's entries is open."""
    return api_pb2.CreateContainerRequest.FromString(request)
