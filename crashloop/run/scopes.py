"""From which scope on a requirement is judged on a scenario. Pure."""

from collections.abc import Collection, Iterable, Mapping
from math import inf

from crashloop.errors import UsageError
from crashloop.spec.plan import Judgeable
from crashloop.spec.profile import version_of
from crashloop.spec.requirement import Requirement, Scope

LONGEST_WATCH_S = {Scope.QUICK: 90.0, Scope.FULL: 1200.0, Scope.SOAK: inf}
"""The longest that a scenario of each scope is watched, in seconds; shortest scope first, and each contains those before it."""

STARTS_PER_S = {Scope.QUICK: 6.0, Scope.FULL: 4.0, Scope.SOAK: 4.0, Scope.VERSIONS: 6.0}
"""Starts of containers per second in a run's budget: the longest scenarios of a wide scope leave time for a calmer pace."""

_SCOPES = tuple(LONGEST_WATCH_S)


def scope_of(requirement: Requirement, scenario: Judgeable) -> Scope:
    """The scope of the requirement's row in the catalogue, or the first wider one that has time for the scenario's watch.

    What has nodes with a version of their own is for a run on several versions.
    """
    if requirement.scope is Scope.VERSIONS or any(
        version_of(profile) is not None for each in scenario.scenarios for profile in each.profiles
    ):
        return Scope.VERSIONS
    return next(
        scope for scope in _SCOPES[_SCOPES.index(requirement.scope) :] if scenario.longest_s <= LONGEST_WATCH_S[scope]
    )


def require_within(named: Iterable[str], scopes: Mapping[str, Collection[Scope]], widest: Scope) -> None:
    """Raise UsageError for a requirement named by the user that a run of the scope `widest` judges on nothing.

    `scopes`: from which scope on each requirement is judged, on each of its scenarios.
    """
    for identifier in sorted(named):
        found = scopes.get(identifier, ())
        if found and not any(is_within(each, widest) for each in found):
            narrowest = min(found, key=tuple(Scope).index)
            raise UsageError(
                f"--requirement {identifier}: nothing of scope {widest} judges it.\nRun it with --scope {narrowest}."
            )


def is_within(scope: Scope, widest: Scope) -> bool:
    """Whether a run of the scope `widest` contains what belongs to `scope`."""
    if Scope.VERSIONS in (scope, widest):
        return scope is widest
    return _SCOPES.index(scope) <= _SCOPES.index(widest)
