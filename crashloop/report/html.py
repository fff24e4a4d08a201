"""report.html: one file without network, script or trust in the shown texts.

Every text is escaped, and a Content-Security-Policy names the page's own script and style by hash: if an
escape were missing, a browser would still run nothing from a container or a log.
"""

import base64
import hashlib
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.text import printable
from crashloop.report.view import view_of


def to_html(results: Results) -> str:
    """The whole page."""
    return page("report.html.j2", view=view_of(results), results=results)


def page(template: str, *, sheets: tuple[str, ...] = ("style.css.j2",), **shown: Any) -> str:
    """A page of this package's templates, with its own style and script; nothing else may run."""
    environment = _environment()
    style = "\n".join(environment.get_template(sheet).render() for sheet in sheets)
    script = environment.get_template("script.js.j2").render()
    return environment.get_template(template).render(
        **shown,
        standings=tuple(Standing),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("crashloop.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )


def _printable(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
