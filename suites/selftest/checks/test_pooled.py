"""Delays of one curve, pooled: what hides within the bounds of each is a FAIL of all, and a right kubelet is never accused."""

from collections.abc import Sequence
from functools import cache
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.checks.everywhere import judge_everywhere, of_every_pod
from crashloop.checks.pooled import CHANCE, SAMPLES, Pool, Sample, fewer_than, least_beyond_chance, pools
from crashloop.history.event import Channel, Kind
from crashloop.requirements import load_requirements
from crashloop.spec.program import REFUSED, Life, LifeEnd, Program, exits_with
from crashloop.spec.scenario import Mode, PodScenario
from crashloop.verdict import Outcome, Verdict
from sim.behaviour import Behaviour
from sim.host import BUSY, CALM, HOSTS, SLOW_HOSTS, HostModel
from suites.selftest.kit.cases import CRASHING, app, checked, good, question, scenario, told
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from suites.selftest.kit.proof import Share
from tools.trials import history_of, judgement_of, recorded, verdicts_on_every_pod

ASKED = {name: load_requirements()[name] for name in ("BACKOFF-3",)}
CURVES = ("stock", "max-gate-off", "max-10s", "reduced-decay", "max-2s", "max-1s")
"""Those of which a quick run has pods that are made to look, but for the one of three delays."""


@cache
def of_quick() -> dict[str, tuple[PodScenario, ...]]:
    """The pods of one container of a quick run, by the profile of their node."""
    found: dict[str, dict[str, PodScenario]] = {}
    for trial in trials():
        for each in trial.scenario.scenarios if trial.scope == "quick" else ():
            if isinstance(each, PodScenario) and len(each.pod.containers) == 1 and not each.pod.containers[0].probes:
                found.setdefault(each.subject, {})[each.name] = each
    return {curve: tuple(each.values()) for curve, each in found.items()}


def judged(behaviour: Behaviour, *curves: str, seed: int = 1, host: HostModel = CALM) -> Verdict:
    """What a quick run says of BACKOFF-3 in its pods on these curves."""
    pods = (each for curve in curves or of_quick() for each in of_quick()[curve])
    return verdicts_on_every_pod(ASKED, pods, behaviour, seed=seed, host=host)["BACKOFF-3"]


def held_back(*looks_s: float, of: PodScenario = CRASHING, waited_us: int | None = None) -> History:
    """A delay of 2 s from 3 s on, with looks that hold the restart back; it comes at 6.4 s."""
    history = History(of)
    history.waited_us = waited_us
    history.lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1), (6.4, 7.4, 1), (9.7, None, 0))
    for at_s in looks_s:
        history.add(at_s, Channel.KUBELET, Kind.LOG, {"line": "", "delay_s": 2.0}, container="app", pod=True)
    return history.ends(30)


def test_a_look_that_holds_a_restart_back_after_its_delay_is_a_fail_within_every_bound() -> None:
    history = held_back(4.9, 5.3)
    lines = history.line_of(Kind.EXITED, 1, channel=Channel.RUNTIME), history.line_of(Kind.LOG, 1)
    finding = (
        'FAIL: the kubelet looked 2.3 s after the exit and still held restart 2 of "app" back '
        f"(history lines {lines[0]} and {lines[1]}); 2 s was due: the counter says 2 s."
    )
    assert told(checked("never-late", history)) == [finding]
    assert told(checked("punctual", history)) == [finding]
    assert told(checked("never-early", history)) == []


def refused(*at_s: float, lost: bool) -> History:
    """Starts that the runtime refuses, with a look at 5.3 s; its events may lack one before the second."""
    refusing = Program((Life(exit_code=REFUSED, times=9, end=LifeEnd.START),))
    history = History(scenario(app(refusing)))
    for number, each_s in enumerate(at_s):
        identity = {"container_id": f"app-{number}"}
        history.runtime(each_s - 0.05, Kind.CREATED, "app", identity["container_id"])
        ended = identity | {"exit_code": REFUSED, "refused": "no such file"}
        history.add(each_s, Channel.RUNTIME, Kind.EXITED, ended, pod=True, container="app")
    if lost:
        history.gap(Channel.RUNTIME, 1.6, 2.9)
    history.add(5.3, Channel.KUBELET, Kind.LOG, {"line": "", "delay_s": 2.0}, container="app", pod=True)
    return history.ends(30)


def test_a_look_that_holds_a_refused_start_back_is_a_fail_unless_one_before_may_have_gone_unseen() -> None:
    (finding,) = told(checked("punctual", refused(1.5, 3.0, 6.4, lost=False)))
    assert finding.startswith('FAIL: the kubelet looked 2.3 s after the exit and still held restart 2 of "app" back')
    assert not any("still held" in each for each in told(checked("punctual", refused(1.5, 3.0, 6.4, lost=True))))


def test_a_refused_start_that_does_not_come_again_is_a_fail_unless_one_before_may_have_gone_unseen() -> None:
    missing, doubtful = (told(checked("restart-decision", refused(1.5, 3.0, lost=lost))) for lost in (False, True))
    assert missing[0].startswith('FAIL: restart 2 of "app" did not come within 27 s after the exit')
    assert doubtful[0].startswith('INCONCLUSIVE: restart 2 of "app" did not come within 27 s after the exit')


@pytest.mark.parametrize("looks_s", [(), (3.2, 4.99), (5.09,)], ids=["no-look", "before", "as-its-line-may-come"])
def test_looks_before_the_end_of_a_delay_hold_nothing_back(looks_s: tuple[float, ...]) -> None:
    assert told(checked("never-late", held_back(*looks_s))) == []


def test_of_a_pod_with_others_the_log_says_too_little() -> None:
    both = scenario(app(exits_with(1, times=3)), app(name="beside"))
    assert told(checked("never-late", held_back(5.3, of=both).lives("beside", (0.5, None, 0)))) == []


@pytest.mark.parametrize("channel", [Channel.RUNTIME, Channel.KUBELET])
def test_where_a_failed_start_may_have_gone_unseen_nothing_is_said(channel: Channel) -> None:
    assert told(checked("never-late", held_back(5.3).gap(channel, 3.5, 4.0))) == []


def test_a_start_that_failed_makes_the_delay_longer() -> None:
    history = held_back(5.3).add(5.0, Channel.KUBELET, Kind.LOG, {"line": ""}, container="app", pod=True)
    assert told(checked("never-late", history)) == []


def test_a_host_that_held_the_kubelet_up_leaves_it_open() -> None:
    (finding,) = told(checked("never-late", held_back(5.3, waited_us=900_000)))
    assert finding.startswith("INCONCLUSIVE: the kubelet looked 2.3 s after the exit")


def pool(samples: Sequence[Sample]) -> Pool:
    return pools({"curve": samples})["curve"]


def test_looks_after_the_due_moment_are_accused_together() -> None:
    made = [Sample(2.0, 0.02, -1.0)] * 4 + [Sample(2.0, -0.5, -1.0)] * 11
    (said,) = pool(made).accusations()
    assert said == (
        "in 4 of 15 delays the kubelet still held a restart back at a look that came up to 0.05 s after the due moment; "
        "one in a hundred may seem so"
    )
    assert list(pool(made[1:]).accusations()) == []


def test_creates_beyond_the_middle_of_chance_are_accused_together() -> None:
    made = [Sample(2.0, None, 0.1)] * 15
    (said,) = pool(made).accusations()
    assert said == "in 15 of 15 delays a restart was created later than half of them may be, by up to 0.1 s"
    assert list(pool([*made, *(Sample(2.0, None, -0.1),) * 6]).accusations()) == []


def test_a_pool_says_by_how_much_its_delays_had_to_be_longer() -> None:
    near = [Sample(2.0, -0.1, -0.9)] * 5
    assert pool(near).in_words() == "5 delays, a FAIL if all of them were 5.0 % longer"
    assert pool(near[:1]).in_words() == "1 delay, too few to accuse"


@given(st.lists(st.tuples(st.floats(0.5, 300), st.floats(-5, 0)), min_size=1, max_size=40))
def test_delays_that_are_longer_by_what_a_pool_says_are_accused(looks: list[tuple[float, float]]) -> None:
    seen = pool([Sample(due_s, looked_s, None) for due_s, looked_s in looks])
    share = seen.sees()
    if share is not None:
        longer = [Sample(due_s, looked_s + 1.001 * share * due_s + 1e-6, None) for due_s, looked_s in looks]
        assert list(pool(longer).accusations())


@pytest.mark.parametrize("share", [0.01, 0.5])
@pytest.mark.parametrize("of", [1, 3, 15, 125, 3000])
def test_chance_exceeds_the_least_number_as_seldom_as_declared(of: int, share: float) -> None:
    least = least_beyond_chance(of, share, CHANCE)
    assert 1 - fewer_than(least, of, share) < CHANCE
    assert least == 0 or 1 - fewer_than(least - 1, of, share) >= CHANCE


def test_the_chance_of_error_is_that_of_the_whole_run() -> None:
    made = pools({f"curve-{number}": [Sample(2.0, 0.0, 0.0)] for number in range(9)})
    assert sum(2 * each.chance for each in made.values()) == pytest.approx(CHANCE)


def test_a_kubelet_as_late_as_chance_may_make_it_is_accused_as_seldom_as_declared() -> None:
    """The worst phases that looks can have: the middle of chance is exceeded in half of all delays."""
    chance, accused = Random(1), 0
    for _ in range(2000):
        samples = tuple(Sample(2.0, None, chance.uniform(-0.5, 0.5)) for _ in range(60))
        accused += bool(list(Pool(samples, 0.01).accusations()))
    assert accused <= 0.015 * 2000


def test_every_pod_of_a_run_says_what_its_pool_could_see_and_what_it_saw() -> None:
    (verdict,) = judge_everywhere(ASKED, question(good(), "punctual"), ())
    assert of_every_pod([verdict]).facts["pools"] == {"max-2s": "2 delays, too few to accuse"}
    looked = [Sample(2.0, 0.1, -1.0)] * 8
    accused = of_every_pod([msgspec.structs.replace(verdict, facts={SAMPLES: looked})])
    assert (accused.outcome, accused.findings) == (
        Outcome.FAIL,
        (
            "BACKOFF-3: on max-2s, in 8 of 8 delays the kubelet still held a restart back at a look that came up to 0.13 s "
            "after the due moment; one in a hundred may seem so.",
        ),
    )


@pytest.mark.parametrize("host", [*HOSTS, *SLOW_HOSTS], ids=lambda host: host.name)
def test_a_right_kubelet_is_accused_on_no_host(host: HostModel, seeds: range, share: Share) -> None:
    outcomes = {judged(Behaviour(), *share(CURVES), seed=1 + number, host=host).outcome for number in seeds}
    assert outcomes <= {Outcome.PASS, Outcome.INCONCLUSIVE}


@pytest.mark.parametrize("host", [CALM, BUSY], ids=lambda host: host.name)
def test_a_line_of_the_log_that_comes_after_its_decision_accuses_nobody(host: HostModel) -> None:
    """As real ones do: the simulated kubelet writes it at once."""
    chance, most_ms = Random(1), host.sync_ms[1]
    for pod in of_quick()["max-1s"]:
        if pod.mode is Mode.ANNOTATED:
            events = history_of(pod, host=host)
            later = (
                msgspec.structs.replace(each, t_ns=each.t_ns + int(chance.random() * most_ms * 1e6))
                if each.kind is Kind.LOG
                else each
                for each in events
            )
            (verdict,) = judge_everywhere(ASKED, judgement_of(ASKED["BACKOFF-3"], pod, recorded(later)), ())
            assert verdict.outcome is not Outcome.FAIL
            assert of_every_pod([verdict]).outcome is not Outcome.FAIL


@pytest.mark.parametrize("seed", range(1, 4), ids=lambda seed: f"seed-{seed}")
@pytest.mark.parametrize("curve", ["stock", "max-gate-off", "reduced-decay", "max-2s"])
def test_delays_that_are_5_percent_longer_are_a_fail_on_a_calm_host(curve: str, seed: int) -> None:
    assert judged(Behaviour(delay_factor=1.05), curve, seed=seed).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("curve", "factor"), [("stock", 1.1), ("max-gate-off", 1.1), ("max-10s", 1.15), ("reduced-decay", 1.1)]
)
def test_delays_that_are_a_tenth_longer_are_a_fail_on_a_busy_host(curve: str, factor: float) -> None:
    """Of max-10s it takes more: controls take six times as long there as on a calm host, and so may the kubelet's own work."""
    assert judged(Behaviour(delay_factor=factor), curve, host=BUSY).outcome is Outcome.FAIL
