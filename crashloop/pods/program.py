"""Container programs as commands: what runs in a container so that it lives, exits and keeps its journal as planned.

The journal's format, one line a stamp (boot time from /proc/uptime, in centiseconds; lives counted from 0):

    crashloop/1 start <life> <seconds since boot> <boot id, or ->
    crashloop/1 exit <life> <seconds since boot> <exit code>

Each life first prints the whole journal to its log, so that the log of the newest instance holds all earlier lives.
The boot id shows whether container and node count from the same boot: a container in its own sandbox does not.
A start is stamped after the process has begun and an exit before it ends: a delay by the journal can only err long.
"""

from importlib.resources import files

from crashloop.spec.scenario import Container, Probe

EVIDENCE_DIR = "/evidence"
"""Where an emptyDir is mounted that outlives the pod's containers."""


def command(container: Container, *, evidence_dir: str = EVIDENCE_DIR) -> list[str]:
    """The command of a container: program.sh, its journal, its exit code on SIGTERM and its lives."""
    lives = [f"{_seconds(life.run_s)}:{life.exit_code}:{life.times}" for life in container.program.lives]
    return [*_shell("program.sh"), _journal(container, evidence_dir), str(container.exit_code_on_term), *lives]


def probe_command(container: Container, probe: Probe, *, evidence_dir: str = EVIDENCE_DIR) -> list[str]:
    """The command of an exec probe that fails from `fails_after_s` seconds into each life on."""
    return [*_shell("probe.sh"), _journal(container, evidence_dir), str(round(probe.fails_after_s * 100))]


def beat_command() -> list[str]:
    """The command of a node's heartbeat."""
    return _shell("beat.sh")


def _journal(container: Container, evidence_dir: str) -> str:
    return f"{evidence_dir}/{container.name}.journal"


def _seconds(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _shell(script: str) -> list[str]:
    """The script without its comments: it becomes part of the pod."""
    lines = files(__package__).joinpath(script).read_text(encoding="utf-8").splitlines()
    return ["/bin/sh", "-c", "\n".join(line for line in lines if line and not line.startswith("#")), script]
