"""An API server is shown what kubectl would show it, along the way that kubectl would take (client-go 0.37.1)."""

import json
import re
from base64 import encodebytes
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from crashloop.errors import UsageError
from crashloop.kube.answers import ApiUnreachable
from crashloop.kube.client import KubeApi
from crashloop.kube.kubeconfig import DIRECT, proxy_of_environment
from crashloop.stress.generator import load_access
from suites.selftest.kit.tls_peer import NAME, TlsPeer, serving

TOKEN = ["authorization", "Bearer t"]


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsPeer]:
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving(tmp_path) as found:
        yield found


def document(peer: TlsPeer, user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    """A kubeconfig whose paths are relative to the peer's folder."""
    address = {"server": f"https://127.0.0.1:{peer.port}", "certificate-authority": "ca.crt"}
    named = {name.replace("_", "-"): value for name, value in cluster.items()}
    return {
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {**address, **named}}],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        "current-context": "c",
    }


def shown(peer: TlsPeer, kubeconfig: dict[str, Any] | str) -> dict[str, Any]:
    """What the server was shown by a client with that kubeconfig."""
    path = peer.folder / "config"
    path.write_text(kubeconfig if isinstance(kubeconfig, str) else yaml.safe_dump(kubeconfig), encoding="utf-8")
    with closing(KubeApi(str(path))) as api:
        answer: dict[str, Any] = json.loads(api.get_raw("/version"))
    return answer


def test_who_impersonates_acts_as_the_other_with_all_groups_uid_and_extra(peer: TlsPeer) -> None:
    user = {
        "token": "t",
        "as": "alice",
        "as-groups": ["dev", "ops"],
        "as-uid": "7",
        "as-user-extra": {"example.org/a%b": ["x", "z"]},
    }
    extra = "impersonate-extra-example.org%2fa%25b"
    assert shown(peer, document(peer, user))["headers"] == [
        TOKEN,
        [extra, "x"],
        [extra, "z"],
        ["impersonate-group", "dev"],
        ["impersonate-group", "ops"],
        ["impersonate-uid", "7"],
        ["impersonate-user", "alice"],
    ]


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"as-groups": ["dev"]}, "it impersonates a uid, groups or user-extra, but no user (as)."),
        ({"as": "a\r\nX: y"}, "is no text that a header can carry."),
        ({"as": "a", "as-groups": "dev"}, "its user cannot be used: as-groups: expected a list, not text."),
        (
            {"as": "a", "as-user-extra": {"k": "v"}},
            "its user cannot be used: as-user-extra[...]: expected a list, not text.",
        ),
        ({"token": 7}, "its user cannot be used: token: expected text, not a whole number."),
        ({"token": "t", "username": "u", "password": "p"}, "its user has a token and a password; remove one of them."),
    ],
)
def test_a_user_that_kubectl_refuses_is_refused(peer: TlsPeer, user: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        shown(peer, document(peer, user))
    assert said in str(refused.value)


def test_a_kubelet_and_a_load_generator_which_cannot_impersonate_are_not_asked_with_the_stronger_identity(
    peer: TlsPeer,
) -> None:
    path = peer.folder / "config"
    path.write_text(yaml.safe_dump(document(peer, {"token": "t", "as": "alice"})), encoding="utf-8")
    with closing(KubeApi(str(path))) as api, pytest.raises(ApiUnreachable, match="impersonates a user"):
        api.ask_kubelet(f"https://127.0.0.1:{peer.port}", "/configz")
    with pytest.raises(UsageError, match="impersonates another"):
        load_access(str(path))


@pytest.mark.parametrize(
    "user",
    [
        {"token": "t"},
        {"username": "u", "password": "p"},
        {"tokenFile": "gone"},
        {"exec": {"command": "gone", "apiVersion": "client.authentication.k8s.io/v1"}},
    ],
    ids=["token", "password", "file", "plug-in"],
)
@pytest.mark.parametrize("scheme", ["http://", "HTTP://", ""], ids=["http", "capitals", "no scheme"])
def test_no_credential_leaves_without_tls(peer: TlsPeer, scheme: str, user: dict[str, Any]) -> None:
    found = shown(peer, document(peer, user, server=f"{scheme}127.0.0.1:{peer.plain()}"))
    assert (found["headers"], found["cert"]) == ([], None)


def test_a_password_in_the_address_comes_before_every_other_credential(peer: TlsPeer) -> None:
    for scheme, port in (("https", peer.port), ("http", peer.plain())):
        found = shown(peer, document(peer, server=f"{scheme}://u:p%40@127.0.0.1:{port}"))
        assert found["headers"] == [["authorization", "Basic dTpwQA=="]]


def test_a_context_needs_no_user(peer: TlsPeer) -> None:
    written = document(peer)
    del written["contexts"][0]["context"]["user"]
    written["users"] = [None]
    assert shown(peer, written)["headers"] == []


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_the_proxy_of_the_cluster_is_used_even_for_loopback(peer: TlsPeer, scheme: str) -> None:
    assert shown(peer, document(peer, proxy_url=peer.proxy(scheme)))["headers"] == [TOKEN]
    assert [each.partition(":")[0] for each in peer.proxied] == ["127.0.0.1"]


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_the_proxy_of_the_environment_leads_to_a_private_address_and_resolves_names(
    peer: TlsPeer, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", peer.proxy(scheme))
    settings: dict[str, Any] = {"tls_server_name": NAME}
    assert shown(peer, document(peer, server="https://10.1.2.3:6443", **settings))["headers"] == [TOKEN]
    assert shown(peer, document(peer, server=f"https://{NAME}:6443"))["headers"] == [TOKEN]
    assert [each.partition(":")[0] for each in peer.proxied] == ["10.1.2.3", NAME]


def test_loopback_and_the_clusters_of_this_host_need_no_proxy(peer: TlsPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1")
    assert shown(peer, document(peer))["headers"] == [TOKEN]
    monkeypatch.setattr("crashloop.kube.client.proxy_of_environment", lambda *_: "http://127.0.0.1:1")
    assert shown(peer, document(peer, extensions=[DIRECT]))["headers"] == [TOKEN]


@pytest.mark.parametrize("proxy", ["ftp://127.0.0.1:1", "127.0.0.1:1", "socks5h://127.0.0.1:1"])
def test_another_proxy_of_the_cluster_is_refused_in_a_sentence(peer: TlsPeer, proxy: str) -> None:
    with pytest.raises(UsageError, match=r"proxy-url .*; expected http, https, socks5\."):
        shown(peer, document(peer, proxy_url=proxy))


@pytest.mark.parametrize(
    ("server", "no_proxy", "is_used"),
    [
        ("https://10.1.2.3:6443", "", True),
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "192.168.0.0/16, 10.1.2.3", False),
        ("https://10.1.2.3:6443", "10.1.2.3:443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", False),
        ("https://10.1.2.3:6443", "10.1.2.", True),
        ("https://api.example.org", "example.org", False),
        ("https://example.org", "example.org", False),
        ("https://example.org", ".example.org", True),
        ("https://example.org", "*.example.org", True),
        ("https://API.Example.org", ".EXAMPLE.org", False),
        ("https://api.example.org", "*.example.org", False),
        ("https://notexample.org", "example.org", True),
        ("https://api.example.org:6443", "example.org:443", True),
        ("https://api.example.org", "example.org:443", False),
        ("https://api.example.org", "*", False),
        ("https://api.example.org", "10.0.0.0/8,,", True),
        ("https://[fd00::1]:6443", "fd00::/8", False),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", False),
        ("https://[fd00::1]:6443", "fd00::1", False),
        ("https://[::1]:6443", "", False),
        ("https://127.8.9.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("http://10.1.2.3:8080", "", False),
    ],
)
def test_no_proxy_excludes_what_it_excludes_in_go(server: str, no_proxy: str, is_used: bool) -> None:
    environ = {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": no_proxy, "ALL_PROXY": "http://other"}
    assert proxy_of_environment(server, environ) == ("http://proxy:3128" if is_used else None)


def test_capitals_come_first_and_a_cgi_program_trusts_no_http_proxy() -> None:
    both = {"HTTP_PROXY": "http://a", "http_proxy": "http://b"}
    assert proxy_of_environment("http://10.1.2.3", both) == "http://a"
    assert proxy_of_environment("http://10.1.2.3", {"http_proxy": "http://b"}) == "http://b"
    assert proxy_of_environment("http://10.1.2.3", {**both, "REQUEST_METHOD": "GET"}) is None


@pytest.mark.parametrize("section", ["contexts", "clusters", "users"])
def test_an_entry_that_the_context_does_not_name_does_not_matter(peer: TlsPeer, section: str) -> None:
    written = document(peer)
    written[section] = [{"name": "stale", section[:-1]: None}, {"name": "older"}, *written[section]]
    assert shown(peer, written)["headers"] == [TOKEN]


def test_json_with_tabs_and_a_byte_order_mark_are_read(peer: TlsPeer) -> None:
    text = json.dumps(document(peer), indent="\t")
    assert shown(peer, text)["headers"] == [TOKEN]
    assert shown(peer, "\ufeff" + text)["headers"] == [TOKEN]
    assert shown(peer, "\ufeff" + yaml.safe_dump(document(peer)).replace("\n", "\r\n"))["headers"] == [TOKEN]


def test_an_authority_beside_insecure_is_refused_as_kubectl_refuses_it(peer: TlsPeer) -> None:
    with pytest.raises(UsageError, match="a certificate authority beside insecure-skip-tls-verify; remove one"):
        shown(peer, document(peer, insecure_skip_tls_verify=True))
    alone = document(peer, insecure_skip_tls_verify=True, certificate_authority=None)
    assert shown(peer, alone)["headers"] == [TOKEN]


def test_certificates_names_and_path_prefixes_are_those_of_the_file(peer: TlsPeer) -> None:
    pair = {"client-certificate": "client.crt", "client-key": "client.key"}
    assert shown(peer, document(peer, pair))["cert"] == "admin"
    prefixed = document(peer, server=f"https://127.0.0.1:{peer.port}/k8s/clusters/c-1/", tls_server_name=NAME)
    assert shown(peer, prefixed)["path"] == "/k8s/clusters/c-1/version"
    with pytest.raises(ApiUnreachable, match="not valid for 'other'"):
        shown(peer, document(peer, tls_server_name="other"))


def test_an_authority_may_be_folded_and_an_address_may_have_a_query(peer: TlsPeer) -> None:
    folded = encodebytes((peer.folder / "ca.crt").read_bytes()).decode()
    server = f"https://127.0.0.1:{peer.port}?context=c#top"
    given = document(peer, server=server, certificate_authority=None, certificate_authority_data=folded)
    assert shown(peer, given)["headers"] == [TOKEN]


@pytest.mark.parametrize("server", ["https://a:b", "https://${API}:6443", "https://{{ .Host }}"])
def test_a_server_that_is_no_address_is_named(peer: TlsPeer, server: str) -> None:
    with pytest.raises(UsageError, match=f"server {re.escape(repr(server))} is no address."):
        shown(peer, document(peer, server=server))


def test_a_file_with_a_current_context_only_and_an_empty_one_are_merged(peer: TlsPeer, tmp_path: Path) -> None:
    written = document(peer)
    del written["current-context"]
    (tmp_path / "choice").write_text("current-context: c\n")
    (tmp_path / "empty").touch()
    (peer.folder / "config").write_text(yaml.safe_dump(written))
    listed = ":".join(str(each) for each in (tmp_path / "choice", tmp_path / "empty", peer.folder / "config"))
    with closing(KubeApi(listed)) as api:
        assert json.loads(api.get_raw("/version"))["headers"] == [TOKEN]
