"""What a kubelet makes of a configuration that a user has: a row of `crashloop profile check`."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

import msgspec

from crashloop.errors import UsageError
from crashloop.kubelet_files import form_of
from crashloop.model.config import Refusal
from crashloop.model.gates import judged_by, kubelet_api, kubelet_version
from crashloop.profiles import RefusedFile, check_releases, read_profile, what_a_kubelet_makes_of
from crashloop.run.analysis import curve_in_words
from crashloop.spec.profile import KIND
from crashloop.spec.version import KubernetesVersion

ACCEPTED, REFUSED, UNREADABLE = "accepted", "refused", "unreadable"


_MOST_NEAR = 100
"""Fields that are compared with all others; a file of more unknown ones is another kind of file."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration."""

    profile: str
    kubernetes: str
    outcome: str
    """`accepted`, `refused` by the kubelet, or `unreadable`: there is no configuration to be had."""
    text: str
    """The delays, or the reason."""
    dropped: tuple[str, ...] = ()
    """Fields that the kubelet does not know, by their paths."""
    notes: tuple[str, ...] = ()


def checked(profile: str, version: KubernetesVersion) -> Row:
    """What a kubelet makes of a profile, a file or a folder, in a cluster of that version."""
    try:
        loaded, notes = read_profile(profile)
        check_releases((loaded,), version)
    except UsageError as error:
        outcome = REFUSED if isinstance(error, RefusedFile) else UNREADABLE
        reason = str(error).splitlines()[0].partition('": ')
        return Row(profile=profile, kubernetes=str(version), outcome=outcome, text=reason[2] or reason[0])
    kubelet = kubelet_version(loaded, version)
    form = form_of(loaded.merged, kubelet)
    made = what_a_kubelet_makes_of(loaded, version, form)
    return Row(
        profile=profile,
        kubernetes=str(kubelet),
        outcome=REFUSED if isinstance(made, Refusal) else ACCEPTED,
        text=made.text if isinstance(made, Refusal) else curve_in_words(loaded, version),
        dropped=form.dropped,
        notes=(
            *notes,
            *(f"by {rules}" for rules in (judged_by([kubelet]),) if rules),
            *(f"the kubelet drops {each}" for each in _with_near(form.dropped, kubelet)),
        ),
    )


def _with_near(dropped: Iterable[str], version: KubernetesVersion) -> Iterator[str]:
    """Dropped fields, each with the one that it looks like."""
    known = kubelet_api().fields_of(version)
    fields = {each.lower(): each for struct in (*known.values(), known[KIND]) for each in struct}
    for number, path in enumerate(dropped):
        parent, _, name = path.rpartition(".")
        near = get_close_matches(name.lower(), fields, 1, 0.85) if number < _MOST_NEAR else ()
        meant = f"{parent}.{fields[near[0]]}" if near and parent else fields[near[0]] if near else ""
        yield f"{path}, which it does not know (did you mean {meant}?)" if near else path
