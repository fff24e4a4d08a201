"""The site of the documentation: links stay within it, and what leads nowhere fails the build."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tools.site_hooks import reference_data, site_uri, with_links

ROOT = Path(__file__).parents[3]


def built(folder: Path, text: str, **others: str) -> tuple[bool, str]:
    """Whether a site of one page with this text can be built by our configuration, and what was printed."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8")) | {"nav": ["README.md"]}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    for name, content in {"docs/README.md": text, "src/a.py": "A = 1\n", **others}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "site_hooks.py", folder / "tools")
    command = [sys.executable, "-m", "mkdocs", "build"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def test_a_file_outside_of_docs_is_a_page_of_the_site(tmp_path: Path) -> None:
    text = "# One\n\n[code](../src/a.py), [all](../src), [here](#one)\n\n| a | b |\n|---|---|\n| `x\\|y` | z |\n"
    done, printed = built(tmp_path, text)
    assert done, printed
    assert "source/src/a.py.html" in (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert "src/a.py.html" in (tmp_path / "site/source/src.html").read_text(encoding="utf-8")
    assert "<td><code>x|y</code></td>" in (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert "<h1" in (tmp_path / "site/source/src/a.py.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "others", "complaint"),
    [
        ("[code](../src/b.py)", {}, "contains a link '../src/b.py'"),
        ("[page](other.md)", {}, "contains a link 'other.md'"),
        ("[two](#two)", {}, "there is no such anchor on this page"),
        ("[it](../NOTES.md)", {"NOTES.md": "[code](src/b.py)\n"}, "'source/NOTES.md' contains a link 'src/b.py'"),
        ("One page.", {"docs/lost.md": "# Lost\n"}, 'not included in the "nav" configuration'),
    ],
    ids=[
        "a missing file",
        "a missing page",
        "a missing heading",
        "a broken link outside of docs",
        "a page without a place",
    ],
)
def test_what_leads_nowhere_fails_the_build(tmp_path: Path, text: str, others: dict[str, str], complaint: str) -> None:
    done, printed = built(tmp_path, f"# One\n\n{text}\n", **others)
    assert not done
    assert complaint in printed


def test_a_link_in_a_code_block_stays_as_it_is() -> None:
    text = "```text\n[code](../src/a.py)\n```\n"
    assert with_links(text, "docs/README.md", "README.md") == text


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("docs/findings/README.md", "findings/README.md"),
        ("CONTRIBUTING.md", "source/CONTRIBUTING.md"),
        ("crashloop/spec/plan.py", "source/crashloop/spec/plan.py.md"),
        ("manifests/kubelet", "source/manifests/kubelet.md"),
    ],
)
def test_a_file_has_one_place_in_the_site(path: str, uri: str) -> None:
    assert site_uri(path) == uri


def test_the_search_finds_pages_for_people_and_no_tables_of_data() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert {"coverage.md", "fault-matrix.md", "benchmark.md"} <= reference_data(nav)
    assert not {"faq.md", "my-pod-waits.md", "liveness-loop.md"} & reference_data(nav)


def test_a_source_file_is_not_in_the_search(tmp_path: Path) -> None:
    done, printed = built(tmp_path, "# One\n\n[code](../src/a.py)\n")
    assert done, printed
    found = json.loads((tmp_path / "site/search/search_index.json").read_text(encoding="utf-8"))["docs"]
    assert {each["location"].partition("#")[0] for each in found} == {"index.html"}
