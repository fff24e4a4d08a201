"""A run as it could have come out, written by hand: delays in the range that kubelets show, every outcome, known deviations.

The accusations are invented. `python -m suites.selftest.kit.report_example DIR` writes its views into a folder.
"""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from crashloop.report.results import Results, build_results
from crashloop.run.analysis import publish
from crashloop.rundir import RunDir, RunInfo
from crashloop.spec.assignment import assign
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Budgets, Judgement, Plan
from crashloop.spec.pod import Container, ContainerKind, Pod, RestartPolicy, restart_in
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.requirement import Deviation
from crashloop.spec.scenario import Mode, PodScenario, Scenario, StartupScenario, Until
from crashloop.verdict import Evidence, Outcome, Verdict
from suites.selftest.kit import report_example_delays as seen
from suites.selftest.kit.report_example_catalogue import REQUIREMENTS

STARTED = datetime(2026, 11, 21, 16, 0, 12, tzinfo=UTC)
INFO = RunInfo(suite="conformance", started=STARTED, crashloop_version="0.1.0", settings={"provider": "local"})


def _max(name: str, value: object, description: str) -> KubeletProfile:
    return KubeletProfile(
        name=name, config={"crashLoopBackOff": {"maxContainerRestartPeriod": value}}, description=description
    )


PROFILES = (
    KubeletProfile(name="stock", description="A kubelet as it comes: nothing about restarts is set."),
    _max("max-1s", "1s", "The fastest curve that a kubelet accepts."),
    _max("max-2s", "2s", "A low maximum, which lowers the initial delay too."),
    _max("max-10s", "10s", "Initial and maximum delay are equal: a flat curve."),
    _max("max-11s", "11s", "One second above the initial delay, to tell which of the two was changed."),
    _max("max-20s", "20s", "The curve doubles once and stays there."),
    KubeletProfile(
        name="reduced-decay",
        config={"featureGates": {"ReduceDefaultCrashLoopBackOffDecay": True}},
        description="KEP-4603: the curve starts at 1 s.",
    ),
    KubeletProfile(
        name="skew-1-34-max-2s",
        config={
            "featureGates": {"KubeletCrashLoopBackOffMax": True},
            "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
        },
        description="A kubelet three releases older than the control plane; the gate is alpha and off by default there.",
        kubernetes_version="1.34.4",
    ),
    _max("max-500ms", "500ms", "Below the range that a kubelet accepts."),
    _max("max-number", 4, "A number where a duration is expected."),
)

EFFECTIVE_CURVES = {
    "stock": "0, 10, 20, 40, 80, 160, 300, 300 … s",
    "max-1s": "0, 1, 1 … s",
    "max-2s": "0, 2, 2 … s",
    "max-10s": "0, 10, 10 … s",
    "max-11s": "0, 10, 11, 11 … s",
    "max-20s": "0, 10, 20, 20 … s",
    "reduced-decay": "0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 … s",
    "skew-1-34-max-2s": "0, 2, 2 … s",
}


def _pod(*containers: Container, policy: RestartPolicy = RestartPolicy.ALWAYS) -> Pod:
    return Pod(containers=containers, restart_policy=policy)


def _scenario(name: str, profile: str, pod: Pod | None = None, **options: Any) -> PodScenario:
    crashing = _pod(Container(program=exits_with(1, times=5)))
    return PodScenario(name=name, profile=profile, pod=pod or crashing, until=Until(restarts={"app": 4}), **options)


RULE_42 = Container(program=exits_with(42, times=5), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42),))
SIDECAR = Container(
    name="proxy", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS, program=exits_with(137, times=6)
)
INIT = Container(name="setup", kind=ContainerKind.INIT, program=runs((1, 42), (1, 42), (1, 0)))

SCENARIOS: tuple[Scenario, ...] = (
    _scenario("crash-natural-stock", "stock"),
    _scenario("crash-annotated-stock", "stock", mode=Mode.ANNOTATED),
    _scenario("exit-zero-stock", "stock", _pod(Container(program=exits_with(0, times=4)))),
    _scenario("on-failure-stock", "stock", _pod(Container(program=runs((1, 1), (1, 1), (1, 0))))),
    _scenario("never-stock", "stock", _pod(Container(program=exits_with(1)), policy=RestartPolicy.NEVER)),
    _scenario(
        "two-containers-stock",
        "stock",
        _pod(Container(program=exits_with(1, times=4)), Container(name="slow", program=exits_with(1, after_s=30))),
    ),
    _scenario("liveness-stock", "stock"),
    _scenario("crash-natural-max-1s", "max-1s"),
    _scenario("sidecar-oom-max-1s", "max-1s", _pod(SIDECAR, Container(program=HOLDS))),
    _scenario("crash-natural-max-2s", "max-2s"),
    _scenario("rule-in-42-max-2s", "max-2s", _pod(RULE_42, policy=RestartPolicy.NEVER)),
    _scenario("rule-not-matched-max-2s", "max-2s", _pod(RULE_42, policy=RestartPolicy.NEVER)),
    _scenario("rule-order-max-2s", "max-2s", _pod(RULE_42, policy=RestartPolicy.NEVER)),
    _scenario("init-retries-max-2s", "max-2s", _pod(INIT, Container(program=HOLDS))),
    _scenario(
        "kubelet-restart-max-2s",
        "max-2s",
        interventions=(
            Intervention(trigger=Trigger(after_s=20), action=InterventionKind.RESTART_KUBELET, arguments={}),
        ),
    ),
    _scenario("runtime-restart-max-2s", "max-2s"),
    _scenario("crash-annotated-max-10s", "max-10s", mode=Mode.ANNOTATED),
    _scenario("crash-annotated-max-11s", "max-11s", mode=Mode.ANNOTATED),
    _scenario("crash-natural-max-20s", "max-20s"),
    _scenario("run-590s-max-20s", "max-20s", mode=Mode.ANNOTATED),
    _scenario("crash-natural-reduced-decay", "reduced-decay"),
    _scenario("crash-natural-skew", "skew-1-34-max-2s"),
    _scenario("crash-annotated-skew", "skew-1-34-max-2s", mode=Mode.ANNOTATED),
    StartupScenario(name="start-max-500ms", profile="stock", candidate="max-500ms"),
    StartupScenario(name="start-max-number", profile="stock", candidate="max-number"),
    StartupScenario(name="start-max-1s", profile="stock", candidate="max-1s"),
    StartupScenario(name="start-gate-off", profile="stock", candidate="max-2s"),
)


DEVIATIONS = (
    Deviation(
        id="liveness-two-free-restarts",
        requirement="BACKOFF-1",
        variant="example",
        since="1.33",
        sentence="The kubelet judges a liveness kill by the exit before it, so two restarts are free and not one.",
        evidence="",
        link="https://github.com/kubernetes/kubernetes/issues/99697",
    ),
    Deviation(
        id="counter-collected-while-waiting",
        requirement="RESET-1",
        variant="example",
        since="1.33",
        sentence="The backoff entry is collected ten minutes after the last start attempt even while the container "
        "waits, so a run of 590 s at a delay of 20 s starts the curve over.",
        evidence="Ran 590 s with 40 s due: the next delay was 10 s; pkg/kubelet/kubelet_pods.go@v1.37.1.",
    ),
    Deviation(
        id="gate-off-refuses-field",
        requirement="CAP-1",
        variant="example",
        since="1.33",
        sentence="With KubeletCrashLoopBackOffMax off, a kubelet whose configuration sets the maximum refuses to start.",
        evidence="",
        link="https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/5593-configure-the-max-crashloopbackoff-delay",
    ),
    Deviation(
        id="not-met-in-this-run",
        requirement="CAP-1",
        variant="example",
        since="1.33",
        sentence="Stands in the file and explains nothing here.",
        evidence="",
    ),
)

REFUSED = (
    'E1121 16:01:07.220417   41207 run.go:72] "command failed" err="failed to validate kubelet configuration, error: '
    "invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: 0.5 seconds) must be set between 1s and "
    '300s, path: /etc/kubernetes/kubelet.yaml"'
)


def _verdict(requirement: str, scenario: str, outcome: Outcome = Outcome.PASS, *findings: str, **more: Any) -> Verdict:
    profile = next(each.subject for each in SCENARIOS if each.name == scenario)
    return Verdict(
        requirement=requirement,
        scenario=scenario,
        profile=profile,
        outcome=outcome,
        mode=REQUIREMENTS[requirement].mode,
        findings=findings,
        **more,
    )


def _delayed(requirements: str, scenario: str, rows: list[dict[str, Any]]) -> list[Verdict]:
    evidence = (Evidence(file=f"history/{scenario}.jsonl", lines=tuple(range(9, 9 + 3 * len(rows), 3))),)
    return [_verdict(each, scenario, facts={"delays": rows}, evidence=evidence) for each in requirements.split()]


VERDICTS = (
    *_delayed("BACKOFF-1 BACKOFF-3 BACKOFF-4", "crash-natural-stock", seen.STOCK_NATURAL),
    *_delayed("BACKOFF-1 BACKOFF-4", "crash-annotated-stock", seen.STOCK_ANNOTATED),
    *_delayed("BACKOFF-7 BACKOFF-4", "exit-zero-stock", seen.EXIT_ZERO),
    *_delayed("BACKOFF-8", "on-failure-stock", seen.ON_FAILURE),
    _verdict("BACKOFF-9", "never-stock", facts={"watched_s": 80.2, "restarts": 0, "phase": "Failed"}),
    *_delayed("BACKOFF-11 BACKOFF-4", "two-containers-stock", seen.TWO),
    _verdict(
        "PROBE-4",
        "liveness-stock",
        Outcome.FAIL,
        'restart 2 of "app" came 0.52 s after the exit; 10 s was due.',
        'restart 3 of "app" came 11.03 s after the exit; 20 s was due.',
        'restart 4 of "app" came 21.4 s after the exit; 40 s was due.',
        evidence=(Evidence(file="history/liveness-stock.jsonl", lines=(14, 17, 22, 26)),),
        deviation="liveness-two-free-restarts",
        facts={"delays": seen.LIVENESS},
    ),
    _verdict(
        "CAP-4",
        "crash-natural-max-1s",
        Outcome.FAIL,
        'restart 7 of "app" came 0.62 s after the exit; 1 s was due.',
        evidence=(
            Evidence(file="history/crash-natural-max-1s.jsonl", lines=(61, 64, 65)),
            Evidence(file="logs/max-1s/kubelet.log", lines=(1204, 1205, 1206, 1207)),
        ),
        facts={"delays": seen.MAX_1S, "restarts": 24, "watched_s": 61.3},
    ),
    *_delayed("BACKOFF-4 CAP-3 CONFIG-1", "crash-natural-max-1s", seen.MAX_1S),
    *_delayed("BACKOFF-17 STORY-6", "sidecar-oom-max-1s", seen.SIDECAR_OOM),
    *_delayed("BACKOFF-2 BACKOFF-4 CAP-3 CONFIG-1", "crash-natural-max-2s", seen.MAX_2S),
    *_delayed("RULES-3 RULES-16", "rule-in-42-max-2s", seen.RULE_42_DELAYS),
    _verdict(
        "RULES-22",
        "rule-in-42-max-2s",
        Outcome.FAIL,
        'restartCount of "app" was 2 from 16:00:51 on; the runtime had started it 4 times, so 3 was due.',
        evidence=(Evidence(file="history/rule-in-42-max-2s.jsonl", lines=(31, 33, 38, 41)),),
        facts={"restarts": 3, "restartCount": 2, "statuses_judged": 11},
    ),
    _verdict("RULES-4", "rule-not-matched-max-2s", facts={"exit_code": 43, "phase": "Failed", "watched_s": 64.0}),
    _verdict(
        "RULES-6",
        "rule-order-max-2s",
        Outcome.SKIPPED,
        "needs gate RestartAllContainersOnContainerExits; it is off on this node (kubelet v1.37.1).",
    ),
    *_delayed("RULES-12 RULES-16", "init-retries-max-2s", seen.INIT_DELAYS),
    _verdict(
        "FAULT-1",
        "kubelet-restart-max-2s",
        facts={"restarts_of_running_containers": 0, "kubelet_down_s": 1.9},
        evidence=(Evidence(file="history/kubelet-restart-max-2s.jsonl", lines=(40,)),),
    ),
    _verdict(
        "BACKOFF-3",
        "kubelet-restart-max-2s",
        Outcome.INCONCLUSIVE,
        'restart 4 of "app" was created 6.94 s after the exit; 4 s was the latest moment, '
        "but the host was stalled for 3.1 s meanwhile.",
        evidence=(Evidence(file="history/kubelet-restart-max-2s.jsonl", lines=(52, 55, 58)),),
        facts={"delays": seen.KUBELET_RESTART},
    ),
    _verdict(
        "FAULT-2",
        "runtime-restart-max-2s",
        Outcome.INCONCLUSIVE,
        "the runtime's events were lost for 4.2 s (reconnecting) and the journal ends in that gap: "
        "2 delays seen, 3 needed.",
        evidence=(Evidence(file="history/runtime-restart-max-2s.jsonl", lines=(47,)),),
    ),
    _verdict(
        "RULES-22",
        "runtime-restart-max-2s",
        Outcome.ERROR,
        "checker restart_count crashed: KeyError 'containerID'. This is a fault of the suite; the history is kept.",
        evidence=(Evidence(file="recorder.log"),),
    ),
    *_delayed("BACKOFF-13 CAP-2 CONFIG-1", "crash-annotated-max-10s", seen.MAX_10S),
    *_delayed("CAP-6 CONFIG-1", "crash-annotated-max-11s", seen.MAX_11S),
    *_delayed("CAP-2 BACKOFF-3 CONFIG-1", "crash-natural-max-20s", seen.MAX_20S),
    _verdict(
        "RESET-4",
        "run-590s-max-20s",
        Outcome.FAIL,
        'restart 5 of "app" came 10.81 s after the exit; 20 s was due after a run of 590 s.',
        evidence=(Evidence(file="history/run-590s-max-20s.jsonl", lines=(30, 33)),),
        deviation="counter-collected-while-waiting",
        facts={"delays": seen.RUN_590S},
    ),
    *_delayed("DECAY-1 BACKOFF-3 BACKOFF-4", "crash-natural-reduced-decay", seen.REDUCED),
    *_delayed("SKEW-2 BACKOFF-3", "crash-natural-skew", seen.SKEW_NATURAL),
    *_delayed("SKEW-2 CONFIG-1", "crash-annotated-skew", seen.SKEW_ANNOTATED),
    _verdict("CONFIG-2", "start-max-500ms", facts={"exit_code": 1, "after_s": 0.41, "stderr": REFUSED}),
    _verdict("CONFIG-5", "start-max-number", facts={"exit_code": 1, "after_s": 0.38}),
    _verdict("CONFIG-3", "start-max-1s", facts={"healthy_after_s": 1.93}),
    _verdict(
        "CONFIG-4",
        "start-gate-off",
        Outcome.FAIL,
        "the kubelet exited with 1 after 0.4 s; it was due to start with a warning.",
        evidence=(Evidence(file="history/start-gate-off.jsonl", lines=(3,)),),
        deviation="gate-off-refuses-field",
        facts={"exit_code": 1, "after_s": 0.4},
    ),
)

PLAN = Plan(
    suite="conformance",
    provider="local",
    kubernetes_version="1.37.1",
    scope="full",
    profiles=PROFILES,
    scenarios=SCENARIOS,
    judgements=tuple(Judgement(requirement=each.requirement, scenario=each.scenario) for each in VERDICTS),
    **assign(SCENARIOS, Budgets())._asdict(),
)

ENVIRONMENT: dict[str, Any] = {
    "format": "crashloop.environment/1",
    "crashloop_version": "0.1.0",
    "host": {
        "kernel": "6.1.0-44-amd64",
        "machine": "x86_64",
        "cpus": 2,
        "memory_bytes": 8_375_186_432,
        "cgroup_version": 1,
        "has_cpu_pressure": True,
        "python": "3.11.2",
    },
    "nodes": [
        {
            "name": profile.name,
            "kubelet": f"v{profile.kubernetes_version or '1.37.1'}",
            "container_runtime": "containerd://2.3.7",
            "kernel": "6.1.0-44-amd64",
            "os_image": "Debian GNU/Linux 12 (bookworm)",
        }
        for profile in PROFILES[:8]
    ],
}


def example_results(verdicts: tuple[Verdict, ...] = VERDICTS, *, at_least: int = 0) -> Results:
    """The run as results; other verdicts on the same plan may be given."""
    return build_results(
        INFO,
        PLAN,
        verdicts,
        REQUIREMENTS,
        DEVIATIONS,
        ENVIRONMENT,
        finished=STARTED + timedelta(minutes=13, seconds=41),
        run="runs/20261121T160012Z-conformance",
        effective_curves=EFFECTIVE_CURVES,
        at_least=at_least,
    )


if __name__ == "__main__":
    publish(RunDir.create(Path(sys.argv[1]), INFO), example_results())
