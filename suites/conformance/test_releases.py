"""What the suite judges of a kubelet, judged on kubelets of several releases in one cluster: `crashloop run --scope versions`."""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from crashloop.run.kinds import on_version
from crashloop.run.planning import Declared
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.plan import Comparison, compared
from crashloop.spec.profile import RUNTIMES, node_name, on_runtime, with_version
from crashloop.spec.program import HOLDS, exits_with
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.spec.version import PINNED, KubernetesVersion
from fixtures.requirements import declared_in, judging, requirement
from suites import conformance
from suites.conformance import scenarios as the
from suites.conformance.scenarios import NEVER, ON_FAILURE, app, ending, restarting, starting
from suites.conformance.test_jobs import ON_THE_CURVE
from suites.conformance.test_restart_all import RESTART_ALL
from suites.conformance.test_rollback import reconfigured, to
from suites.conformance.test_skew import RULES_IGNORED

VERSION_SET = {
    # The curve, and what a kubelet refuses.
    "crashing-stock",
    "crashing-max-2s",
    "crashing-reduced-decay",
    "start-max-0s",
    "start-max-301s",
    "start-max-gate-off-but-set",
    "start-unknown-field",
    # Policies, kinds of containers, owners.
    "succeeding-max-2s",
    "on-failure-until-success",
    "never-exit-1",
    "crashing-init",
    "crashing-sidecar",
    "three-containers-at-the-maximum",
    "job-limits-restarts",
    # Restart rules, and rules that restart all containers.
    "in-matches",
    "in-unmatched",
    "container-never-under-always",
    "init-rule-until-success",
    "crashing-sidecar-with-rules",
    "restart-before-restart-all",
    "restart-all-every-kind",
    "restart-all-by-init",
    # Probes, and what is known to deviate.
    "liveness-third-failure",
    "liveness-kill-with-clean-exit",
    "restart-all-again-and-again",
    "restart-all-probes",
}
"""Scenarios of the suite, by name. Each runs on three profiles at most, so that four releases fit a host."""


def on_every_release() -> Iterator[Declared]:
    """What the suite judges on these scenarios, once for each release."""
    found = [each for each in declared_in(conformance) if each.scenario.name in VERSION_SET]
    if missing := VERSION_SET - {each.scenario.name for each in found}:
        raise LookupError(f"no test has the scenarios {', '.join(sorted(missing))}")
    for version in PINNED:
        for each in found:
            (scenario,) = each.scenario.scenarios
            yield Declared(each.requirement, on_version(scenario, version))


WITHOUT_RULES = tuple(each for each in PINNED if KubernetesVersion.parse(each).release < (1, 35))
"""Where the gates of restart rules and of the maximum are off, or not there."""
WITHOUT_RESTART_ALL = tuple(each for each in PINNED if KubernetesVersion.parse(each).release < (1, 36))
NEIGHBOURS = tuple(pairwise(PINNED))
"""Each release with the next."""


def upgraded(older: str, newer: str) -> Scenario:
    """A crash loop whose kubelet is upgraded after the third exit."""
    loop = reconfigured(
        "upgraded", "max-2s", to(with_version("max-2s", newer), after_exit=3), restarts=5, at_most_s=120
    )
    return on_version(loop, older)


@requirement("SKEW-1")
def test_an_older_kubelet_drops_a_maximum_whose_gate_it_has_off() -> Iterator[Scenario]:
    for version in WITHOUT_RULES:
        yield on_version(starting("max-2s-default-gates"), version)


@requirement("SKEW-10")
def test_a_kubelet_without_restart_rules_follows_the_pod() -> Iterator[Scenario]:
    ignored = msgspec.structs.replace(RULES_IGNORED, name="rules-ignored", profile="max-2s")
    for version in WITHOUT_RULES:
        yield on_version(ignored, version)
        yield on_version(the.SUCCEEDING, version)


def older_controllers() -> Iterator[PodScenario]:
    """A Job on a cluster whose controller manager and scheduler have another version."""
    for version in PINNED[:-1]:
        yield msgspec.structs.replace(
            ON_THE_CURVE,
            name=f"job-by-controllers-v{version.replace('.', '-')}",
            by_scheduler=True,
            control_plane=ControlPlane(controllers_version=version),
        )


@requirement("SKEW-3")
def test_a_maximum_needs_no_other_container_runtime() -> Iterator[Scenario]:
    for runtime in RUNTIMES:
        name = node_name(on_runtime(the.MAX_2S.name, runtime))
        yield msgspec.structs.replace(the.MAX_2S, name=name, profile=on_runtime(the.MAX_2S.profile, runtime))


@requirement("RAC-14")
def test_a_kubelet_without_restart_all_containers_follows_the_pod() -> Iterator[Scenario]:
    follows = restarting(
        "restart-all-ignored",
        app(exits_with(42, times=3), policy=ON_FAILURE, rules=RESTART_ALL),
        app(HOLDS, name="steady"),
        pod=ON_FAILURE,
        restarts={"app": 3},
    )
    fails = ending(
        "restart-all-ignored-under-never",
        app(exits_with(42), policy=NEVER, rules=RESTART_ALL),
        pod=NEVER,
        exits={"app": 1},
        phase="Failed",
    )
    for version in WITHOUT_RESTART_ALL:
        yield on_version(follows, version)
        yield on_version(fails, version)


@requirement("SKEW-2")
def test_older_controllers_make_and_bind_a_pod_on_the_curve() -> Iterator[Scenario]:
    yield from older_controllers()


@requirement("ROLLBACK-14")
def test_an_upgrade_of_the_kubelet_changes_no_decision() -> Iterator[Comparison]:
    for older, newer in NEIGHBOURS:
        before, after = (on_version(the.FAILS_THEN_SUCCEEDS, version) for version in (older, newer))
        name = f"from-v{older.replace('.', '-')}"
        yield compared(f"on-failure-{name}-to-the-next", before, after)
        yield compared(f"upgraded-{name}", on_version(the.MAX_2S, newer), upgraded(older, newer))


test_a_requirement_holds_on_each_release = judging(on_every_release())
