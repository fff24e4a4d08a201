"""A document as one HTML page without network, or trust in the shown texts.

Every text is escaped, and a Content-Security-Policy names the page's own script and style by hash: if an
escape were missing, a browser would still run nothing from a container or a log.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crashloop.report.chart import ALONG
from crashloop.report.document import Block, Document, Figures, Medium, Table, outcomes
from crashloop.report.text import printable


def to_html(document: Document) -> str:
    """The whole page; it has a script only if a table is searchable, or the values of a plot can be read."""
    sections = document.on(Medium.PAGE)
    script = _script([block for section in sections for block in section.blocks])
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


def _script(blocks: Sequence[Block]) -> str:
    needed = {
        "script.js.j2": any(isinstance(each, Table) and each.is_searchable for each in blocks),
        "plots.js.j2": any(
            ALONG in each.svg for block in blocks if isinstance(block, Figures) for each in block.figures
        ),
    }
    return "".join(_text(template) for template, wanted in needed.items() if wanted)


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
