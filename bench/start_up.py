"""CPU time until a command has answered, beside `kubectl --help`, or an empty Python program where kubectl is missing.

    python -m bench.start_up [--write]

One run, in turn: each figure is the least of ROUNDS, children included. On a machine with other work, compare ratios.
"""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from bench.figures import Figure, load_average, options, publish

ROUNDS = 5
TARGETS_S = {
    ("--help",): 0.15,
    ("explain", "CAP-3"): 0.5,
    ("predict",): 0.6,
    ("run", "--topic", "CAP", "--dry-run"): 2.0,
}
"""CPU seconds on a quiet machine."""


def baseline() -> list[str]:
    kubectl = shutil.which("kubectl")
    return [kubectl, "--help"] if kubectl else [sys.executable, "-c", "pass"]


def cpu_s(command: list[str]) -> float:
    """CPU of one run of a command that succeeds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=_ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    write, load = options(__doc__).parse_args().write, load_average()
    program = Path(sys.executable).with_name("crashloop")
    commands = {arguments: [str(program), *arguments] for arguments in TARGETS_S} | {(): baseline()}
    rounds = [{arguments: cpu_s(command) for arguments, command in commands.items()} for _ in range(ROUNDS)]
    least_s = {arguments: min(each[arguments] for each in rounds) for arguments in commands}
    beside = " ".join((Path(baseline()[0]).name, *baseline()[1:]))
    figures = (
        Figure(
            quantity=f"CPU until `crashloop {' '.join(arguments)}` has answered",
            value=least_s[arguments],
            unit="s",
            target=target_s,
            note=f"{least_s[arguments] / least_s[()]:.1f} times `{beside}`",
        )
        for arguments, target_s in TARGETS_S.items()
    )
    publish("start_up", figures, write=write, load_average=load)


if __name__ == "__main__":
    main()
