"""The run directory: files of a run, and their formats.

The listing below is public and versioned; `docs/run-directory.md` describes it and `docs/schema/` holds the JSON Schemas.
Evidence is append-only: a run never writes into the directory of another.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import msgspec

from crashloop import __version__
from crashloop.errors import UsageError
from crashloop.spec.plan import PLAN_FORMAT, Plan, RunPlan

RUN_FORMAT = "crashloop.run/1"

T = TypeVar("T")


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """run.json: the user's request, written before anything starts."""

    format: str = RUN_FORMAT
    suite: str
    started: datetime
    crashloop_version: str
    settings: dict[str, Any] = {}
    """Settings as resolved (options, environment, defaults)."""


class RecorderState(msgspec.Struct, frozen=True, kw_only=True):
    """recorder.json: state of the recorder, and how it ended."""

    state: Literal["starting", "recording", "done", "failed", "interrupted"]
    pid: int
    error: str | None = None
    """For failed: the message, as a person should read it."""
    error_kind: Literal["usage", "prerequisite", "cluster", "internal"] | None = None


class _Versioned(msgspec.Struct):
    format: str


class RunDir:
    """Paths of one run, and the few ways to write them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run_json = root / "run.json"
        self.plan_json = root / "plan.json"
        self.cluster_json = root / "cluster.json"
        """ClusterInfo, once the cluster is up."""
        self.environment_json = root / "environment.json"
        """Host facts, binaries and their versions."""
        self.recorder_log = root / "recorder.log"
        self.recorder_json = root / "recorder.json"
        """RecorderState; still `recording` after a run means that the recorder was killed."""
        self.history_dir = root / "history"
        self.logs_dir = root / "logs"
        """<node>/ and control-plane/: logs and configurations, copied before the cluster goes."""
        self.verdicts_dir = root / "verdicts"
        """Verdicts that tests have shown, by scenario; internal, and made again where they are missing."""
        self.results_json = root / "results.json"
        self.report_html = root / "report.html"
        self.junit_xml = root / "junit.xml"
        self.summary_md = root / "summary.md"

    @property
    def name(self) -> str:
        """Also where the run is reached by a link, such as `latest`."""
        return self.root.resolve().name

    def history(self, scenario: str) -> Path:
        """history/<scenario>.jsonl: append-only; complete once its last line is an `end` event."""
        return self.history_dir / f"{scenario}.jsonl"

    def cluster_of(self, scenario: str | None) -> Path:
        """cluster.json, or cluster-<scenario>.json of a scenario that has a control plane for itself."""
        return self.cluster_json if scenario is None else self.root / f"cluster-{scenario}.json"

    def logs_of(self, scenario: str | None) -> Path:
        """logs, or logs/<scenario>, which has the same folders."""
        return self.logs_dir if scenario is None else self.logs_dir / scenario

    def verdicts(self, scenario: str) -> Path:
        """verdicts/<scenario>.json."""
        return self.verdicts_dir / f"{scenario}.json"

    @classmethod
    def create(cls, root: Path, info: RunInfo) -> Self:
        """Make a new run directory. Raises UsageError if it already holds a run."""
        run = cls(root)
        try:
            run.history_dir.mkdir(parents=True)
            with run.run_json.open("xb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(info)))
        except FileExistsError:
            raise UsageError(
                f"run directory {root}: it already holds a run, which is never overwritten.\n"
                "Name another with --run-dir, or leave the option out."
            ) from None
        except OSError as error:
            raise UsageError(f"run directory {root}: cannot be written ({error}).") from error
        return run

    @classmethod
    def begin(cls, root: Path, plan: RunPlan, settings: dict[str, Any], *, now: datetime) -> Self:
        """Make a new run directory with run.json and plan.json. Raises UsageError."""
        run = cls.create(root, RunInfo(suite=plan.suite, started=now, crashloop_version=__version__, settings=settings))
        run.write(run.plan_json, plan)
        return run

    @classmethod
    def open(cls, root: Path) -> Self:
        """Open the directory of an earlier run. Raises UsageError for any other folder, damage, or a newer format."""
        run = cls(root)
        try:
            run._check_regular(run.run_json)
            read_document(run.run_json, RunInfo, RUN_FORMAT)  # first: no other folder is walked through
            for path in list(root.rglob("*.json*")):
                run._check_regular(path)
        except OSError as error:
            raise UsageError(f"run directory {root}: it cannot be read ({error.strerror}).") from error
        return run

    def _check_regular(self, path: Path) -> None:
        """Raises UsageError for what has no end, such as a pipe; and OSError."""
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(f"run directory {self.root}: {path.relative_to(self.root)} is no regular file.")

    def info(self) -> RunInfo:
        return read_document(self.run_json, RunInfo, RUN_FORMAT)

    def plan(self) -> Plan:
        return read_document(self.plan_json, Plan, PLAN_FORMAT)

    def environment(self) -> dict[str, Any]:
        """environment.json; empty if missing or damaged, since no verdict depends on it."""
        try:
            environment = msgspec.json.decode(self.environment_json.read_bytes())
        except (OSError, msgspec.DecodeError):
            return {}
        return environment if isinstance(environment, dict) else {}

    def damage(self) -> Iterator[str]:
        """A sentence for each file that exists, holds no JSON object, and decides no verdict."""
        for path in (self.cluster_json, self.environment_json, self.recorder_json):
            try:
                if not isinstance(msgspec.json.decode(path.read_bytes()), dict):
                    raise msgspec.DecodeError("it is no object")
            except FileNotFoundError:
                continue
            except (OSError, msgspec.DecodeError) as error:
                yield f"run directory {self.root}: {path.name} is damaged ({error}); what it says is not shown."

    def write(self, path: Path, value: Any) -> None:
        """Write a JSON file of the run directory whole or not at all."""
        self.write_text(path, msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")

    def write_text(self, path: Path, text: str) -> None:
        """Write a text file of the run directory, in UTF-8, whole or not at all."""
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        partial.write_bytes(text.encode())
        partial.replace(path)


def folder_named(option: str) -> Path:
    """The folder that --run-dir names. Raises UsageError for an empty name, and for a file."""
    if not option.strip():
        raise UsageError("--run-dir: the value is empty; a folder was expected.\nName one, or leave the option out.")
    path = Path(option)
    if path.exists() and not path.is_dir():
        raise UsageError(f"--run-dir {option}: it is a file; a folder was expected.\nName another.")
    return path


def new_run_path(runs: Path, suite: str, now: datetime) -> Path:
    """`<runs>/<UTC time>-<suite>`, with a number behind it if that is taken."""
    stem = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{suite}"
    path, attempt = runs / stem, 1
    while path.exists():
        attempt += 1
        path = runs / f"{stem}-{attempt}"
    return path


def point_latest_at(path: Path) -> None:
    """Let `latest` beside a run directory point to it."""
    latest = path.parent / "latest"
    partial = path.parent / f".latest.{path.name}"
    partial.symlink_to(path.name)
    partial.replace(latest)


def read_document(path: Path, kind: type[T], supported: str) -> T:
    """A JSON file of a run directory. Raises UsageError if it is missing, damaged or of another format."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"run directory {path.parent}: {path.name} cannot be read ({error.strerror}).\n"
            "Expected the directory of a run, such as runs/latest."
        ) from error
    try:
        written = msgspec.json.decode(raw, type=_Versioned).format
        if written != supported:
            raise UsageError(
                f"run directory {path.parent}: {path.name} has format {written!r}; this version reads {supported!r}.\n"
                "Use the crashloop that wrote it, or a newer one."
            )
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError as error:
        raise UsageError(f"run directory {path.parent}: {path.name} is damaged ({error}).") from error
