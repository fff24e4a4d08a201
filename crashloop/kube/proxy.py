"""The proxy of a request, decided as Go's net/http decides it for kubectl.

Source: FromEnvironment and useProxy of golang.org/x/net/http/httpproxy, and parseProxyURL of k8s.io/client-go/tools/clientcmd.
"""

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

SCHEMES = ("http", "https", "socks5", "socks5h")
_PORTS = {"http": 80, "https": 443}


def proxy_of_environment(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy by HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY or a loopback address excludes it.

    A private address has no privilege. ALL_PROXY is not read, and HTTP_PROXY is not trusted in a CGI program.
    """
    parts = urlsplit(server)
    scheme = parts.scheme.lower()
    proxy = _variable(environ, f"{scheme}_proxy")
    if not proxy or (scheme == "http" and environ.get("REQUEST_METHOD")):
        return None
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or _PORTS.get(scheme, 0)
    if _is_excluded(host, port, _variable(environ, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    """Capitals come first."""
    return environ.get(name.upper()) or environ.get(name) or ""


def _is_excluded(host: str, port: int, no_proxy: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, address, port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    """Whether an entry of NO_PROXY names the host: `*`, a network, or an address or a domain, either with a port or without."""
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry:
        with suppress(ValueError):
            return address is not None and address in ip_network(entry, strict=False)
    name, wanted = _split(entry)
    if wanted and wanted != str(port):
        return False
    named = _address(name)
    if named is not None:
        return named == address
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _split(entry: str) -> tuple[str, str]:
    """Host and port; an IPv6 address with a port stands in brackets."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
