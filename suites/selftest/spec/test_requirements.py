"""The catalogue holds every requirement once, says what it means, and points at the mistake when it does not."""

from pathlib import Path

import msgspec
import pytest

from crashloop.checks.checker import Holds
from crashloop.checks.kinds import CHECKERS
from crashloop.model.gates import GATES
from crashloop.requirements import CatalogueError, load_requirements, load_topics
from crashloop.spec.requirement import Basis, Requirement, State, applies
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import VerdictMode

IDS = Path(__file__).with_name("requirement_ids.txt").read_text(encoding="utf-8").split()
CATALOGUE = load_requirements()

ROW = {
    "id": "CAP-3",
    "sentence": "A maximum MUST lower the delay.",
    "source": 'KEP-5593 "Conflict resolution"',
    "basis": "promise",
    "scope": "quick",
    "checkers": ["cap"],
    "evidence": "five delays",
}


def catalogue(folder: Path, *rows: object, name: str = "cap.yaml", topic: str = "CAP") -> Path:
    """A folder with one topic file; JSON is YAML."""
    content = {"topic": topic, "title": "The maximum", "order": 1, "requirements": rows}
    (folder / name).write_bytes(msgspec.json.encode(content))
    return folder


def test_no_requirement_is_lost() -> None:
    assert sorted(CATALOGUE) == sorted(IDS)
    assert len(IDS) == len(set(IDS))


def test_the_catalogue_is_in_reading_order() -> None:
    assert [(topic.order, topic.topic) for topic in load_topics()] == list(
        enumerate(dict.fromkeys(CATALOGUE[identifier].topic for identifier in IDS), start=1)
    )
    assert list(CATALOGUE) == IDS


def test_no_two_requirements_promise_the_same() -> None:
    sentences = [requirement.sentence for requirement in CATALOGUE.values()]
    assert sorted(sentences) == sorted(set(sentences))


def test_gates_are_spelt_as_a_release_spells_them() -> None:
    assert {gate for requirement in CATALOGUE.values() for gate in requirement.gates} <= set(GATES)


def test_checkers_are_named_as_the_registry_names_them() -> None:
    assert {checker for requirement in CATALOGUE.values() for checker in requirement.checkers} <= CHECKERS.keys()


def test_what_holds_for_every_pod_is_judged_by_checkers_of_pods() -> None:
    named = {checker for requirement in CATALOGUE.values() for checker in requirement.everywhere}
    assert named
    assert {name for name in named if CHECKERS[name].holds < Holds.EVERY_POD} == set()


def test_a_requirement_that_is_not_judged_says_why() -> None:
    assert [each.id for each in CATALOGUE.values() if bool(each.reason) == (each.state is State.JUDGED)] == []


def test_only_what_no_text_names_rests_on_the_source() -> None:
    sourced = [each.id for each in CATALOGUE.values() if each.basis is Basis.SOURCE and each.state is State.JUDGED]
    assert sourced == [
        "BACKOFF-3",
        "BACKOFF-11",
        "BACKOFF-14",
        "BACKOFF-15",
        "BACKOFF-19",
        "BACKOFF-20",
        "BACKOFF-26",
        "BACKOFF-27",
        "BACKOFF-28",
        "BACKOFF-29",
        "BACKOFF-30",
        "RESET-8",
        "RESET-10",
        "RESET-11",
        "RESET-12",
        "RESET-13",
        "RESET-14",
        "RULES-33",
        "RULES-38",
        "RULES-40",
        "RULES-42",
        "RULES-43",
        "VAL-14",
        "JOB-9",
        "JOB-10",
        "OVH-18",
        "OVH-22",
        "PROBE-1",
        "PROBE-2",
        "PROBE-3",
        "PROBE-4",
        "PROBE-5",
        "PROBE-6",
        "PROBE-7",
        "PROBE-8",
        "PROBE-9",
        "PROBE-10",
        "PROBE-11",
        "PROBE-12",
        "PROBE-13",
        "PROBE-14",
        "PROBE-15",
        "PROBE-16",
        "PROBE-17",
        "PROBE-18",
        "PROBE-19",
        "PROBE-20",
        "PROBE-21",
        "PROBE-22",
        "PROBE-24",
        "PROBE-26",
        "PROBE-27",
        "PROBE-28",
        "PROBE-29",
        "PROBE-30",
        "PROBE-31",
        "PROBE-32",
        "PROBE-34",
        "PROBE-37",
        "PROBE-38",
        "PROBE-40",
        "X-6",
        "X-10",
        "X-13",
        "RAC-9",
        "RAC-13",
        "RAC-17",
        "RAC-18",
        "RAC-19",
        "RAC-22",
    ]


@pytest.mark.parametrize(
    ("row", "mode"),
    [
        pytest.param({}, VerdictMode.GATE, id="must"),
        pytest.param({"level": "SHOULD", "sentence": "It SHOULD."}, VerdictMode.REPORT, id="should"),
        pytest.param({"observation": True}, VerdictMode.REPORT, id="observation"),
    ],
)
def test_only_a_must_that_is_no_observation_gates(row: dict[str, object], mode: VerdictMode) -> None:
    assert msgspec.convert(ROW | row, Requirement).mode is mode


def test_what_upstream_may_change_at_will_is_an_observation() -> None:
    words = ["BACKOFF-5", "BACKOFF-6", "BACKOFF-14"]
    promised_by_nobody = ["RESET-12", "RESET-13", "X-10", "X-13"]
    assert [each.id for each in CATALOGUE.values() if each.observation] == [*words, *promised_by_nobody]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"id": "cap-3"}, "id 'cap-3': expected capital letters, a dash and a number", id="lower-case-id"),
        pytest.param({"basis": "hearsay"}, "Invalid enum value 'hearsay' - at `$.basis`", id="unknown-basis"),
        pytest.param(
            {"source": 'Back-off algorithm article "Step 2"; pkg/kubelet/kubelet.go@v1.37.1'},
            "basis promise: expected a KEP or a page of the documentation among its sources",
            id="promise-of-nobody",
        ),
        pytest.param({"sentense": "x"}, "Object contains unknown field `sentense`", id="unknown-field"),
        pytest.param(
            {"sentence": "A maximum lowers the delay."},
            "sentence: expected MUST exactly once and no other such word",
            id="no-must",
        ),
        pytest.param(
            {"sentence": "It MUST, or SHOULD, lower the delay."},
            "sentence: expected MUST exactly once and no other such word",
            id="two-promises",
        ),
        pytest.param(
            {"level": "SHOULD"}, "sentence: expected SHOULD exactly once and no other such word", id="level-differs"
        ),
        pytest.param(
            {"sentence": "A maximum MUST lower the delay"}, "sentence: expected a full stop at the end", id="no-stop"
        ),
        pytest.param({"source": ""}, "source and evidence cannot be empty", id="no-source"),
        pytest.param(
            {"state": "planned"},
            "state planned: a reason is given if and only if the state is not judged",
            id="planned-without-reason",
        ),
        pytest.param(
            {"reason": "No scenario yet."},
            "state judged: a reason is given if and only if the state is not judged",
            id="judged-with-reason",
        ),
        pytest.param(
            {"checkers": []}, "state judged: expected at least one checker, or an SLO", id="judged-without-checker"
        ),
        pytest.param(
            {"slos": ["healthy-neighbor-startup"]},
            "slos 'healthy-neighbor-startup': no row of manifests/slo and no check of a stress run has that id",
            id="unknown-slo",
        ),
        pytest.param(
            {"slos": ["healthy-neighbour-startup"]},
            "slos 'healthy-neighbour-startup': that row judges LOAD-11, not CAP-3",
            id="slo-of-another",
        ),
        pytest.param(
            {"slos": ["container-create"]},
            "slos 'container-create': that row judges no requirement, not CAP-3",
            id="slo-of-none",
        ),
        pytest.param(
            {"needs": ["telepathy"]},
            "needs telepathy: expected capabilities of crashloop.cluster.provider",
            id="unknown-capability",
        ),
        pytest.param(
            {"since": "1.35.4"},
            "release '1.35.4': expected major and minor, quoted, such as '1.37'",
            id="patch-release",
        ),
        pytest.param({"since": "1.36", "until": "1.35"}, "until 1.35 is before since 1.36", id="until-before-since"),
    ],
)
def test_a_wrong_row_is_named_with_its_file(tmp_path: Path, change: dict[str, object], message: str) -> None:
    row = ROW | change
    with pytest.raises(CatalogueError) as caught:
        load_topics(catalogue(tmp_path, row))
    assert str(caught.value) == f"cap.yaml: {row['id']}: {message}."


def test_a_row_without_an_id_is_named_by_its_position(tmp_path: Path) -> None:
    row = {key: value for key, value in ROW.items() if key != "id"}
    with pytest.raises(CatalogueError, match=r"cap\.yaml: row 2: Object missing required field `id`\."):
        load_topics(catalogue(tmp_path, ROW, row))


def test_a_row_stands_in_the_file_of_its_topic(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"reset\.yaml: CAP-3: expected an id of the topic RESET\."):
        load_topics(catalogue(tmp_path, ROW, name="reset.yaml", topic="RESET"))


def test_an_id_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="CAP-3 is defined more than once"):
        load_topics(catalogue(tmp_path, ROW, ROW))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "cap.yaml: it is neither JSON nor YAML: ", id="not-yaml"),
        pytest.param("[]", "cap.yaml: expected topic, title, order and a list of requirements.", id="no-mapping"),
        pytest.param(
            "{topic: CAP, requirements: []}", "cap.yaml: Object missing required field `title`.", id="no-title"
        ),
    ],
)
def test_a_file_that_is_no_topic_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "cap.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError) as caught:
        load_topics(tmp_path)
    assert str(caught.value).startswith(message)


def test_an_empty_folder_is_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="no topic files"):
        load_topics(tmp_path)


GATED = msgspec.convert(ROW | {"since": "1.35", "until": "1.36", "gates": ["KubeletCrashLoopBackOffMax"]}, Requirement)


@pytest.mark.parametrize(
    ("version", "gates", "reason"),
    [
        pytest.param("1.35.4", {"KubeletCrashLoopBackOffMax": True}, None, id="holds"),
        pytest.param("1.36.3", {"KubeletCrashLoopBackOffMax": True}, None, id="holds-in-the-last-release"),
        pytest.param("1.34.8", {}, "needs Kubernetes 1.35 or newer; this kubelet is v1.34.8.", id="too-old"),
        pytest.param("1.37.1", {}, "holds up to Kubernetes 1.36; this kubelet is v1.37.1.", id="too-new"),
        pytest.param(
            "1.36.3",
            {},
            "needs gate KubeletCrashLoopBackOffMax; kubelet v1.36.3 does not have it.",
            id="gate-absent",
        ),
        pytest.param(
            "1.36.3",
            {"KubeletCrashLoopBackOffMax": False},
            "needs gate KubeletCrashLoopBackOffMax; it is off on this node (kubelet v1.36.3).",
            id="gate-off",
        ),
    ],
)
def test_a_skip_names_what_is_missing(version: str, gates: dict[str, bool], reason: str | None) -> None:
    assert applies(GATED, KubernetesVersion.parse(version), gates) == reason


@pytest.mark.parametrize(
    ("release", "least"), [("1.33.2", 3), ("1.34.9", 5), ("1.35.0", 9)], ids=["oldest", "until", "newer"]
)
def test_the_least_evidence_depends_on_the_release(release: str, least: int) -> None:
    row = msgspec.convert(
        ROW
        | {
            "parameters": {"min_delays": 9, "max_delays": 12},
            "parameters_until": {"1.34": {"min_delays": 5}, "1.33": {"min_delays": 3}},
        },
        Requirement,
    )
    assert row.parameters_for(KubernetesVersion.parse(release)) == {"min_delays": least, "max_delays": 12}
