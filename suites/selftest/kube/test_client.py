"""What the API server refuses is shown with code, reason and fields, and without what may be secret."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from crashloop.errors import ClusterError, UsageError
from crashloop.kube.access import Permission, missing_permissions
from crashloop.kube.answers import (
    ApiRefusal,
    ApiUnreachable,
    CredentialsRefused,
    FieldCause,
    ResourceVersionGone,
    refusal,
)
from crashloop.kube.client import KubeApi
from suites.selftest.kit.existing_peer import ExistingPeer
from suites.selftest.kit.existing_peer import serving as serving_existing
from suites.selftest.kit.kube_peer import Peer, pod_list, serving, status


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


@pytest.mark.parametrize("answer", [{"items": []}, {"metadata": None}], ids=["no list", "no metadata"])
def test_what_no_api_server_sends_is_no_answer(tmp_path: Path, answer: Any) -> None:
    with (
        serving(Peer([answer], [[]]), tmp_path) as kubeconfig,
        closing(KubeApi(kubeconfig)) as api,
        pytest.raises(ApiUnreachable, match="list nodes: what answered is not an API server"),
    ):
        api.nodes()


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
    with pytest.raises(UsageError, match=r"kubeconfig .*missing: there is no such file"):
        KubeApi(str(tmp_path / "missing"))


def test_a_proxy_of_the_environment_is_not_asked_for_a_private_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    with serving(Peer([pod_list(1)], [[]]), tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        assert api.get_pod("ns", "x") == pod_list(1)


ANONYMOUS = 'pods is forbidden: User "system:anonymous" cannot list resource "pods"'


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status(401, "Unauthorized", "Unauthorized"), "(401 Unauthorized)"),
        (status(403, "Forbidden", ANONYMOUS), "(403 Forbidden, as if none were shown)"),
    ],
    ids=["refused", "none-shown"],
)
def test_credentials_that_are_not_accepted_are_the_user_s_business(tmp_path: Path, answer: Any, said: str) -> None:
    with (
        serving(Peer([answer], [[]]), tmp_path) as kubeconfig,
        closing(KubeApi(kubeconfig, context="x")) as api,
        pytest.raises(CredentialsRefused) as caught,
    ):
        api.get_pod("ns", "x")
    assert isinstance(caught.value, UsageError)
    assert str(caught.value) == (
        f"kubeconfig {kubeconfig}, context x: the API server does not accept the credentials {said}; "
        "they may have expired.\nLog in to the cluster again, or name another kubeconfig with --kubeconfig."
    )


def test_who_is_known_and_may_not_reads_that(tmp_path: Path) -> None:
    answer = status(403, "Forbidden", 'pods is forbidden: User "jane" cannot list resource "pods"')
    with (
        serving(Peer([answer], [[]]), tmp_path) as kubeconfig,
        closing(KubeApi(kubeconfig)) as api,
        pytest.raises(ApiRefusal) as caught,
    ):
        api.get_pod("ns", "x")
    assert not isinstance(caught.value, UsageError)


class Reviewer(ExistingPeer):
    """Answers no questions about what somebody may do."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.before = lambda _: status(403, "Forbidden", message)


WANTED = (Permission(verb="list", resource="pods"),)


def test_an_api_server_that_answers_no_questions_about_permissions_forbids_nothing_as_far_as_is_known(
    tmp_path: Path,
) -> None:
    with serving_existing(Reviewer("no reviews here"), tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        assert missing_permissions(api, WANTED, None) == ()


def test_one_that_does_not_know_who_asks_has_not_allowed_anything(tmp_path: Path) -> None:
    with (
        serving_existing(Reviewer(ANONYMOUS), tmp_path) as kubeconfig,
        closing(KubeApi(kubeconfig)) as api,
        pytest.raises(CredentialsRefused),
    ):
        missing_permissions(api, WANTED, None)


def test_the_time_is_that_of_the_api_server(tmp_path: Path) -> None:
    peer = ExistingPeer()
    peer.ahead_s = -86_400.0
    with serving_existing(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        assert 0.9 < (datetime.now(UTC) - api.now()).total_seconds() / 86_400 < 1.1
