"""The wrong kubelets as executables."""

import shlex
import sys
from pathlib import Path

from quality.fault import Fault

_ROOT = Path(__file__).parents[1]

_SCRIPT = """\
#!/bin/sh
# A kubelet that {sentence}: the real one with helpers around it.
[ "$1" != --version ] || exec {kubelet} --version
PYTHONPATH={root} exec {python} -m quality.wrapper --fault {name} -- {kubelet} "$@"
"""


def script(fault: Fault, kubelet: Path) -> str:
    """The text of the executable, with absolute paths only: it runs in a folder and namespaces of its node."""
    return _SCRIPT.format(
        sentence=fault.sentence,
        name=fault.name,
        kubelet=shlex.quote(str(kubelet)),
        root=shlex.quote(str(_ROOT)),
        python=shlex.quote(sys.executable),
    )


def write_executable(folder: Path, fault: Fault, kubelet: Path) -> Path:
    """Write the executable into the folder and return its path."""
    path = folder / fault.name
    path.write_text(script(fault, kubelet), encoding="utf-8")
    path.chmod(0o755)
    return path
