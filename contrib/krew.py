"""What krew needs of a release: an archive with the wheel and its launcher, and the manifest that names it.

python -m contrib.krew dist URL    write dist/kubectl-crashloop.tar.gz and dist/crashloop.yaml; URL is where the release is
"""

import argparse
import hashlib
import tarfile
from pathlib import Path
from typing import Any

import yaml

from crashloop import __version__

ROOT = Path(__file__).parents[1]
LAUNCHER = ROOT / "contrib" / "kubectl-crashloop"
ARCHIVE, MANIFEST = "kubectl-crashloop.tar.gz", "crashloop.yaml"


def write(folder: Path, url: str) -> None:
    """Write archive and manifest beside the wheel of this version. Raises FileNotFoundError without it."""
    archive = folder / ARCHIVE
    with tarfile.open(archive, "w:gz") as tar:
        for file in (LAUNCHER, ROOT / "LICENSE", folder / f"crashloop-{__version__}-py3-none-any.whl"):
            tar.add(file, arcname=file.name)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    text = yaml.safe_dump(manifest(f"{url.rstrip('/')}/{ARCHIVE}", digest), sort_keys=False)
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def manifest(uri: str, sha256: str) -> dict[str, Any]:
    """The plugin's manifest (krew.sigs.k8s.io/docs/developer-guide/plugin-manifest)."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "crashloop"},
        "spec": {
            "version": f"v{__version__}",
            "shortDescription": "Reports which restart backoff every node really follows",
            "description": "Reads from pods which CrashLoopBackOff curve every node follows, and changes nothing.",
            "caveats": "Needs Python 3.11 or newer with venv; the first use installs crashloop in an environment of its own.",
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": "linux"}},
                    "uri": uri,
                    "sha256": sha256,
                    "bin": LAUNCHER.name,
                }
            ],
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m contrib.krew", description="Write archive and manifest for krew.")
    parser.add_argument("folder", type=Path, help="the folder with the wheel, such as dist")
    parser.add_argument("url", help="the address of the folder with the release's files")
    given = parser.parse_args()
    try:
        write(given.folder, given.url)
    except FileNotFoundError as error:
        parser.error(f"{error.filename}: there is no such file; `make dist` writes the wheel.")
