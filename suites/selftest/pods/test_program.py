"""The program of a container, run for real by every shell at hand, lives and exits and keeps its journal as planned."""

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from crashloop.history.journal import Journal, StampKind, last_words, read_journal
from crashloop.pods.program import command, hook_command, probe_command
from crashloop.spec.dependency import Variable
from crashloop.spec.pod import Container, Probe
from crashloop.spec.program import HOLDS, KILLED, Life, Program, exits_with, hook_fails, killed, out_of_memory, runs
from crashloop.waiting import wait_until

SHELLS = {"sh": ["/bin/sh"]} | ({"busybox": [busybox, "sh"]} if (busybox := shutil.which("busybox")) else {})

WITHIN_S = 60.0
"""Ends a wait for what comes at once; a host may be busy."""


@pytest.fixture(params=list(SHELLS.values()), ids=list(SHELLS))
def shell(request: pytest.FixtureRequest) -> list[str]:
    return list(request.param)


def argv(shell: list[str], container: Container, evidence: Path) -> list[str]:
    folder = str(evidence)
    return [*shell, *command(container, evidence_dir=folder, marks_dir=folder, memory_dir=folder)[1:]]


def live_once(shell: list[str], container: Container, evidence: Path) -> tuple[int, str]:
    done = subprocess.run(
        argv(shell, container, evidence), capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def stamps(journal: Journal) -> list[tuple[StampKind, int, int | None]]:
    return [(stamp.kind, stamp.life, stamp.exit_code) for stamp in journal.stamps]


@contextmanager
def holding(shell: list[str], container: Container, evidence: Path) -> Iterator[subprocess.Popen[str]]:
    """A life that holds, once it has stamped its start; afterwards nothing of it is left, as in a container."""
    journal = evidence / f"{container.name}.journal"
    before = journal.read_text() if journal.exists() else ""
    process = subprocess.Popen(
        argv(shell, container, evidence), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_until(
            "the life to stamp its start",
            lambda: journal.exists() and journal.read_text() != before,
            timeout_s=WITHIN_S,
            every_s=0.01,
        )
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=WITHIN_S)


def test_each_life_exits_as_planned_and_its_log_holds_all_earlier_ones(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=Program((Life(exit_code=1, times=2), Life(run_s=0.05, exit_code=42))))
    assert [live_once(shell, container, tmp_path)[0] for _ in range(2)] == [1, 1]
    code, log = live_once(shell, container, tmp_path)
    assert code == 42
    journal = read_journal(log)
    assert journal.damage == ()
    assert stamps(journal) == [
        (StampKind.START, 0, None),
        (StampKind.EXIT, 0, 1),
        (StampKind.START, 1, None),
        (StampKind.EXIT, 1, 1),
        (StampKind.START, 2, None),
        (StampKind.EXIT, 2, 42),
    ]
    assert (tmp_path / "app.journal").read_text() == log
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert {stamp.boot_id for stamp in journal.stamps if stamp.kind is StampKind.START} == {boot_id}


def test_a_life_runs_at_least_as_long_as_planned(shell: list[str], tmp_path: Path) -> None:
    _, log = live_once(shell, Container(program=runs((0.25, 0))), tmp_path)
    start, end = read_journal(log).stamps
    assert end.boot_ns - start.boot_ns >= 240_000_000, "two stamps, each rounded down by up to 10 ms"


def test_after_its_last_life_it_holds_until_it_is_asked_to_end(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=runs((0, 3)), exit_code_on_term=9)
    assert live_once(shell, container, tmp_path)[0] == 3
    with holding(shell, container, tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=WITHIN_S) == 9
    log = (tmp_path / "app.journal").read_text()
    assert stamps(read_journal(log))[2:] == [(StampKind.START, 1, None), (StampKind.EXIT, 1, 9)]


def test_a_program_that_ends_by_sigkill_only_ignores_sigterm(shell: list[str], tmp_path: Path) -> None:
    stubborn = Container(program=HOLDS, probes=(Probe(pattern="SSS"),), exit_code_on_term=KILLED)
    with holding(shell, stubborn, tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        assert answers(shell, stubborn.probes[0], tmp_path, 1) == [0]
        assert process.poll() is None
    journal = read_journal((tmp_path / "app.journal").read_text())
    assert [each.kind for each in journal.stamps] == [StampKind.START, StampKind.NOTE]


def test_a_life_that_is_killed_leaves_no_exit_stamp_and_the_next_one_goes_on(shell: list[str], tmp_path: Path) -> None:
    with holding(shell, Container(program=HOLDS), tmp_path) as process:
        process.kill()
    assert live_once(shell, Container(program=runs((9, 9), (0, 0))), tmp_path)[0] == 0
    journal = read_journal((tmp_path / "app.journal").read_text())
    assert stamps(journal) == [(StampKind.START, 0, None), (StampKind.START, 1, None), (StampKind.EXIT, 1, 0)]
    assert journal.damage == ()


def test_containers_of_a_pod_keep_journals_of_their_own(shell: list[str], tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert live_once(shell, Container(name=name, program=runs((0, 1))), tmp_path)[0] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.journal", "two.journal"]


def probing(shell: list[str], probe: Probe, evidence: Path) -> list[str]:
    """One run of a probe of the container "app"."""
    return [*shell, *probe_command(Container(), probe, evidence_dir=str(evidence), log=str(evidence / "log"))[1:]]


def answers(shell: list[str], probe: Probe, evidence: Path, times: int) -> list[int]:
    """Exit codes of that many runs."""
    run = probing(shell, probe, evidence)
    return [subprocess.run(run, check=False, timeout=WITHIN_S).returncode for _ in range(times)]


def test_a_probe_fails_from_the_stated_second_of_each_life_on(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=HOLDS)

    def passes(fails_after_s: float) -> bool:
        return answers(shell, Probe(fails_after_s=fails_after_s), tmp_path, 1) == [0]

    (tmp_path / "app.journal").touch()
    assert passes(0.0), "there is no life yet"
    with holding(shell, container, tmp_path):
        assert passes(1000.0)
        assert not passes(0.0)
        wait_until("the probe to fail", lambda: not passes(0.3), timeout_s=WITHIN_S, every_s=0.05)


def test_a_probe_answers_by_its_pattern_in_each_life_and_notes_each_answer(shell: list[str], tmp_path: Path) -> None:
    pattern = Probe(pattern="FSF")
    for life in range(2):
        with holding(shell, Container(program=HOLDS), tmp_path):
            assert answers(shell, pattern, tmp_path, 4) == [1, 0, 1, 1], "the fourth begins the pattern again"
        journal = read_journal((tmp_path / "app.journal").read_text())
        assert notes(journal)[-4:] == [(life, f"liveness.{number}", answer) for number, answer in enumerate("FSFF")]
    assert journal.damage == ()
    log = (tmp_path / "log").read_text()
    assert [line.split()[-2] for line in log.splitlines()] == ["liveness.3"], "the log has each answer"


def test_a_probe_that_hangs_does_not_end_by_itself(shell: list[str], tmp_path: Path) -> None:
    hanging = Probe(pattern="SFF", hangs=True)
    with holding(shell, Container(program=HOLDS), tmp_path):
        assert answers(shell, hanging, tmp_path, 1) == [0]
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(probing(shell, hanging, tmp_path), check=False, timeout=0.5)


def test_an_answer_takes_its_time(shell: list[str], tmp_path: Path) -> None:
    with holding(shell, Container(program=HOLDS), tmp_path):
        began_ns = boot_ns()
        assert answers(shell, Probe(pattern="SSS", answers_after_s=0.5), tmp_path, 1) == [0]
        assert boot_ns() - began_ns >= 500_000_000


def test_the_command_carries_the_script_without_its_comments() -> None:
    interpreter, flag, script, name, journal, on_term, *lives = command(
        Container(program=Program((Life(run_s=1.5, exit_code=1, times=3), Life(exit_code=0))), exit_code_on_term=0)
    )
    assert [interpreter, flag, name, journal, on_term] == ["/bin/sh", "-c", "program.sh", "/evidence/app.journal", "0"]
    assert lives == ["1.5:1:3", "0:0:1"]
    assert not any(line.startswith("#") for line in script.splitlines())
    assert "$$" not in script, "Kubernetes turns it into a single one"


def notes(journal: Journal) -> list[tuple[int, str | None, str | None]]:
    return [(stamp.life, stamp.name, stamp.value) for stamp in journal.stamps if stamp.kind is StampKind.NOTE]


def test_a_life_tells_whether_it_found_the_mark_of_another_in_its_root(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=Program(exits_with(0, after_s=0, times=2).lives, marks_root=True))
    assert [live_once(shell, container, tmp_path)[0] for _ in range(2)] == [0, 0]
    journal = read_journal((tmp_path / "app.journal").read_text())
    assert notes(journal) == [(0, "root", "fresh"), (1, "root", "used")]
    assert journal.damage == ()


def test_a_life_tells_whether_it_found_the_mark_of_another_in_memory(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=Program(exits_with(1, after_s=0, times=2).lives, marks_volume=True))
    assert [live_once(shell, container, tmp_path)[0] for _ in range(2)] == [1, 1]
    assert notes(read_journal((tmp_path / "app.journal").read_text())) == [
        (0, "volume", "fresh"),
        (1, "volume", "used"),
    ]


def test_a_life_counts_the_passes_of_the_program_that_it_repeats(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=Program(exits_with(3, after_s=0).lives, passes=4))
    assert live_once(shell, container, tmp_path)[0] == 3
    assert notes(read_journal((tmp_path / "app.journal").read_text())) == [(0, "passes", "4")]


def test_a_life_starts_up_with_as_much_cpu_and_as_many_reads_as_planned(shell: list[str], tmp_path: Path) -> None:
    program = msgspec.structs.replace(exits_with(3, after_s=0, times=2), startup_cpu_s=0.2, startup_read_mb=2)
    container = Container(program=program)
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert live_once(shell, container, tmp_path)[0] == 3
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime >= 0.19
        assert (tmp_path / "app.data").stat().st_size == 2 * 1024 * 1024
    journal = read_journal((tmp_path / "app.journal").read_text())
    assert [each.exit_code for each in journal.stamps if each.kind is StampKind.EXIT] == [3, 3]
    assert journal.damage == ()


def test_a_program_fails_until_what_it_depends_on_is_back_and_then_holds(shell: list[str], tmp_path: Path) -> None:
    def depending(fails_until_s: float) -> Container:
        return Container(program=Program(exits_with(1, after_s=0, times=9).lives, fails_until_s=fails_until_s))

    code, log = live_once(shell, depending(1000.0), tmp_path)
    assert code == 1
    started = read_journal(log).stamps[0].boot_ns
    wait_until("what it depends on", lambda: boot_ns() >= started + 110_000_000, timeout_s=WITHIN_S, every_s=0.05)
    with holding(shell, depending(0.1), tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=WITHIN_S) == 143


def test_a_life_that_ends_by_a_signal_from_elsewhere_holds_until_then(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=killed(after_s=0))
    with holding(shell, container, tmp_path) as process:
        process.kill()
    assert stamps(read_journal((tmp_path / "app.journal").read_text())) == [(StampKind.START, 0, None)]


def test_a_life_that_ends_by_its_memory_takes_all_it_can_get_and_stamps_no_exit(
    shell: list[str], tmp_path: Path
) -> None:
    container = Container(program=out_of_memory(after_s=0), memory_limit="32Mi")
    limits = (100 << 20, 100 << 20)
    done = subprocess.run(
        argv(shell, container, tmp_path),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode != 0
    assert "memory" in done.stderr
    assert stamps(read_journal((tmp_path / "app.journal").read_text())) == [(StampKind.START, 0, None)]


def boot_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_a_hook_fails_in_the_lives_that_it_is_to_end(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=hook_fails(times=1), post_start=True)
    codes = []
    for _ in range(2):
        with holding(shell, container, tmp_path) as process:
            hook = hook_command(container, evidence_dir=str(tmp_path), first_process=f"/proc/{process.pid}")
            done = subprocess.run([*shell, *hook[1:]], capture_output=True, text=True, timeout=WITHIN_S, check=False)
            codes.append(done.returncode)
            os.killpg(process.pid, signal.SIGKILL)
    assert codes == [1, 0]
    assert notes(read_journal((tmp_path / "app.journal").read_text())) == [(0, "hook", "ran"), (1, "hook", "ran")]


def test_a_hook_notes_each_of_its_runs_in_the_life_of_the_first_process(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=runs((0, 1)), post_start=True)
    assert live_once(shell, container, tmp_path)[0] == 1
    with holding(shell, container, tmp_path) as process:
        hook = hook_command(container, evidence_dir=str(tmp_path), first_process=f"/proc/{process.pid}")
        for _ in range(2):
            done = subprocess.run([*shell, *hook[1:]], capture_output=True, text=True, timeout=WITHIN_S, check=False)
            assert (done.returncode, done.stderr) == (0, "")
        os.killpg(process.pid, signal.SIGKILL)
        assert process.stdout is not None
        log = process.stdout.read()
    journal = read_journal(log)
    assert notes(journal) == [(1, "hook", "ran"), (1, "hook.again", "ran")]
    assert journal.damage == ()
    assert (tmp_path / "app.journal").read_text() == log


def test_a_life_notes_its_environment(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=runs((0, 1)), env=(Variable(name="A", object="o"), Variable(name="B", object="o")))
    run = argv(shell, container, tmp_path)
    assert subprocess.run(run, env={**os.environ, "A": "one"}, check=False, timeout=WITHIN_S).returncode == 1
    assert notes(read_journal((tmp_path / "app.journal").read_text())) == [(0, "A", "one"), (0, "B", "-")]


def test_all_pods_of_a_job_but_the_first_begin_with_the_last_life(
    shell: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = Container(program=Program((Life(exit_code=42, times=3), Life(exit_code=0)), first_pod_only=True))
    first, other = tmp_path / "first", tmp_path / "other"
    first.mkdir()
    other.mkdir()
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    assert [live_once(shell, container, first)[0] for _ in range(4)] == [42, 42, 42, 0]
    assert notes(read_journal((first / "app.journal").read_text())) == []
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    assert live_once(shell, container, other)[0] == 0
    assert notes(read_journal((other / "app.journal").read_text())) == [(0, "skipped", "3")]


def aims(shell: list[str], evidence: Path, *, aims_at_s: float) -> list[str | None]:
    """What a life notes, and those before it."""
    container = Container(program=Program((Life(run_s=0.05, times=9),), aims_at_s=aims_at_s))
    mark = evidence / "created"
    mark.touch()
    words = [*shell, *command(container, evidence_dir=str(evidence), created_mark=str(mark))[1:]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    return [stamp.value for stamp in read_journal(done.stdout).stamps if stamp.name == "aim"]


def leaves_words(shell: list[str], container: Container, evidence: Path, log: Path) -> tuple[str, Journal]:
    """What a life leaves in its termination log, and the journal."""
    words = [*shell, *command(container, evidence_dir=str(evidence), created_mark=str(log), last_words=True)[1:]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.stderr == ""
    return log.read_text() if log.exists() else "", read_journal(done.stdout)


def test_each_life_that_ends_by_itself_leaves_its_name_and_stamps_that(shell: list[str], tmp_path: Path) -> None:
    log = tmp_path / "termination-log"
    container = Container(name="worker", program=exits_with(1, after_s=0, times=2))
    for number in range(2):
        log.write_text("")
        text, journal = leaves_words(shell, container, tmp_path, log)
        assert text == last_words("worker", number)
        assert journal.damage == ()
        assert [each.told for each in journal.stamps if each.kind is StampKind.EXIT] == [True] * (number + 1)


def test_a_life_without_a_termination_log_exits_as_planned_and_makes_none(shell: list[str], tmp_path: Path) -> None:
    container = Container(program=exits_with(7, after_s=0))
    text, journal = leaves_words(shell, container, tmp_path, tmp_path / "none")
    assert (text, [each.told for each in journal.stamps]) == ("", [False, False])
    assert stamps(journal)[-1] == (StampKind.EXIT, 0, 7)


def test_only_lives_that_exit_by_themselves_are_told_where_to_leave_their_name() -> None:
    def words(program: Program, *, asked: bool) -> list[str]:
        return [each for each in command(Container(program=program), last_words=asked)[3:] if "words=" in each]

    assert words(exits_with(1), asked=True) == ["words=/dev/termination-log"]
    assert words(exits_with(1), asked=False) == []
    assert [words(each, asked=True) for each in (HOLDS, killed())] == [[], []]


def test_a_life_that_began_in_time_makes_the_next_aim_10_ms_later(shell: list[str], tmp_path: Path) -> None:
    found = [aims(shell, tmp_path, aims_at_s=3600.0) for _ in range(3)]
    assert found[-1] == ["50", "60", "70"]


def test_a_life_that_began_late_makes_the_next_aim_10_ms_earlier(shell: list[str], tmp_path: Path) -> None:
    journal = ("start 0 0.01 -", "note 0 0.01 aim 1040", "exit 0 0.09 1")
    (tmp_path / "app.journal").write_text("".join(f"crashloop/1 {line}\n" for line in journal))
    assert aims(shell, tmp_path, aims_at_s=0.0)[-1] == "1030"
