"""Hooks of MkDocs: files outside of docs/ that a page links to are pages of the site, so that every link stays within it.

A page of docs/ keeps its path. A file of the repository is below `source/`: Markdown as it is, anything else as a listing.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[1]
DOCS, SOURCE = "docs/", "source/"
LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]+)")
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
CODE = re.compile(r"`[^`]+`")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".json": "json", ".go": "go"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Headings get the anchors that GitHub gives them."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that pages link to, and those that these link to."""
    ahead = [DOCS + page.src_uri for page in files.documentation_pages()]
    while ahead:
        for path in linked(ahead.pop()):
            if not path.startswith(DOCS) and (ROOT / path).exists() and site_uri(path) not in files.src_uris:
                files.append(
                    File.generated(config, site_uri(path), content=listing(path), inclusion=InclusionLevel.NOT_IN_NAV)
                )
                ahead.append(path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Let the links of a page lead to pages of the site, and its tables read as on GitHub."""
    uri = page.file.src_uri
    if uri.startswith(SOURCE) or uri in reference_data(config.nav or []):
        page.meta["search"] = {"exclude": True}
    path = uri.removeprefix(SOURCE) if uri.startswith(SOURCE) else DOCS + uri
    return with_links(with_bars(markdown), path, uri)


def reference_data(nav: list[Any]) -> set[str]:
    """The pages of tables, which answer no question: the search would find little else."""
    return {uri for section in nav if isinstance(section, dict) for uri in section.get("Reference data", ())}


def with_bars(markdown: str) -> str:
    """The bars of code in tables, which GitHub wants escaped, as Python-Markdown wants them."""
    return ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), markdown)


def linked(path: str) -> Iterator[str]:
    """What a file of the repository links to, as paths of the repository; nothing for what is no Markdown."""
    for part in FENCED.split(listing(path))[::2]:
        yield from (_target(path, match[1]) for match in LINK.finditer(part))


def with_links(markdown: str, path: str, uri: str) -> str:
    """The text of a file of the repository as the page `uri` of the site. What does not exist stays, and MkDocs reports it."""

    def led(match: re.Match[str]) -> str:
        target = _target(path, match[1])
        if not (ROOT / target).exists():
            return match[0]
        return "](" + posixpath.relpath(site_uri(target), posixpath.dirname(uri))

    parts = FENCED.split(markdown)
    return "".join(LINK.sub(led, part) if number % 2 == 0 else part for number, part in enumerate(parts))


def site_uri(path: str) -> str:
    """Where the site has a file or folder of the repository."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return SOURCE + (path if path.endswith(".md") else f"{path}.md")


def listing(path: str) -> str:
    """A file of the repository as Markdown: a folder as links to what is in it, a file as it is or as a code block."""
    file = ROOT / path
    if file.is_dir():
        inside = sorted(each.name for each in file.iterdir() if not each.name.startswith((".", "__pycache__")))
        # A folder's page lies beside the folder.
        return f"# {path}\n\n" + "\n".join(f"- [{name}]({file.name}/{name})" for name in inside) + "\n"
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return text
    return f"# {path}\n\n````{LANGUAGES.get(file.suffix, 'text')}\n{text}````\n"


def _target(path: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
