"""The output of a kubelet that ended, as far as it is kept."""

from pathlib import Path

from crashloop.cluster.kubelet_trials import LAST_LINES, last_words

PANIC = "panic: runtime error: invalid memory address or nil pointer dereference"
TRACE = [f"goroutine {number} [running]:" for number in range(100)]


def written(folder: Path, *lines: str) -> Path:
    log = folder / "kubelet.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return log


def test_the_last_lines_hold_a_refusal(tmp_path: Path) -> None:
    log = written(tmp_path, *(f"I1122 line {number}" for number in range(100)), "invalid configuration")
    kept = last_words(log).splitlines()
    assert (len(kept), kept[-1]) == (LAST_LINES, "invalid configuration")


def test_the_message_of_a_panic_is_kept_however_long_its_trace(tmp_path: Path) -> None:
    kept = last_words(written(tmp_path, "I1122 starting", PANIC, *TRACE)).splitlines()
    assert kept == [PANIC, "...", *TRACE[-LAST_LINES:]]


def test_a_panic_among_the_last_lines_is_reported_once(tmp_path: Path) -> None:
    assert last_words(written(tmp_path, PANIC, "main.main()")).splitlines() == [PANIC, "main.main()"]


def test_a_log_that_is_missing_is_named(tmp_path: Path) -> None:
    assert last_words(tmp_path / "kubelet.log") == "(no kubelet.log: No such file or directory)"
