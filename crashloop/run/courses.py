"""The expected course of every scenario of a plan: how long it takes, and when it starts processes. Pure."""

from collections.abc import Callable, Iterable, Mapping

from crashloop.model.course import Course
from crashloop.run.kinds import KINDS
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion


def courses_of(
    scenarios: Iterable[Scenario], profile_of: Callable[[str], KubeletProfile], version: KubernetesVersion
) -> dict[str, Course]:
    """By name of the scenario. One without a node takes no time and starts nothing."""
    return {
        each.name: Course()
        if each.node_profile is None
        else KINDS[type(each)].course(each, profile_of(each.node_profile), version)
        for each in scenarios
    }


def starts_of(courses: Mapping[str, Course]) -> dict[str, tuple[float, ...]]:
    """`Plan.starts_s`, to a tenth of a second."""
    return {
        name: tuple(round(at_s, 1) for at_s in course.starts_s) for name, course in courses.items() if course.starts_s
    }
