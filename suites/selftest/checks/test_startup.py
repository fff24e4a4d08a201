"""The checkers of a kubelet's configuration: refused or accepted at start, and effective on the node."""

from typing import Any

import msgspec
import pytest

from crashloop.checks.configuration import StartupCase, check_start_warning, check_startup, node_objections
from crashloop.checks.finding import Checked
from crashloop.history.event import Kind
from crashloop.model.config import Curve, Refusal, RefusalKind, unknown_flag
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario, StartupScenario
from fixtures.requirements import declared_in
from suites import conformance
from suites.conformance.scenarios import VALID
from suites.selftest.kit.cases import CRASHING, checked, good, question, told
from suites.selftest.kit.histories import History, startup

TRIED = StartupScenario(name="start-max-2s", profile="stock", candidate="max-2s", control="max-300s")
ACCEPTED = Curve(2.0, 2.0)
REFUSED = Refusal(kind=RefusalKind.OUT_OF_RANGE, text="invalid configuration")
MAX_2S = KubeletProfile(
    name="max-2s",
    config={
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
    },
)
CONFIGZ = {"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}


def started(prediction: Curve | Refusal, kind: Kind | None = None, **data: Any) -> Checked:
    """Beside a control start that became healthy."""
    history = startup(TRIED)
    if kind is not None:
        history.process(2.0, kind, **data)
    return judged(history.process(3.0, Kind.PROCESS_HEALTHY, configz={}, control="max-300s"), prediction)


def judged(history: History, prediction: Curve | Refusal = REFUSED) -> Checked:
    return check_startup(
        StartupCase(scenario=TRIED, prediction=prediction, recording=history.ends(30, heartbeat=False).recording())
    )


def test_accepts_a_refusal_that_is_due() -> None:
    answer = started(REFUSED, Kind.PROCESS_EXITED, exit_code=1, stderr="no")
    assert told(answer) == []
    assert answer.facts == {"exit_code": 1, "stderr": "no", "maxContainerRestartPeriod": None}


def test_a_kubelet_that_takes_an_unknown_flag_is_a_fail() -> None:
    answer = started(unknown_flag("--no-such-flag=2s"), Kind.PROCESS_HEALTHY, configz=CONFIGZ)
    assert told(answer) == [
        "FAIL: the kubelet became healthy (history line 5); it was to refuse its configuration: "
        "failed to parse kubelet flag: unknown flag: --no-such-flag."
    ]


def test_accepts_a_start_with_the_maximum_due() -> None:
    assert told(started(ACCEPTED, Kind.PROCESS_HEALTHY, configz=CONFIGZ)) == []
    assert told(started(ACCEPTED, Kind.PROCESS_HEALTHY, configz={"kubeletconfig": CONFIGZ})) == []


@pytest.mark.parametrize(
    ("prediction", "kind", "data", "finding"),
    [
        pytest.param(
            REFUSED,
            Kind.PROCESS_HEALTHY,
            {"configz": CONFIGZ},
            "FAIL: the kubelet became healthy (history line 5); it was to refuse its configuration: "
            "invalid configuration.",
            id="accepts-what-it-must-refuse",
        ),
        pytest.param(
            REFUSED,
            Kind.PROCESS_EXITED,
            {"exit_code": 0},
            "FAIL: the kubelet exited with 0 (history line 5); it was to refuse its configuration: "
            "invalid configuration, with a status other than 0.",
            id="refuses-with-status-0",
        ),
        pytest.param(
            REFUSED,
            Kind.PROCESS_EXITED,
            {"exit_code": -9},
            "INCONCLUSIVE: signal 9 ended the kubelet (history line 5); it was to refuse its configuration: "
            "invalid configuration.",
            id="somebody-killed-it",
        ),
        pytest.param(
            REFUSED,
            Kind.PROCESS_EXITED,
            {},
            "INCONCLUSIVE: the kubelet's exit status is unknown (history line 5); it was to refuse its configuration: "
            "invalid configuration.",
            id="unknown-status",
        ),
        pytest.param(
            REFUSED,
            None,
            {},
            "INCONCLUSIVE: the kubelet neither exited nor became healthy within 30 s; it was to refuse its "
            "configuration: invalid configuration.",
            id="neither-though-due-to-refuse",
        ),
        pytest.param(
            ACCEPTED,
            Kind.PROCESS_EXITED,
            {"exit_code": 1, "stderr": "first\nlast words\n"},
            "FAIL: the kubelet exited with 1 (history line 5); it was to accept its configuration. It said: last words",
            id="refuses-what-it-must-accept",
        ),
        pytest.param(
            ACCEPTED,
            Kind.PROCESS_EXITED,
            {"exit_code": -15},
            "INCONCLUSIVE: the kubelet exited with -15 (history line 5); it was to accept its configuration.",
            id="killed-though-due-to-accept",
        ),
        pytest.param(
            ACCEPTED,
            None,
            {},
            "INCONCLUSIVE: the kubelet neither exited nor became healthy within 30 s; it was to accept its "
            "configuration.",
            id="neither-though-due-to-accept",
        ),
        pytest.param(
            ACCEPTED,
            Kind.PROCESS_HEALTHY,
            {"configz": {"crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"}}},
            "FAIL: the kubelet says it runs with maxContainerRestartPeriod 5m0s (history line 5); 2 s was due.",
            id="another-maximum",
        ),
        pytest.param(
            ACCEPTED,
            Kind.PROCESS_HEALTHY,
            {},
            "INCONCLUSIVE: the kubelet's effective configuration is unknown (history line 5).",
            id="no-configz",
        ),
    ],
)
def test_every_other_end_is_reported(
    prediction: Curve | Refusal, kind: Kind | None, data: dict[str, Any], finding: str
) -> None:
    assert told(started(prediction, kind, **data)) == [finding]


def test_a_refusal_of_an_earlier_run_is_judged_without_a_control_start() -> None:
    tried = msgspec.structs.replace(TRIED, control=None)
    history = startup(tried).process(2.0, Kind.PROCESS_EXITED, exit_code=1, stderr="no").ends(30, heartbeat=False)
    assert told(check_startup(StartupCase(scenario=tried, prediction=REFUSED, recording=history.recording()))) == []


def test_every_candidate_of_the_suite_but_the_control_itself_has_a_control_start() -> None:
    starts = [each.scenario for each in declared_in(conformance) if isinstance(each.scenario, StartupScenario)]
    assert {each.candidate for each in starts if each.control is None} == {VALID}


def refused() -> History:
    return startup(TRIED).process(2.0, Kind.PROCESS_EXITED, exit_code=1, stderr="no")


def test_a_refusal_without_a_control_start_proves_nothing() -> None:
    assert told(judged(refused())) == [
        "INCONCLUSIVE: the kubelet exited with 1 (history line 5), which proves no refusal: no control start with profile "
        "max-300s became healthy in the same node."
    ]


def test_a_refusal_proves_nothing_where_the_control_start_is_refused_too() -> None:
    history = refused().process(3.0, Kind.PROCESS_EXITED, exit_code=1, stderr="a\nno room left", control="max-300s")
    assert told(judged(history)) == [
        "INCONCLUSIVE: the kubelet exited with 1 (history line 5), which proves no refusal: the control start with profile "
        "max-300s exited with 1 as well (history line 6). It said: no room left"
    ]


def test_a_control_start_alone_says_nothing_about_the_candidate() -> None:
    history = startup(TRIED).process(3.0, Kind.PROCESS_EXITED, exit_code=1, stderr="no", control="max-300s")
    assert told(judged(history)) == [
        "INCONCLUSIVE: the kubelet neither exited nor became healthy within 30 s; it was to refuse its configuration: "
        "invalid configuration."
    ]


def test_a_panic_where_a_start_is_due_is_reported_with_its_text() -> None:
    (finding,) = told(
        started(ACCEPTED, Kind.PROCESS_EXITED, exit_code=2, stderr=f"{NIL}\n\ngoroutine 1 [running]:\nmain.main()")
    )
    assert finding == (
        f"FAIL: the kubelet exited with 2 (history line 5); it was to accept its configuration. It said: {NIL}"
    )


def test_a_process_that_was_never_started_proves_nothing() -> None:
    recording = History(TRIED).ends(30, heartbeat=False).recording()
    answer = check_startup(StartupCase(scenario=TRIED, prediction=REFUSED, recording=recording))
    assert told(answer) == ["INCONCLUSIVE: the kubelet was not seen to start, so nothing was tried."]


def test_accepts_the_effective_maximum_of_the_profile() -> None:
    assert told(checked("effective-config", good())) == []


def test_another_effective_maximum_is_a_fail() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, maximum="5m0s").ends(30)
    line = history.line_of(Kind.NODE)
    assert told(checked("effective-config", history)) == [
        f"FAIL: the kubelet says it runs with maxContainerRestartPeriod 5m0s (history line {line}); "
        "2s is configured, so 2 s was due."
    ]


def objections(history: History) -> list[str]:
    assert isinstance(history.scenario, PodScenario)
    found = node_objections(history.scenario, question(history, profile=history.profile))
    return [f"{each.outcome}: {each.sentence}" for each in found]


def test_a_node_with_its_profile_is_evidence() -> None:
    assert objections(good()) == []


def test_a_node_with_another_configuration_is_an_error_of_ours() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, matches=False).ends(30)
    line = history.line_of(Kind.NODE)
    assert objections(history) == [
        f"ERROR: the node did not run with the profile's configuration (history line {line})."
    ]


def test_a_configuration_that_could_not_be_read_is_inconclusive() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, matches=None, maximum=None).ends(30)
    line = history.line_of(Kind.NODE)
    assert objections(history) == [
        f"INCONCLUSIVE: the node's effective configuration was not readable (history line {line})."
    ]
    assert objections(History(CRASHING).without(Kind.NODE).ends(30)) == [
        "INCONCLUSIVE: the node's effective configuration was not recorded, so it is open what was tested."
    ]


def test_a_configuration_that_is_silent_about_a_gate_is_read_with_the_default_of_the_release() -> None:
    silent = History(CRASHING, profile=MAX_2S).without(Kind.NODE).node(-0.9, matches=None, maximum="2s").ends(30)
    assert objections(silent) == []
    other = History(CRASHING, profile=MAX_2S).without(Kind.NODE).node(-0.9, matches=None, maximum="3s").ends(30)
    line = other.line_of(Kind.NODE)
    assert objections(other) == [f"ERROR: the node did not run with the profile's configuration (history line {line})."]


def test_a_profile_that_a_node_is_declared_to_have_needs_no_reading() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, matches=None, maximum=None, declared=True).ends(30)
    assert objections(history) == []


def test_a_node_that_was_not_ready_meanwhile_is_inconclusive() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, ready_since="2026-11-21T10:00:00Z").ends(30)
    history.node(20, ready_since="2026-11-21T10:30:00Z")
    first, second = history.line_of(Kind.NODE, 0), history.line_of(Kind.NODE, 1)
    assert objections(history) == [
        f"INCONCLUSIVE: the node was not Ready for a while (history lines {first} and {second}); "
        "if its kubelet was restarted, its counters were lost."
    ]


def test_a_node_that_has_booted_meanwhile_is_inconclusive() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, boot_id="first").node(20, boot_id="second").ends(30)
    first, second = history.line_of(Kind.NODE, 0), history.line_of(Kind.NODE, 1)
    assert objections(history) == [
        f"INCONCLUSIVE: the kubelet was restarted meanwhile (history lines {first} and {second}), "
        "and with that its counters were lost."
    ]


def test_a_node_of_which_a_restart_could_not_be_seen_is_inconclusive() -> None:
    history = History(CRASHING).without(Kind.NODE).node(-0.9, boot_id="first")
    history.node(20, boot_id="first", unread="list the starts of a kubelet: 403.").ends(30)
    line = history.line_of(Kind.NODE, 1)
    assert objections(history) == [
        f"INCONCLUSIVE: whether the kubelet was restarted meanwhile could not be seen (history line {line}): "
        "list the starts of a kubelet: 403."
    ]
    blind = History(CRASHING).without(Kind.NODE).node(-0.9, unread="403.").node(20, boot_id="first").ends(30)
    assert objections(blind) == [
        "INCONCLUSIVE: whether the kubelet was restarted meanwhile could not be seen "
        f"(history line {blind.line_of(Kind.NODE, 0)}): 403."
    ]


def test_a_kubelet_restarted_behind_our_back_is_inconclusive() -> None:
    history = History(CRASHING).node(10, started_s=9.0).ends(30)
    first, second = history.line_of(Kind.NODE, 0), history.line_of(Kind.NODE, 1)
    assert objections(history) == [
        f"INCONCLUSIVE: the kubelet was restarted meanwhile (history lines {first} and {second}), "
        "and with that its counters were lost."
    ]


def test_a_kubelet_restart_that_the_scenario_asks_for_is_no_objection() -> None:
    asked = PodScenario(
        name="asked",
        profile="max-2s",
        pod=CRASHING.pod,
        until=CRASHING.until,
        interventions=(Intervention(trigger=Trigger(after_s=9), action=InterventionKind.RESTART_KUBELET),),
    )
    assert objections(History(asked).node(10, started_s=9.0).ends(30)) == []


NIL = "panic: runtime error: invalid memory address or nil pointer dereference"


@pytest.mark.parametrize(
    ("stderr", "shown"),
    [
        (f"I1122 starting\n{NIL}\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\nmain.main()", NIL),
        ("fatal error: concurrent map writes", "fatal error: concurrent map writes"),
        ("main.run(0xc000)\n\t/go/kubelet/main.go:42 +0x1d", "/go/kubelet/main.go:42 +0x1d"),
    ],
    ids=["nil-pointer", "fatal", "only-the-end-of-the-trace"],
)
def test_a_crash_is_no_refusal(stderr: str, shown: str) -> None:
    (finding,) = told(started(REFUSED, Kind.PROCESS_EXITED, exit_code=2, stderr=stderr))
    assert finding.startswith("FAIL: the kubelet crashed (history line ")
    assert f": {shown}; it was to refuse its configuration: invalid configuration." in finding


DEPENDENCY = "RestartAllContainersOnContainerExits is enabled, but depends on features that are disabled: [ContainerRestartRules]"
GATES = Refusal(kind=RefusalKind.GATE_DEPENDENCY, text=DEPENDENCY)
GATE_OFF = Refusal(kind=RefusalKind.GATE_OFF, text="must not be set")


def test_a_panic_is_how_kubelets_refuse_gates() -> None:
    trace = f"panic: failed to merge: {DEPENDENCY}\ngoroutine 1 [running]:"
    assert told(started(GATES, Kind.PROCESS_EXITED, exit_code=2, stderr=trace)) == []


@pytest.mark.parametrize(
    ("refusal", "code", "stderr", "missing"),
    [
        (GATES, 2, f"{NIL}\ngoroutine 1 [running]:", "depends on features that are disabled"),
        (GATE_OFF, 1, "unable to load client CA file", "KubeletCrashLoopBackOffMax"),
    ],
    ids=["another-panic", "another-error"],
)
def test_another_end_than_the_one_that_is_known_is_a_fail(
    refusal: Refusal, code: int, stderr: str, missing: str
) -> None:
    (finding,) = told(started(refusal, Kind.PROCESS_EXITED, exit_code=code, stderr=stderr))
    assert finding.startswith(
        f"FAIL: the kubelet exited with {code} (history line 5) and does not say {missing!r}; it was"
    )


@pytest.mark.parametrize(
    ("refusal", "stderr"),
    [(GATES, "goroutine 1 [running]:\nmain.main()"), (GATE_OFF, "")],
    ids=["only-the-end-of-the-trace", "nothing"],
)
def test_an_end_whose_words_were_not_kept_decides_nothing(refusal: Refusal, stderr: str) -> None:
    (finding,) = told(started(refusal, Kind.PROCESS_EXITED, exit_code=2, stderr=stderr))
    assert finding.startswith("INCONCLUSIVE: the kubelet exited with 2")


@pytest.mark.parametrize(
    ("stderr", "findings"),
    [
        ("W1126 12:00:00.000000 crashLoopBackOff.maxContainerRestartPeriod is ignored", []),
        ('{"level":"warn","msg":"maxContainerRestartPeriod is ignored"}', []),
        (
            "I1126 12:00:00.000000 crashLoopBackOff: 2s",
            [
                "FAIL: the kubelet became healthy (history line 5) and warned of no maximum that it ignores; it was to warn.",
            ],
        ),
    ],
    ids=["klog", "json", "no-warning"],
)
def test_a_kubelet_that_ignores_a_maximum_has_to_warn_of_it(stderr: str, findings: list[str]) -> None:
    history = startup(TRIED).process(2.0, Kind.PROCESS_HEALTHY, configz={}, stderr=stderr).ends(30, heartbeat=False)
    case = StartupCase(scenario=TRIED, prediction=REFUSED, recording=history.recording())
    assert told(check_start_warning(case)) == findings
