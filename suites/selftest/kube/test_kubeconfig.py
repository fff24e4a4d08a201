"""A kubeconfig is read as kubectl reads it, and what is wrong with one is said in words."""

import base64
import json
import os
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from crashloop.errors import UsageError
from crashloop.kube.credential_plugin import EXEC_INFO, read_access
from crashloop.kube.kubeconfig import default_kubeconfig, read_context

SERVER = "https://192.0.2.7:6443/"


def kubeconfig(path: Path, *, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> str:
    """A file with one context, blue."""
    document = {
        "contexts": [{"name": "blue", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "current-context": "blue",
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def plugin(folder: Path, script: str, **fields: Any) -> str:
    """A kubeconfig whose plug-in is a Python script; each start of it adds a line to the file `starts`."""
    program = folder / "plugin"
    counting = f"open({str(folder / 'starts')!r}, 'a').write('x')"
    program.write_text(f"#!{sys.executable}\nimport json, os\n{counting}\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    spec = {
        "apiVersion": V1,
        "command": "./plugin",
        "interactiveMode": "Never",
        **fields,
    }
    return kubeconfig(folder / "config", user={"exec": spec})


V1, V1_BETA_1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"


def printing(version: str | None = V1, **status: Any) -> str:
    return f"print({json.dumps({'apiVersion': version, 'kind': 'ExecCredential', 'status': status})!r})"


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text())


def test_a_path_in_a_file_is_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    path = kubeconfig(tmp_path / "config", user={"tokenFile": "token"})
    access = read_access(path)
    assert access.server == "https://192.0.2.7:6443"
    assert access.headers() == {"Authorization": "Bearer secret"}
    (tmp_path / "token").write_text("renewed\n")
    assert access.headers() == {"Authorization": "Bearer renewed"}


def test_of_several_files_the_first_to_name_an_entry_wins(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path / "first", user={"token": "first"})
    second = kubeconfig(tmp_path / "second", user={"token": "second"})
    listed = os.pathsep.join((str(tmp_path / "missing"), first, second))
    assert read_context(listed).user == {"token": "first"}


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        ({"token": "t"}, {"Authorization": "Bearer t"}),
        ({"username": "u", "password": "p"}, {"Authorization": f"Basic {base64.b64encode(b'u:p').decode()}"}),
        ({"username": "u", "password": None}, {"Authorization": f"Basic {base64.b64encode(b'u:').decode()}"}),
        ({"token": "t", "tokenFile": "gone"}, {"Authorization": "Bearer t"}),
        ({}, {}),
    ],
    ids=["token", "password", "no password", "token and no file", "nothing"],
)
def test_a_user_is_a_header(tmp_path: Path, user: dict[str, Any], headers: dict[str, str]) -> None:
    assert read_access(kubeconfig(tmp_path / "config", user=user)).headers() == headers


def test_certificates_are_verified_unless_the_cluster_says_otherwise(tmp_path: Path) -> None:
    assert read_access(kubeconfig(tmp_path / "one")).verifies
    skipping = read_access(kubeconfig(tmp_path / "two", cluster={"insecure-skip-tls-verify": True}))
    assert not skipping.verifies
    assert skipping.tls.verify_mode is ssl.CERT_NONE


def test_a_certificate_that_kubectl_accepts_is_accepted_on_every_python(tmp_path: Path) -> None:
    """Without Authority Key Identifier, as those of EKS; Python 3.13 would refuse them."""
    assert not read_access(kubeconfig(tmp_path / "config")).tls.verify_flags & ssl.VERIFY_X509_STRICT


def test_proxy_and_name_of_the_server_are_those_of_the_cluster(tmp_path: Path) -> None:
    cluster = {"proxy-url": "http://192.0.2.8:3128", "tls-server-name": "api.example"}
    access = read_access(kubeconfig(tmp_path / "config", cluster=cluster))
    assert (access.proxy, access.server_name) == ("http://192.0.2.8:3128", "api.example")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "cannot be used (it has no contexts, clusters or users)."),
        ("a: 1", "cannot be used (it has no contexts, clusters or users)."),
        ("{", "cannot be used (it is neither JSON nor YAML"),
        ("contexts: [7]", "cannot be used (contexts: expected entries with name and context)."),
        ("contexts: []", "it has no current context; its contexts: none."),
        (
            "{contexts: [{name: a, context: {cluster: c}}], current-context: b}",
            "its current context 'b' does not exist; its contexts: a.",
        ),
        ("{apiVersion: v1, kind: Cluster, contexts: []}", "cannot be used (v1 Cluster is no v1 Config)."),
        ("{apiVersion: v2, kind: Config, contexts: []}", "cannot be used (v2 Config is no v1 Config)."),
        ("{contexts: [{name: a, context: {cluster: c}}], current-context: a}", "it names cluster 'c', which is missing."),
        (
            "{contexts: [{name: a, context: {cluster: c}}], clusters: [{name: c, cluster: {}}], current-context: a}",
            "its cluster has no server.",
        ),
    ],
    ids=["list", "other", "no YAML", "entry", "nothing current", "other current", "kind", "version", "no cluster", "no server"],
)  # fmt: skip
def test_another_file_is_no_kubeconfig(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        read_access(str(path))
    assert str(refused.value).startswith(f"kubeconfig {path}")
    assert said in str(refused.value)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"kubeconfig .*/missing: there is no such file\."):
        read_access(str(tmp_path / "missing"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_access(str(tmp_path))


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"server": 7}, "its cluster's server 7 is no address."),
        ({"insecure-skip-tls-verify": "yes please"}, "insecure-skip-tls-verify: expected true or false, not text."),
        ({"proxy-url": ["http://192.0.2.8"]}, "its cluster cannot be used: proxy-url: expected text, not a list."),
    ],
    ids=["server", "insecure", "proxy"],
)
def test_a_cluster_with_values_of_other_types_is_refused(tmp_path: Path, cluster: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_access(kubeconfig(tmp_path / "config", cluster=cluster))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"tokenFile": "gone"}, "gone cannot be read (No such file or directory)."),
        ({"client-certificate-data": "%"}, "client-certificate-data is not base64"),
        ({"client-certificate-data": "eA=="}, "the user has a client certificate, but no client-key."),
        ({"client-certificate-data": "eA==", "client-key-data": "eA=="}, "the client certificate cannot be used"),
        (
            {"client-key": "a", "client-key-data": "eA=="},
            "client-key stands beside client-key-data; remove one of them.",
        ),
        ({"tokenFile": "gone", "username": "u"}, "its user has a token and a password; remove one of them."),
        (
            {"auth-provider": {"name": "gcp"}, "token": "t"},
            "its user has an auth-provider, which Kubernetes 1.26 removed.",
        ),
    ],
    ids=["file", "base64", "key", "certificate", "twice", "two", "auth-provider"],
)
def test_credentials_that_cannot_be_used_are_named(tmp_path: Path, user: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_access(kubeconfig(tmp_path / "config", user=user)).headers()
    assert said in str(refused.value)


def test_a_plug_in_runs_once_while_its_token_lasts(tmp_path: Path) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    access = read_access(plugin(tmp_path, printing(token="t", expirationTimestamp=later)))
    assert [access.headers(), access.headers()] == [{"Authorization": "Bearer t"}] * 2
    assert starts(tmp_path) == 1


def test_a_plug_in_runs_again_once_its_token_is_over(tmp_path: Path) -> None:
    access = read_access(plugin(tmp_path, printing(token="t", expirationTimestamp="2020-01-01T00:00:00Z")))
    access.headers()
    assert starts(tmp_path) == 2


def test_the_last_credential_is_used_on_when_its_plug_in_fails_and_the_plug_in_is_left_alone_for_a_while(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = printing(token="t", expirationTimestamp="2020-01-01T00:00:00Z")
    failing = f"if len(open({str(tmp_path / 'starts')!r}).read()) > 1: raise SystemExit(3)\n{first}"
    access = read_access(plugin(tmp_path, failing))
    assert [access.headers(), access.headers()] == [{"Authorization": "Bearer t"}] * 2
    assert starts(tmp_path) == 2
    (said,) = caplog.messages
    assert "ended with exit code 3" in said
    assert said.endswith("The credential before it goes on being used.")


def test_a_plug_in_knows_the_cluster_and_has_its_own_environment(tmp_path: Path) -> None:
    token = f"os.environ[{EXEC_INFO!r}] + os.environ['ZONE']"
    told = f"print(json.dumps({{'apiVersion': {V1!r}, 'status': {{'token': {token}}}}}))"
    fields = {"provideClusterInfo": True, "env": [{"name": "ZONE", "value": "z"}]}
    token = read_access(plugin(tmp_path, told, **fields)).headers()["Authorization"].removeprefix("Bearer ")
    info = json.loads(token.removesuffix("z"))
    assert info["spec"] == {"interactive": False, "cluster": {"server": SERVER}}
    assert info["kind"] == "ExecCredential"


@pytest.mark.parametrize(
    ("script", "fields", "said"),
    [
        ("", {"command": "no-such-plugin", "installHint": "Get it.\n"}, "'no-such-plugin' is not installed.\nGet it."),
        ("raise SystemExit(3)", {}, "ended with exit code 3; its own message stands above."),
        ("print('hello')", {}, "printed no ExecCredential"),
        (printing(), {}, "printed neither a token nor a client certificate."),
        (printing(None, token="t"), {}, f"is to speak {V1}, and it speaks no version."),
        (printing(token="t", clientKeyData="k"), {}, "printed one of a client certificate and its key, without the other."),
        (printing(token="t", expirationTimestamp="2030-01-01T00:00:00"), {}, "printed no ExecCredential"),
        ("", {"env": [{"name": ""}]}, "env[0].name: expected text of length >= 1."),
        ("while True: print('y')", {}, "printed no ExecCredential (more than 1024 KiB)."),
        ("print('{\"apiVersion\": \"a/v2\", \"status\": {}}')", {}, "and it speaks a/v2."),
        ("", {"command": ""}, "has no command."),
        ("", {"interactiveMode": "Always"}, "has to ask a person (interactiveMode Always), and there is no terminal."),
        ("", {"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "has apiVersion 'client.authentication.k8s.io/v1alpha1'"),
        ("", {"interactiveMode": "Sometimes"}, "has interactiveMode 'Sometimes'; expected one of Never, IfAvailable, Always."),
        ("", {"interactiveMode": None}, "has interactiveMode None; expected one of"),
        ("print('{\"kind\": \"Token\", \"status\": {\"token\": \"t\"}}')", {}, "printed no ExecCredential (Token)."),
    ],
    ids=["missing", "fails", "prints other", "prints nothing", "no version", "no certificate",
         "no zone", "no variable", "never ends", "speaks otherwise", "nameless", "asks", "old",
         "other mode", "no mode", "other kind"],
)  # fmt: skip
def test_a_plug_in_that_gives_no_credential_is_named(
    tmp_path: Path, script: str, fields: dict[str, Any], said: str
) -> None:
    path = plugin(tmp_path, script, **fields)
    with pytest.raises(UsageError) as refused:
        read_access(path)
    assert str(refused.value).startswith(f"kubeconfig {path}, context 'blue': its credential plug-in")
    assert said in str(refused.value)


def test_a_plug_in_of_the_older_version_needs_no_mode(tmp_path: Path) -> None:
    path = plugin(tmp_path, printing(V1_BETA_1, token="t"), apiVersion=V1_BETA_1, interactiveMode=None)
    assert read_access(path).headers() == {"Authorization": "Bearer t"}


def test_a_plug_in_may_print_yaml(tmp_path: Path) -> None:
    text = f"apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: t\n"
    path = plugin(tmp_path, f"print({text!r})", env=[{"name": "A"}])
    assert read_access(path).headers() == {"Authorization": "Bearer t"}


def test_a_credential_beside_a_plug_in_comes_before_it(tmp_path: Path) -> None:
    path = Path(plugin(tmp_path, printing(token="asked")))
    document = yaml.safe_load(path.read_text())
    document["users"][0]["user"]["token"] = "given"
    path.write_text(yaml.safe_dump(document))
    assert read_access(str(path)).headers() == {"Authorization": "Bearer given"}
    assert not (tmp_path / "starts").exists()


@pytest.mark.parametrize("token", ["secret\n", "sec\x00ret"], ids=ascii)
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(tmp_path: Path, token: str) -> None:
    with pytest.raises(UsageError, match="its user's token has a sign that no header can carry") as refused:
        read_access(kubeconfig(tmp_path / "config", user={"token": token}))
    assert "sec" not in str(refused.value).removeprefix(f"kubeconfig {tmp_path}")


def test_a_file_of_a_token_that_is_empty_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    with pytest.raises(UsageError, match=r"token is empty; a token was expected\."):
        read_access(kubeconfig(tmp_path / "config", user={"tokenFile": "token"}))


def test_an_entry_that_is_there_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    path = Path(kubeconfig(tmp_path / "config", user={}))
    document = yaml.safe_load(path.read_text())
    document["users"] *= 2
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(UsageError, match=r"cannot be used \(users: '.*' is there twice\)"):
        read_context(str(path))


def test_the_option_comes_before_the_variable_and_the_variable_before_the_home() -> None:
    assert default_kubeconfig("/a", {"KUBECONFIG": "/b"}) == "/a"
    assert default_kubeconfig(None, {"KUBECONFIG": f"/b{os.pathsep}/c"}) == f"/b{os.pathsep}/c"
    assert default_kubeconfig(None, {}).endswith("/.kube/config")


def test_relative_files_of_a_list_hold_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = default_kubeconfig(None, {"KUBECONFIG": os.pathsep.join(("blue", "kube/green"))})
    assert found == os.pathsep.join((str(tmp_path / "blue"), str(tmp_path / "kube/green")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("current-context: [a]\ncontexts: [{name: a}]\n", r'\["a"\] is no name'),
        ("current-context: a\ncontexts: [{name: a, context: {cluster: [x]}}]\n", r'\["x"\] is no name'),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
            "clusters: [{name: a, cluster: {server: 'https://h'}}]\nusers: [{name: a, user: {exec: x}}]\n",
            "its credential plug-in \\(exec\\) cannot be used",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
            "clusters: [{name: a, cluster: {server: 'https://a b'}}]\nusers: [{name: a, user: {}}]\n",
            "server 'https://a b' is no address",
        ),
    ],
)
def test_a_value_of_another_form_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_access(str(tmp_path / "config"))


def test_a_certificate_that_has_no_end_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://h', certificate-authority: /dev/zero}}]\n"
    )
    with pytest.raises(UsageError, match=r"/dev/zero cannot be read \(it is no regular file and no pipe\)"):
        read_access(str(tmp_path / "config"))


@pytest.mark.parametrize("value", [":", "::"])
def test_a_list_of_files_that_are_none_is_named(value: str) -> None:
    with pytest.raises(UsageError, match=f"KUBECONFIG is '{value}', which names no file"):
        default_kubeconfig(None, {"KUBECONFIG": value})


def test_who_has_no_options_of_a_command_gives_another_remedy(tmp_path: Path) -> None:
    remedy = "Set KUBECONFIG."
    with pytest.raises(UsageError, match=f"names no file\\.\n{remedy}"):
        default_kubeconfig(None, {"KUBECONFIG": ":"}, remedy=remedy)
    for wrong, fault in ((tmp_path / "none", "there is no such file"), (tmp_path, "cannot be read (Is a directory)")):
        with pytest.raises(UsageError) as caught:
            read_context(str(wrong), remedy=remedy)
        assert str(caught.value) == f"kubeconfig {wrong}: {fault}.\n{remedy}"
