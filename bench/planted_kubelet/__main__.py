"""Write a kubelet that uses a stated share of CPU more than the real one, to be found by an A/B comparison.

python -m bench.planted_kubelet FILE
crashloop stress ab-kubelet --kubelet-binary FILE        (provider local, on this host)
"""

import argparse
import shlex
import sys
from pathlib import Path

from bench.planted_kubelet.burner import NAME
from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.cluster.binaries.versions import own_kubelet
from crashloop.progress import default_progress
from crashloop.settings import resolve_settings

PERCENT = 5.0

_ROOT = Path(__file__).parents[2]
_SCRIPT = """\
#!/bin/sh
# A kubelet that uses {percent:g} % more CPU: the real one, and a child that burns as much.
[ "$1" != --version ] || exec {kubelet} --version
PYTHONPATH={root} {python} -m bench.planted_kubelet.burner {share:g} $$ &
exec {kubelet} "$@"
"""


def script(kubelet: Path, percent: float) -> str:
    """The text of the executable, with absolute paths only: it runs in a folder and namespaces of its node."""
    return _SCRIPT.format(
        percent=percent,
        share=percent / 100,
        kubelet=shlex.quote(str(kubelet)),
        root=shlex.quote(str(_ROOT)),
        python=shlex.quote(sys.executable),
    )


def write_planted(file: Path, kubelet: Path, percent: float) -> None:
    """Write the executable. Raises UsageError if the kubelet is none."""
    own_kubelet(kubelet, "--kubelet")
    file.write_text(script(kubelet, percent), encoding="utf-8")
    file.chmod(0o755)


def _kubelet_of_clusters() -> Path:
    """The one that the baseline runs with."""
    settings = resolve_settings()
    version = settings.versions.kubernetes
    return ensure_binaries(settings, kubernetes_version=version, progress=default_progress()).kubelet


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.planted_kubelet",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="where to write it")
    parser.add_argument("--percent", type=float, default=PERCENT, help="how much dearer (%(default)g)")
    parser.add_argument("--kubelet", metavar="PATH", type=Path, help="the real one (default: that of the clusters)")
    options = parser.parse_args()
    if not 0 < options.percent <= 100:
        parser.error(f"--percent {options.percent:g}: expected more than 0 and at most 100")
    kubelet = (options.kubelet or _kubelet_of_clusters()).absolute()
    if kubelet.name != NAME:
        # A process is called like its file, and only kubelets of that name are measured.
        parser.error(f"--kubelet {kubelet}: expected a file with the name {NAME}")
    write_planted(options.file, kubelet, options.percent)
    print(options.file)


if __name__ == "__main__":
    main()
