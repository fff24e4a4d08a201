"""Image pulls beside restarts, from the run's own registry (capability image-registry)."""

from collections.abc import Iterator

from crashloop.spec.dependency import PASSWORD, PASSWORD_KEY, ConfigKind, ConfigObject, PullPolicy, RegistryImage
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.owner import Job
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.program import exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import QUICK_WATCH_S


def pulling(policy: PullPolicy) -> PodScenario:
    """A container that restarts six times; its tag names another image from its third restart on."""
    return PodScenario(
        name=f"pulls-{'always' if policy is PullPolicy.ALWAYS else 'if-not-present'}-max-2s",
        profile="max-2s",
        pod=Pod(
            containers=(Container(program=exits_with(1, after_s=0.5, times=6), image=RegistryImage(policy=policy)),)
        ),
        until=Until(restarts={"app": 6}, at_most_s=QUICK_WATCH_S),
        interventions=(
            Intervention(
                trigger=Trigger(container="app", after_restart=2),
                action=InterventionKind.OFFER_IMAGE,
                arguments={"container": "app", "version": 2},
            ),
        ),
    )


PULLED_ALWAYS = pulling(PullPolicy.ALWAYS)
PULLED_ONCE = pulling(PullPolicy.IF_NOT_PRESENT)
NEVER_PULLED = PodScenario(
    name="failing-pulls-max-1s",
    profile="max-1s",
    pod=Pod(
        containers=(
            Container(name="crashing", program=exits_with(1, after_s=0, times=80)),
            Container(name="pulled", image=RegistryImage(policy=PullPolicy.ALWAYS, version=None)),
        )
    ),
    until=Until(restarts={"crashing": 40}, at_least_s=90, at_most_s=180),
)
"""The image cannot be pulled, beside a container that restarts every second."""
LET_IN = PodScenario(
    name="changed-pull-secret-max-2s",
    profile="max-2s",
    pod=Pod(
        containers=(
            Container(
                program=exits_with(1, times=1),
                image=RegistryImage(policy=PullPolicy.IF_NOT_PRESENT, secret="login"),
            ),
        )
    ),
    until=Until(restarts={"app": 1}, at_most_s=QUICK_WATCH_S),
    objects=(ConfigObject(name="login", kind=ConfigKind.SECRET, data={PASSWORD_KEY: "wrong"}),),
    interventions=(
        Intervention(
            trigger=Trigger(after_s=5),
            action=InterventionKind.CHANGE_OBJECT,
            arguments={"object": "login", "data": {PASSWORD_KEY: PASSWORD}},
        ),
    ),
)
"""The registry refuses the password of the pull secret until that is changed."""
BEHIND_ANOTHER = PodScenario(
    name="pull-behind-another-max-10s",
    # No other scenario pulls on such a node, so none waits for these slow pulls.
    profile="max-10s",
    pod=Pod(
        containers=(
            Container(program=runs((2, 0)), image=RegistryImage(policy=PullPolicy.ALWAYS, answers_after_s=4.0)),
        ),
        restart_policy=RestartPolicy.NEVER,
    ),
    until=Until(at_most_s=QUICK_WATCH_S),
    owner=Job(parallelism=2, backoff_limit=0),
)
"""Two pods of one node pull the same image at the same time, from a registry that takes 4 s for each answer."""

SLOW_PULL = PodScenario(
    name="slow-pull-stock",
    profile="stock",  # no other scenario pulls on such a node
    pod=Pod(
        containers=(
            Container(program=runs((6, 0)), image=RegistryImage(policy=PullPolicy.IF_NOT_PRESENT, answers_after_s=4.0)),
        ),
        restart_policy=RestartPolicy.NEVER,
    ),
    until=Until(phase="Succeeded", at_most_s=QUICK_WATCH_S),
    mode=Mode.ANNOTATED,
)
"""Patches show meanwhile how soon a status can come (kubernetes/kubernetes#134460)."""


@requirement("RULES-45")
def test_a_pod_is_ready_to_start_containers_before_their_images_are_there() -> Iterator[Scenario]:
    yield SLOW_PULL
    yield the.MAX_2S
    yield the.MAX_10S


@requirement("OVH-1")
def test_a_restart_pulls_its_image_under_always() -> Scenario:
    return PULLED_ALWAYS


@requirement("OVH-1")
def test_a_restart_does_not_pull_an_image_that_is_present() -> Scenario:
    return PULLED_ONCE


@requirement("STORY-2")
def test_a_restart_under_always_uses_the_image_that_the_tag_names() -> Scenario:
    return PULLED_ALWAYS


@requirement("OVH-12")
def test_a_changed_pull_secret_holds_at_the_next_pull() -> Scenario:
    return LET_IN


@requirement("OVH-11")
def test_a_pull_behind_another_waits_and_reports_it() -> Scenario:
    return BEHIND_ANOTHER


@requirement("BACKOFF-18")
def test_the_pull_backoff_does_not_follow_the_maximum_restart_delay() -> Scenario:
    return NEVER_PULLED


@requirement("BACKOFF-23")
def test_the_pull_backoff_outlasts_twice_the_maximum_restart_delay() -> Scenario:
    return NEVER_PULLED
