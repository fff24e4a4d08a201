"""Container programs as commands: what runs in a container so that it lives, exits and keeps its journal as planned.

The journal's format, one line a stamp (boot time from /proc/uptime, in centiseconds; lives counted from 0):

    crashloop/1 start <life> <seconds since boot> <boot id, or ->
    crashloop/1 note <life> <seconds since boot> <name> <value>
    crashloop/1 exit <life> <seconds since boot> <exit code>[ told]

A note says what a life has found: `root fresh` or `root used`, by a mark that each life leaves in its root filesystem;
`volume fresh` or `volume used`, by one in a volume in memory;
`aim 1010`, the milliseconds from the creation of its container to its planned end;
`passes 50`, how often a program ran inside of it by their marks there; `hook ran`, its postStart hook; the environment
variables of its container by their names; `skipped 4`, how many lives of its program it has left out; `liveness.7 F`, what a
probe answered the time 7 (from 0) that it was asked: S or F, stamped before the answer is given. A life that is killed stamps
no exit.

`told` says that the life has left its name in its termination log, `app life 2`, which the kubelet has to state as the message
of its end. A life does that just before it exits by itself; pods of the load generator do not, since each text takes room on
the disk of their node.

Each life first prints the whole journal to its log, so that the log of the newest instance holds all earlier lives.
The boot id shows whether container and node count from the same boot: a container in its own sandbox does not.
A start is stamped after the process has begun and an exit before it ends: a delay by the journal can only err long.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from crashloop.spec.dependency import VERSION_VARIABLE
from crashloop.spec.pod import Container, Handler, Probe
from crashloop.spec.program import Life, LifeEnd, Program

EVIDENCE_DIR = "/evidence"
"""Where an emptyDir is mounted that outlives the pod's containers."""
MARKS_DIR = "/tmp"
"""A folder of the container's root filesystem, for the marks that lives leave there."""
MEMORY_DIR = "/memory"
"""Where an emptyDir in memory is mounted, whose files an unmount loses."""
CREATED_MARK = "/dev/termination-log"
"""A file that the kubelet makes for each container just before it has it created, with mode 0666, and whose text it states once
the container has exited (kuberuntime_container.go makeMounts, getTerminationMessage@v1.37.1)."""
MISSING = "/crashloop/no-such-command"
"""The command of a container whose start the runtime is to refuse."""
AIMED_WITHIN_S = 0.5


def command(
    container: Container,
    *,
    evidence_dir: str = EVIDENCE_DIR,
    marks_dir: str = MARKS_DIR,
    memory_dir: str = MEMORY_DIR,
    created_mark: str = CREATED_MARK,
    last_words: bool = False,
) -> list[str]:
    """The command of a container: program.sh, its journal, its exit code on SIGTERM, its settings, and its lives.

    `last_words`: whether lives that end by themselves leave their names in `created_mark`.
    """
    program = container.program
    if program.is_refused:
        return [MISSING]
    words = [
        *_settings(program, marks_dir, created_mark),
        *((f"words={created_mark}",) if last_words and any(each.end is LifeEnd.EXIT for each in program.lives) else ()),
        *_startup(container, evidence_dir),
        *((f"volume={memory_dir}/{container.name}.mark",) if program.marks_volume else ()),
        *_served(container),
        *(f"env={each.name}" for each in container.env),
        *((f"env={VERSION_VARIABLE}",) if container.image is not None else ()),
        *((f"others={program.exits - 1}",) if program.first_pod_only else ()),
        *(f"{_seconds(life.run_s)}:{_end(life)}:{life.times}" for life in program.lives),
    ]
    return [*_shell("program.sh"), _journal(container, evidence_dir), str(container.exit_code_on_term), *words]


def _settings(program: Program, marks_dir: str, created_mark: str) -> Iterator[str]:
    if program.marks_root:
        yield f"root={marks_dir}/crashloop.root"
    if program.passes:
        yield f"passes={program.passes}:{marks_dir}/crashloop.passes"
    if program.fails_until_s is not None:
        yield f"until={round(program.fails_until_s * 100)}"
    if program.aims_at_s is not None:
        first_ms, limit_cs = round(program.lives[0].run_s * 1000), round((program.aims_at_s + AIMED_WITHIN_S) * 100)
        yield f"aim={first_ms}:{limit_cs}:{created_mark}"


def _startup(container: Container, evidence_dir: str) -> Iterator[str]:
    program = container.program
    if program.startup_cpu_s or program.startup_read_mb:
        data = f"{evidence_dir}/{container.name}.data"
        yield f"startup={round(100 * program.startup_cpu_s)}:{program.startup_read_mb}:{data}"


def _end(life: Life) -> str:
    ends = {LifeEnd.EXIT: str(life.exit_code), LifeEnd.HOOK: LifeEnd.SIGNAL.value}
    return ends.get(life.end, life.end.value)


def _served(container: Container) -> Iterator[str]:
    return (f"http={each.kind}" for each in container.probes if each.handler is Handler.HTTP)


def probe_command(
    container: Container, probe: Probe, *, evidence_dir: str = EVIDENCE_DIR, log: str = "/proc/1/fd/1"
) -> list[str]:
    """The command that gives one answer of a probe, by its exit code; it notes the answer in the journal and in the log."""
    return [*_shell("probe.sh"), *_answering(container, probe, evidence_dir, log)]


def served_probes(container: Container, port: int) -> dict[str, str]:
    """Environment of a container that answers probes over HTTP: the port, the script, and its arguments by the probe's kind."""
    served = [each for each in container.probes if each.handler is Handler.HTTP]
    arguments = {
        f"PROBE_{each.kind}": " ".join(_answering(container, each, EVIDENCE_DIR, "/proc/1/fd/1")) for each in served
    }
    return {"PROBE": _shell("probe.sh")[2], "PROBE_PORT": str(port), **arguments} if served else {}


def _answering(container: Container, probe: Probe, evidence_dir: str, log: str) -> list[str]:
    plan = probe.pattern or str(round(probe.fails_after_s * 100))
    failure = "hang" if probe.hangs else "fail"
    return [_journal(container, evidence_dir), probe.kind, plan, _seconds(probe.answers_after_s), failure, log]


def hook_command(
    container: Container, *, evidence_dir: str = EVIDENCE_DIR, first_process: str = "/proc/1"
) -> list[str]:
    """The command of a postStart hook that notes its run in the journal, and in the log of the container's first process.

    It fails in the lives that it is to end.
    """
    fails = [str(number) for number, life in enumerate(container.program.each_life()) if life.end is LifeEnd.HOOK]
    return [*_shell("hook.sh"), _journal(container, evidence_dir), first_process, *fails]


def beat_command() -> list[str]:
    """The command of a node's heartbeat."""
    return _shell("beat.sh")


def _journal(container: Container, evidence_dir: str) -> str:
    return f"{evidence_dir}/{container.name}.journal"


def _seconds(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", _text(script), script]


@cache  # a load makes thousands of pods
def _text(script: str) -> str:
    """The script without its comments: it becomes part of the pod."""
    lines = files(__package__).joinpath(script).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line and not line.startswith("#"))
