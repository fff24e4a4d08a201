"""Every certificate of a local cluster passes a strict verification (RFC 5280) on either side of a connection."""

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.kubelets import KubeletProgram
from crashloop.cluster.local.bring_up import Admin, RequestFailed, Unanswered
from crashloop.cluster.local.control_plane import ADMIN, control_plane_plan
from crashloop.cluster.local.credentials import Authority, CertificatePlan
from crashloop.cluster.local.node import candidate_place, node_plan
from crashloop.cluster.local.plan import ClusterLayout
from crashloop.profiles import load_profile
from crashloop.waiting import WaitTimeout, wait_until
from suites.selftest.kit.local_kit import BLUEPRINT, plan_of

ROOT = Path(__file__).parents[4]
WITHIN_S = 60.0


def planned(part: object) -> Iterator[CertificatePlan]:
    """Every certificate in a plan."""
    if isinstance(part, CertificatePlan):
        yield part
    elif isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            yield from planned(getattr(part, name))
    elif isinstance(part, tuple):
        for each in part:
            yield from planned(each)


def all_planned(state: Path) -> list[CertificatePlan]:
    """Those of a control plane, of a node with the longest name and of a second kubelet in it."""
    blueprint = msgspec.structs.replace(BLUEPRINT, state_folder=str(state))
    profile = load_profile("stock")
    node = plan_of(msgspec.structs.replace(profile, name="n" * 52), blueprint=blueprint)
    kubelet = KubeletProgram(path=blueprint.programs.kubelet, version=blueprint.kubelet_version)
    candidate = node_plan(blueprint, candidate_place(node, 1), profile=profile, kubelet=kubelet)
    return list(planned((control_plane_plan(blueprint), node, candidate)))


def context(side: int, authority: Path, plan: CertificatePlan) -> ssl.SSLContext:
    """Shows the certificate, and verifies the other side's as strictly as OpenSSL can."""
    tls = ssl.SSLContext(side)
    tls.load_verify_locations(authority)
    tls.load_cert_chain(plan.certificate, plan.key)
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.verify_flags |= ssl.VERIFY_X509_STRICT
    tls.check_hostname = side == ssl.PROTOCOL_TLS_CLIENT and bool(plan.addresses)
    return tls


def shake_hands(authority: Path, plan: CertificatePlan) -> None:
    """Connect a server and a client that both have the certificate. Raises ssl.SSLError if either refuses it."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:

        def serve() -> bytes:
            with listening.accept()[0] as raw:
                raw.settimeout(WITHIN_S)
                with context(ssl.PROTOCOL_TLS_SERVER, authority, plan).wrap_socket(raw, server_side=True) as served:
                    return served.recv(1)

        serving = pool.submit(serve)
        name = plan.addresses[0] if plan.addresses else None
        tls = context(ssl.PROTOCOL_TLS_CLIENT, authority, plan)
        with (
            socket.create_connection(listening.getsockname(), timeout=WITHIN_S) as raw,
            tls.wrap_socket(raw, server_hostname=name) as client,
        ):
            client.sendall(b"x")
        assert serving.result(timeout=WITHIN_S) == b"x"


NAMES = [Path(plan.certificate).relative_to("/state").as_posix() for plan in all_planned(Path("/state"))]


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_passes_a_strict_verification(tmp_path: Path, name: str) -> None:
    (plan,) = (each for each in all_planned(tmp_path) if each.certificate == str(tmp_path / name))
    Path(plan.certificate).parent.mkdir(parents=True, exist_ok=True)
    authority = tmp_path / "authority.crt"
    Authority.create(authority, tmp_path / "authority.key").issue(plan)
    shake_hands(authority, plan)


def test_certificates_are_made_in_one_place() -> None:
    """Those that the test above covers: nothing else makes any, or starts a program that does."""
    folders = ("crashloop", "fixtures", "load", "mutants", "quality", "suites", "tools", "bench")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".sh", ".go")]
    makers = ("CertificateBuilder(", "CreateCertificate(", "openssl req", "openssl x509", '"openssl"')
    found = {file.relative_to(ROOT).as_posix() for file in files if any(each in file.read_text() for each in makers)}
    assert found - {Path(__file__).relative_to(ROOT).as_posix()} == {"crashloop/cluster/local/credentials.py"}


def test_a_wait_for_a_server_that_is_not_trusted_says_why(tmp_path: Path) -> None:
    layout = ClusterLayout(tmp_path)
    plans = {Path(plan.certificate): plan for plan in all_planned(tmp_path)}
    for folder in layout.folders():
        folder.mkdir(parents=True, exist_ok=True)
    Authority.create(layout.ca_certificate, layout.ca_key).issue(plans[layout.certificate(ADMIN)])
    server = plans[layout.certificate("kube-apiserver")]
    Authority.create(tmp_path / "another.crt", tmp_path / "another.key").issue(server)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(server.certificate, server.key)
    admin = Admin(layout)
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:

        def serve() -> None:
            with listening.accept()[0] as raw:
                raw.settimeout(WITHIN_S)
                with pytest.raises(ssl.SSLError):
                    tls.wrap_socket(raw, server_side=True)

        serving = pool.submit(serve)
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/readyz"
        with pytest.raises(WaitTimeout, match=r"Last seen: GET .*/readyz: no answer \(.*certificate verify failed"):
            wait_until("the API server", lambda: admin.answers(url, "ok"), timeout_s=0, not_yet=RequestFailed)
        serving.result(timeout=WITHIN_S)
    with pytest.raises(Unanswered, match="Connection refused"):
        admin.answers(url, "ok")
