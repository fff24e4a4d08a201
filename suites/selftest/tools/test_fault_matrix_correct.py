"""No checker accuses a correct kubelet: random pods, configurations, releases and hosts, lost and coarse evidence included.

The simulated kubelet and the model were written without each other, so this is also where the two readings of
Kubernetes are held against each other. What the source does against the KEPs, the model knows as variants.
"""

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from zlib import crc32

import msgspec
import pytest

from crashloop.checks.everywhere import judge_everywhere
from crashloop.checks.judge import run_checkers
from crashloop.checks.judgement import JudgementInput
from crashloop.deviations import load_deviations
from crashloop.model.variants import as_shipped
from crashloop.requirements import load_requirements
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    KubeletProfile,
)
from crashloop.spec.scenario import PodScenario, StartupScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome
from sim import simulate_startup
from sim.host import (
    CALM,
    COARSE,
    CROWDED,
    FROZEN,
    FROZEN_BY_JOURNAL,
    HOSTS,
    LOSSY,
    SLOW_API,
    SLOW_DISK,
    SLOW_HOSTS,
    HostModel,
)
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.proof import CORRECT_KUBELET, Share
from suites.selftest.kit.random_kubelets import (
    BATCHES,
    OF_EVERY_POD,
    Batch,
    accusations,
    asked,
    batches,
    checkers_for,
    judged,
)
from suites.selftest.kit.random_scenarios import VERSIONS, random_case
from suites.selftest.kit.rich_scenarios import rich_case
from tools.trials import (
    FURTHER,
    VERSION,
    histories_of,
    holds,
    judgement_of,
    recorded,
    recordings_of,
    verdict_of,
)


@pytest.mark.parametrize("batch", range(BATCHES), ids=lambda batch: f"batch-{batch}")
def test_no_checker_accuses_a_correct_kubelet(
    batch: int, whole: bool, random_seed: int, record_property: Callable[[str, object], None]
) -> None:
    """On some scenarios in every run, which `--random-seed` repeats; in a whole run on all that the page counts."""
    tried = batches(None if whole else random_seed)[batch]
    found = accusations(tried)
    record_property(CORRECT_KUBELET, [len(tried.seeds), len(found)])
    assert found == []


# fmt: off
RARE = (
    351, 352, 357, 383, 528, 618, 677, 894, 1486, 1817, 1830, 2236, 2371, 2395, 2469, 2501, 2597, 2750, 3052, 3469,
    3917, 3966, 4048, 4063, 4129, 4327, 4529, 4800, 5034, 5473, 5570, 5787, 5814, 5980, 6234, 6353, 7069, 7266,
    7620, 7740, 8263, 9007, 9037, 9374, 9399, 9586, 10062, 10597, 10631, 10928, 11223, 12955, 15250, 15644, 15812,
    16276, 17629, 19196, 19619, 20592, 24191, 27115, 27472, 27861, 28866, 29518, 36434, 39325, 7000935, 8000468,
    8000564, 8001814, 9200128, 9200359, 9300841, 9500458, 9710198, 9710992, 9720380, 9731448,
    9731552,
)
# fmt: on
"""RestartAllContainers beside probes, kills, deletions and starts of the same second; restarted kubelets; images changed at
an exit; objects that change or go while a start is held up, or are missing to pods with init containers; a kubelet
that is away at the end of the recording."""


@pytest.mark.parametrize("host", [*HOSTS, *SLOW_HOSTS], ids=lambda host: host.name)
def test_no_checker_accuses_a_correct_kubelet_in_a_rare_coincidence(host: HostModel, share: Share) -> None:
    assert accusations(Batch(share(RARE), (host,))) == []


# fmt: off
RICH = (
    52, 191, 302, 322, 407, 419, 456, 468, 489, 505, 510, 511, 523, 533, 606, 617, 624, 741, 798, 927, 931, 965, 995, 1005,
    1052, 1059, 1076, 1080, 1096, 1097, 1116, 1138, 1169, 1181, 1292, 1378, 1380, 1444, 1486, 1496, 1545, 1569, 1608,
    1611, 1639, 1652, 1657, 1682, 1718, 1719, 1735, 1756, 1814, 1867, 1903, 1911, 1944, 1976, 2090, 2092, 2142, 2150,
    2203, 2245, 2350, 2375, 2481, 2486, 2500, 2574, 2612, 2653, 2669, 2928, 2930, 3020, 3040, 3067, 3083, 3102, 3115,
    3142, 3273, 3280, 3320, 3337, 3347, 3364, 3367, 3374, 3416, 3432, 3436, 3493, 3525, 3654, 3717, 3718, 3726, 3727,
    3788, 3889, 4018, 4354, 4660, 4738, 4835, 5334, 5598, 5691, 5824, 5842, 6198, 6341, 6570, 7024, 7033, 7040, 7641,
    9669, 9761, 9845, 10137, 10147, 10246, 10695, 11637, 11711, 12323, 13017, 14051, 14084, 14103, 14400, 14887, 14989,
    15701,
)
# fmt: on
"""Rich scenarios in which a correct kubelet was accused before: a kill that holds up the pod's other containers or coincides
with an exit, or that restarts all, a sandbox that goes, a runtime that is away, a pod that ends with its sidecars, a code that a
kill has too."""


def test_no_checker_accuses_a_correct_kubelet_in_a_rich_scenario(share: Share) -> None:
    assert accusations(Batch(share(RICH), (*HOSTS, *SLOW_HOSTS)), rich_case) == []


def test_what_a_release_promises_first_is_asked_from_that_release_on() -> None:
    """That a container stays ready over a restart of its kubelet is promised since 1.35 (PROBE-36)."""
    case = random_case(0)
    asked_of = {
        str(each): checkers_for(msgspec.structs.replace(case, version=KubernetesVersion.parse(each)))
        for each in ("1.34.4", "1.35.4")
    }
    assert {each: "kept-over-restart" in names for each, names in asked_of.items()} == {"1.34.4": False, "1.35.4": True}


@pytest.mark.parametrize("checker", sorted(OF_EVERY_POD))
def test_a_correct_kubelet_passes_where_there_is_evidence(checker: str) -> None:
    """The absence of accusations is worth something only if the scenarios give the checkers something to judge."""
    of_the_suite = (
        verdict_of(
            msgspec.structs.replace(each.requirement, checkers=(checker,)), each.scenario, *recordings_of(each.scenario)
        )
        for each in trials()
        if checker in each.requirement.checkers and holds(each, VERSION)
    )
    shown = (each.outcome is Outcome.PASS or each.deviation is not None for each in of_the_suite)
    calm = ((seed, case) for seed in range(600) if (case := random_case(seed)).host is CALM)
    assert any(shown) or any(judged(case, seed, checker).outcome is Outcome.PASS for seed, case in calm)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_the_suite_accuses_no_correct_kubelet_on_any_release_or_host(version: KubernetesVersion, share: Share) -> None:
    accused, hosts = [], (*HOSTS, *SLOW_HOSTS)
    for index, trial in share([*enumerate(trial for trial in trials() if trial.scope != FURTHER)]):
        host = hosts[(index + VERSIONS.index(version)) % len(hosts)]
        if not holds(trial, version):
            continue
        recordings = recordings_of(trial.scenario, version=version, seed=index, host=host)
        verdict = verdict_of(trial.requirement, trial.scenario, *recordings, version=version)
        if verdict.fails_the_run or verdict.outcome is Outcome.ERROR:
            accused.append((verdict.requirement, verdict.scenario, host.name, *verdict.findings))
    assert accused == []


@pytest.mark.parametrize("host", [*HOSTS, *SLOW_HOSTS, CROWDED], ids=lambda host: host.name)
def test_what_holds_for_every_pod_accuses_no_correct_kubelet_in_any_pod_of_the_suite(
    host: HostModel, seeds: range, share: Share
) -> None:
    """As a run judges: each pod by all these requirements, whatever it was recorded for."""
    tried = product(share([*pod_scenarios().values()]), seeds)
    assert [each for scenario, number in tried for each in accused_in(scenario, host, number)] == []


@pytest.mark.parametrize(
    ("scenario", "host", "number"),
    [
        ("runs-560s-max-20s", FROZEN, 12),  # the host held a start up until the counter was collected
        (
            "sandbox-killed-during-an-init-delay",
            LOSSY,
            31,
        ),  # the next sandbox came while the runtime's events were lost
        ("sandbox-killed-during-an-init-delay", FROZEN, 71),  # a record was removed before its exit was looked at
        ("sandbox-killed-during-an-init-delay", COARSE, 254),  # the next sandbox has a stamp of before the kill
        ("killed-after-starting", LOSSY, 52),  # what was stated before the watch was lost came after it
        ("records-of-what-has-ended-lost", SLOW_DISK, 69),  # nothing is stated any more since what had ended runs again
        ("liveness-third-failure", LOSSY, 111),  # it was ended and started again while the watch was lost
        ("sandbox-killed-after-success", FROZEN_BY_JOURNAL, 62),  # too short a watch to say that nothing came
        ("restart-all-over-kubelet-restarts", COARSE, 6),  # an init container began in the instant of a removal
        ("restart-all-over-kubelet-restarts", LOSSY, 6),  # a reset and its restarts came while the watch was lost
        ("one-finished-one-working", SLOW_DISK, 70000),  # a status was made before the pod stopped and sent after that
        ("sandbox-lost-with-the-kubelet", SLOW_API, 71000),  # the last status of the kubelet before came after its end
        ("static-pod-renewed", LOSSY, 71003),  # the runtime lost the start that the journal has
        ("static-pod-renewed", SLOW_DISK, 71018),  # a start was under way when the file went
        ("restart-all-every-kind", SLOW_API, 73009),  # the last status of all was on its way when the recording ended
        ("restart-all-every-kind", SLOW_API, 73015),  # the same
        (
            "restart-all-every-kind",
            LOSSY,
            75002,
        ),  # the runtime lost an instance that RestartAllContainers removed later
        (
            "kubelet-restarted-beside-all-kinds",
            FROZEN_BY_JOURNAL,
            11,
        ),  # a start from before the kubelet's end was seen after it
        ("sandbox-killed-during-a-delay", FROZEN, 73007),  # the sandbox went in the middle of a sync
        ("deleted-without-a-kubelet", FROZEN, 73007),  # a sync was under way while the node stood still
        ("deleted-without-a-kubelet", FROZEN, 73011),  # the same
        ("deleted-without-a-kubelet", FROZEN, 73015),  # the same
    ],
    ids=str,
)
def test_what_holds_for_every_pod_accuses_no_correct_kubelet_in_a_rare_coincidence(
    scenario: str, host: HostModel, number: int
) -> None:
    assert list(accused_in(pod_scenarios()[scenario], host, number)) == []


def pod_scenarios() -> dict[str, PodScenario]:
    each_of = (each for trial in trials() for each in trial.scenario.scenarios)
    return {each.name: each for each in each_of if isinstance(each, PodScenario)}


def accused_in(scenario: PodScenario, host: HostModel, number: int) -> Iterator[tuple[str, ...]]:
    """Requirements of every pod, and of this one, that a right kubelet fails in the recording of that number, with findings."""
    seed = crc32(scenario.name.encode()) + number  # a new scenario does not change those of the others
    (recording,) = map(recorded, histories_of((scenario,), seed=seed, host=host))
    of_every_pod = judge_everywhere(load_requirements(), judgement_of(asked(), scenario, recording), load_deviations())
    own = (each.requirement for each in trials() if each.scenario is scenario and each.scope != FURTHER)
    for each in (*of_every_pod, *(verdict_of(requirement, scenario, recording) for requirement in own)):
        if each.fails_the_run or each.outcome is Outcome.ERROR:
            yield each.requirement, scenario.name, host.name, *each.findings


PERIODS = (None, "0s", "500ms", "999.9ms", "1s", "2s", "4s", "11s", "300s", "300.0009s", "301s", 4, "4", "soon", True)
GATES = (None, False, True)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_model_and_simulation_take_and_refuse_the_same_configurations(version: KubernetesVersion) -> None:
    scenario = StartupScenario(name="start", profile="stock", candidate="candidate", control="valid")
    differing = []
    for period, *values in product(PERIODS, GATES, (None, True), GATES, GATES):
        names = (MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE)
        gates = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        profile = KubeletProfile(
            name="candidate", config={"featureGates": gates, "crashLoopBackOff": {"maxContainerRestartPeriod": period}}
        )
        recording = recorded(simulate_startup(scenario, profile, version, rng=Random(1)))
        question = JudgementInput(
            requirement=asked("startup"), scenario=scenario, profile=profile, version=version, recording=recording
        )
        checked = run_checkers(question, as_shipped(version))
        if checked.outcome is not Outcome.PASS:
            differing.append((period, gates, checked.findings))
    assert differing == []
