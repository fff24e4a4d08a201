"""The cluster's certificate authority, its certificates and its kubeconfigs. Keys never leave the state folder (mode 0600)."""

import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import msgspec
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from crashloop.cluster.files import write_file
from crashloop.kube.kubeconfig import DIRECT

LONGEST_COMMON_NAME = 64
"""Characters (ub-common-name in RFC 5280, appendix A.1)."""
_VALID_FOR = timedelta(days=30)
_CLOCK_MAY_STEP_BACK = timedelta(days=1)
"""A certificate is valid from before its creation, so that a clock step in a soak run does not break TLS."""


class CertificatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A requested certificate. Its common name and organizations are RBAC's user and groups."""

    certificate: str
    key: str
    common_name: str
    organizations: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Authority:
    """A certificate authority whose key is in memory."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def create(cls, certificate: Path, key: Path) -> "Authority":
        """Make a new authority and write it."""
        private = ec.generate_private_key(ec.SECP256R1())
        name = _distinguished_name("crashloop-ca")
        signed = (
            _certificate_builder(name, name, private.public_key(), signer=private.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(private, hashes.SHA256())
        )
        write_file(key, _private_pem(private), mode=0o600)
        write_file(certificate, signed.public_bytes(Encoding.PEM))
        return cls(signed, private)

    @classmethod
    def load(cls, certificate: Path, key: Path) -> "Authority":
        """Read an authority that `create` has written."""
        private = load_pem_private_key(key.read_bytes(), password=None)
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        return cls(x509.load_pem_x509_certificate(certificate.read_bytes()), private)

    def issue(self, plan: CertificatePlan) -> None:
        """Make a key, sign its certificate for use by servers and clients, and write both."""
        private = ec.generate_private_key(ec.SECP256R1())
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in plan.names]
        alternatives += [x509.IPAddress(ip_address(address)) for address in plan.addresses]
        builder = (
            _certificate_builder(
                _distinguished_name(plan.common_name, plan.organizations),
                self._certificate.subject,
                private.public_key(),
                signer=self._key.public_key(),
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
        )
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        write_file(Path(plan.key), _private_pem(private), mode=0o600)
        write_file(Path(plan.certificate), builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))


def create_signing_key(path: Path) -> None:
    """Make the key that signs service account tokens; the API server reads its public half from the same file."""
    write_file(path, _private_pem(ec.generate_private_key(ec.SECP256R1())), mode=0o600)


def _distinguished_name(common_name: str, organizations: tuple[str, ...] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _certificate_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, signer: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """A certificate of `key`, to be signed by `signer`; it names both keys (RFC 5280, 4.2.1.1 and 4.2.1.2)."""
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_MAY_STEP_BACK)
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def kubeconfig(*, cluster: str, server: str, ca: str, certificate: str, key: str) -> str:
    """A kubeconfig that names its certificates by path, for the cluster's own components."""
    return _rendered_kubeconfig(
        cluster, {"server": server, "certificate-authority": ca}, {"client-certificate": certificate, "client-key": key}
    )


def self_contained_kubeconfig(*, cluster: str, server: str, ca: bytes, certificate: bytes, key: bytes) -> str:
    """A kubeconfig that works wherever it is copied to."""
    return _rendered_kubeconfig(
        cluster,
        {"server": server, "certificate-authority-data": _as_base64(ca)},
        {"client-certificate-data": _as_base64(certificate), "client-key-data": _as_base64(key)},
    )


def _rendered_kubeconfig(cluster: str, server: dict[str, str], user: dict[str, str]) -> str:
    """The cluster is on this host, at addresses that no proxy reaches."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": {**server, "extensions": [DIRECT]}}],
            "users": [{"name": cluster, "user": user}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        },
        sort_keys=False,
    )


def _as_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
