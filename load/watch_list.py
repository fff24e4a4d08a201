"""A streaming list: a watch that delivers every object there is, and a bookmark when those were all (KEP-3157).

Informers begin with it in place of a LIST, and fall back to a LIST where it is refused as invalid.
"""

from collections.abc import Iterable
from urllib.parse import urlencode

import gevent
import msgspec

from load.connections import Connections, Refused

END = "k8s.io/initial-events-end"
"""Annotation of the bookmark behind the objects."""


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Bookmark(msgspec.Struct):
    metadata: _Metadata


def watch_list(connections: Connections, path: str, selector: str, *, within_s: float) -> tuple[int, str]:
    """The HTTP status, 0 without an answer in time, and why the objects did not all come; empty if they did."""
    query = {
        "watch": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "labelSelector": selector,
    }
    asked = f"{path}?{urlencode(query)}"
    try:
        # A timeout of a single read is not enough: objects may come slowly, one by one.
        with gevent.Timeout(within_s, False), connections.open(asked, timeout_s=2 * within_s) as lines:
            return 200, why_unended(lines)
    except Refused as refused:
        return refused.code, refused.text
    except (OSError, msgspec.MsgspecError) as error:
        return 0, f"{type(error).__name__} {error}"
    return 0, f"the initial events did not end within {within_s:g} s"


def why_unended(lines: Iterable[bytes]) -> str:
    """Empty as soon as the bookmark has come; else why it has not."""
    for line in lines:
        event = msgspec.json.decode(line, type=_Event)
        if event.type == "ERROR":
            return f"the watch was ended: {bytes(event.object)[:200].decode(errors='replace')}"
        if event.type == "BOOKMARK":
            bookmark = msgspec.json.decode(event.object, type=_Bookmark)
            if bookmark.metadata.annotations.get(END) == "true":
                return ""
    return "the watch ended before its initial events did"
