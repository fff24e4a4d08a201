"""Where the master of a load waits for workers from other machines."""

import re
import socket
from typing import NamedTuple

from crashloop.errors import UsageError

PORT = 5557
"""Locust's own."""
_ADDRESS = re.compile(r"(\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]\s]+))(:(?P<port>\d{1,5}))?")


class Address(NamedTuple):
    """Of the master."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str, *, option: str) -> Address:
    """HOST[:PORT], an IPv6 address in brackets. Raises UsageError."""
    found = _ADDRESS.fullmatch(text)
    port = int(found["port"] or PORT) if found else 0
    if found is None or not 0 < port < 65536:
        raise UsageError(f"{option} {text!r}: expected HOST or HOST:PORT, such as 192.0.2.7:{PORT}.")
    return Address(found["v6"] or found["host"], port)


def check_free(address: Address, *, option: str) -> None:
    """Raise UsageError for an address that is not of this host, or in use."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as error:
        raise UsageError(
            f"{option} {address}: this host cannot listen there ({error.strerror}).\n"
            "Name an address of this host and a free port."
        ) from error
