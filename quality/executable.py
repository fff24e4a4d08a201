"""The wrong kubelets and the wrong API server as executables."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from quality.api_server import Drop, admission_configuration, policies
from quality.fault import Fault

_ROOT = Path(__file__).parents[1]

_SCRIPT = """\
#!/bin/sh
# A kubelet that {sentence}: the real one with helpers around it.
[ "$1" != --version ] || exec {kubelet} --version
PYTHONPATH={root} exec {python} -m quality.wrapper --fault {name} -- {kubelet} "$@"
"""

_API_SERVER = """\
#!/bin/sh
# The real API server, with policies that drop fields of containers.
exec {api_server} "$@" --admission-control-config-file={admission}
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
    return _executable(folder / fault.name, script(fault, kubelet))


def write_api_server(folder: Path, drops_of: Mapping[str, Sequence[Drop]], api_server: Path) -> Path:
    """Make the folder, with an API server that drops fields as `policies` has it, and return the server's path."""
    manifests = folder / "policies"
    manifests.mkdir(parents=True)
    (manifests / "policies.yaml").write_text(policies(drops_of), encoding="utf-8")
    admission = folder / "admission.yaml"
    admission.write_text(admission_configuration(str(manifests)), encoding="utf-8")
    text = _API_SERVER.format(api_server=shlex.quote(str(api_server)), admission=shlex.quote(str(admission)))
    return _executable(folder / "kube-apiserver", text)


def _executable(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path
