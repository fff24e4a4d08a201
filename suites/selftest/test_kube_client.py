"""What the API server refuses is told with code, reason and fields, and without what may be secret."""

from contextlib import closing
from pathlib import Path

import pytest

from crashloop.errors import ClusterError, UsageError
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import ApiRefusal, ApiUnreachable, FieldCause, ResourceVersionGone, refusal
from suites.selftest.kube_peer import Peer, pod_list, serving, status


def test_a_refusal_names_code_reason_and_fields(tmp_path: Path) -> None:
    cause = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}
    peer = Peer([status(422, "Invalid", 'Pod "x" is invalid', causes=[cause])], [[]])
    with (
        serving(peer, tmp_path) as kubeconfig,
        closing(KubeApi(kubeconfig)) as api,
        pytest.raises(ApiRefusal) as raised,
    ):
        api.get_pod("ns", "x")
    assert (raised.value.code, raised.value.reason) == (422, "Invalid")
    assert raised.value.causes == (
        FieldCause(reason="FieldValueRequired", message="Required value", field="spec.containers"),
    )
    assert str(raised.value) == 'read pod x: the API server answered 422 Invalid.\nPod "x" is invalid'


def test_an_answer_that_is_no_status_is_not_repeated() -> None:
    error = refusal("read pod x", 500, "Internal Server Error", b"password: hunter2")
    assert str(error) == "read pod x: the API server answered 500 Internal Server Error."


def test_gone_is_a_refusal_of_its_own() -> None:
    assert type(refusal("watch pods", 410, "Gone", b"")) is ResourceVersionGone


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with serving(Peer([pod_list(1)], [[]]), tmp_path) as kubeconfig:
        pass
    with closing(KubeApi(kubeconfig)) as api, pytest.raises(ApiUnreachable, match="read pod x: no answer"):
        api.get_pod("ns", "x")


def test_errors_of_the_api_are_errors_of_the_cluster() -> None:
    assert issubclass(ApiRefusal, ClusterError)
    assert issubclass(ApiUnreachable, ClusterError)


def test_a_kubeconfig_that_cannot_be_read_is_the_user_s_business(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"kubeconfig .*missing: cannot be used"):
        KubeApi(str(tmp_path / "missing"))


def test_a_proxy_of_the_environment_is_not_asked_for_a_private_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    with serving(Peer([pod_list(1)], [[]]), tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        assert api.get_pod("ns", "x") == pod_list(1)
