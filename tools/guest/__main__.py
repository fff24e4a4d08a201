"""Boots the guest, waits for its steps and says what they left; runs/<UTC time>-guest has their logs.

python -m tools.guest [--build] [STEP ...]     # no step: all but those on demand
python -m tools.guest --script FILE            # a shell script of yours in their place
python -m tools.guest --emulated [STEP ...]    # Debian's own kernel with its modules and AppArmor, by QEMU without KVM: slow

Exit codes: 0; 1 if a step failed or something was left; 70 if the guest cannot be built or does not come up.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from crashloop.cluster.processes import signals_as_exit
from crashloop.errors import ClusterError, CrashloopError
from crashloop.progress import default_progress
from crashloop.settings import resolve_settings
from crashloop.verdict import ExitCode
from crashloop.waiting import wait_until
from tools.guest.build import CHECKOUT, boot_files, kernel, root_image
from tools.guest.recipe import (
    BOOT_S,
    EMULATED_STEPS,
    EMULATED_TIMES,
    OWN,
    STEPS,
    Ended,
    emulated_command,
    kernel_command,
    loaded_meanwhile,
    verdict,
)

END_S = 120.0
"""For what the guest does beside its steps."""
LAST_LINES = 15


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools.guest", description="Run crashloop in a guest with cgroup v2 and systemd."
    )
    parser.add_argument("--build", action="store_true", help="build what the cache lacks, and start nothing")
    parser.add_argument("--script", type=Path, metavar="FILE", help="run a shell script in the place of the steps")
    parser.add_argument("--emulated", action="store_true", help="Debian's own kernel, by QEMU without KVM: slow")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(step.name for step in STEPS))
    arguments = parser.parse_args()
    if unknown := set(arguments.steps) - {step.name for step in STEPS}:
        parser.error(f"no step {', '.join(sorted(unknown))}; steps are {', '.join(step.name for step in STEPS)}")
    usual = EMULATED_STEPS if arguments.emulated else [step.name for step in STEPS if not step.on_demand]
    steps = [step for step in STEPS if step.name in (arguments.steps or usual)]
    times = EMULATED_TIMES if arguments.emulated else 1
    try:
        settings, progress = resolve_settings(), default_progress()
        cache = settings.paths.cache_dir.resolve()
        with signals_as_exit():
            program = None if arguments.emulated else kernel(cache, progress)
            image = root_image(cache, progress, emulated=arguments.emulated)
        if arguments.build:
            return ExitCode.OK
        share = settings.paths.runs_dir.resolve() / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-guest"
        share.mkdir(parents=True)
        if arguments.script:
            steps = [OWN]
            shutil.copy(arguments.script, share / OWN.name)
        (share / "only").write_text(" ".join((str(times), *(step.name for step in steps))))
        with progress.step(f"guest: {', '.join(step.name for step in steps)}"):
            run_guest(
                program,
                image,
                {"checkout": CHECKOUT, "cache": cache, "share": share},
                sum(step.deadline_s for step in steps),
                times=times,
            )
    except CrashloopError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.ERROR
    if arguments.script:
        sys.stdout.write((share / f"{OWN.name}.log").read_text(errors="replace"))
    ended = [msgspec.json.decode(line, type=Ended) for line in (share / "steps.jsonl").read_bytes().splitlines()]
    for end in ended:
        sys.stdout.write(f"{end.name}: exit code {end.exit_code} after {end.seconds:g} s\n")
    before, after = ((share / f"{name}.txt").read_text().splitlines() for name in ("before", "after"))
    if arguments.emulated:
        before, loaded = loaded_meanwhile(before, after)
        sys.stdout.write(f"modules that the kernel loaded meanwhile: {', '.join(loaded) or 'none'}\n")
    wrong = verdict(steps, ended, before, after)
    sys.stdout.write("".join(f"{line}\n" for line in (*wrong, f"guest: {len(wrong)} faults; logs are in {share}.")))
    return ExitCode.FAIL if wrong else ExitCode.OK


def run_guest(program: Path | None, image: Path, folders: dict[str, Path], steps_s: float, *, times: int = 1) -> None:
    """Boot, and wait for the guest to power itself off: `program`, or what QEMU emulates; `times` is a multiple of each deadline.

    Raises ClusterError with the console's last lines if it does not.
    """
    share = folders["share"]
    console = share / "console.log"
    with tempfile.TemporaryDirectory(prefix="guest-") as work, signals_as_exit(), console.open("wb") as output:
        if program is None:
            boot_files(image, Path(work))
            command = emulated_command(Path(work), image, folders)
        else:
            command = kernel_command(program, image, Path(work, "disk"), folders, mhz=_clock_speed())
        guest = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd=work
        )
        try:
            wait_until(
                "the guest to boot",
                lambda: (share / "booted").exists() or guest.poll() is not None,
                timeout_s=times * BOOT_S,
                last_seen=lambda: _last_lines(console),
            )
            wait_until(
                "the guest to power itself off",
                lambda: guest.poll() is not None,
                timeout_s=times * (steps_s + END_S),
                every_s=1.0,
                last_seen=lambda: _last_lines(console),
            )
            if not (share / "after.txt").exists():
                raise ClusterError(
                    f"guest: ended with exit code {guest.poll()} before its steps.\n{_last_lines(console)}"
                )
        finally:
            with suppress(ProcessLookupError):
                os.killpg(guest.pid, signal.SIGKILL)
            guest.wait()


def _clock_speed() -> str:
    found = re.search(r"^cpu MHz\s*: (\S+)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else "1000.000"


def _last_lines(console: Path) -> str:
    return "\n".join(console.read_text(errors="replace").splitlines()[-LAST_LINES:])


if __name__ == "__main__":
    sys.exit(main())
