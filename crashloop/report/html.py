"""A document as one HTML page without network, or trust in the shown texts.

Every text is escaped, and a Content-Security-Policy names the page's own script and style by hash: if an
escape were missing, a browser would still run nothing from a container or a log.
"""

import base64
import hashlib
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crashloop.report.document import Document, Medium, outcomes
from crashloop.report.text import printable


def to_html(document: Document) -> str:
    """The whole page; it has a script only if a table is searchable."""
    sections = document.on(Medium.PAGE)
    script = (
        _text("script.js.j2") if any(getattr(b, "is_searchable", False) for s in sections for b in s.blocks) else ""
    )
    style = _text("style.css.j2")
    template = _environment().get_template("document.html.j2")
    return template.render(
        document=document,
        sections=sections,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    ).lstrip()


def _text(template: str) -> str:
    return _environment().get_template(template).render()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("crashloop.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters["outcomes"] = outcomes
    environment.filters["kind"] = lambda value: type(value).__name__
    return environment


def _printable(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
