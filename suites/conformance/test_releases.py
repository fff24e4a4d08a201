"""What the suite judges of a kubelet, judged on kubelets of several releases in one cluster: `crashloop run --scope versions`."""

from collections.abc import Iterator

from crashloop.run.planning import Declared
from crashloop.run.releases import PINNED, on_version
from fixtures.requirements import declared_in, judging
from suites import conformance

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
    "two-containers-at-the-maximum",
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


test_a_requirement_holds_on_each_release = judging(on_every_release())
