"""Which requirements a run judges: --requirement, --topic and --skip. Pure."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple, Self

from crashloop.errors import UsageError
from crashloop.spec.requirement import Requirement, State


class Selection(NamedTuple):
    """Ids and topics, all of them known."""

    requirements: frozenset[str]
    topics: frozenset[str]
    """With no requirement and no topic, everything is selected."""
    skipped: frozenset[str]

    @classmethod
    def of(
        cls,
        catalogue: Mapping[str, Requirement],
        *,
        requirements: Iterable[str] = (),
        topics: Iterable[str] = (),
        skipped: Iterable[str] = (),
    ) -> Self:
        """The selection that the options make.

        Raises UsageError for an id or a topic that the catalogue does not have, and for a requirement that no test judges.
        """
        known_topics = {each.topic for each in catalogue.values()}
        chosen = frozenset(_known("--requirement", requirements, catalogue))
        for identifier in sorted(chosen):
            if catalogue[identifier].state is not State.JUDGED:
                raise UsageError(
                    f"--requirement {identifier}: no test judges it; it is {catalogue[identifier].state}.\n"
                    f"`crashloop explain {identifier}` has the reason."
                )
        return cls(
            chosen,
            frozenset(_known("--topic", topics, known_topics)),
            frozenset(_known("--skip", skipped, {*catalogue, *known_topics})),
        )

    def has(self, requirement: Requirement) -> bool:
        """Whether the requirement is selected."""
        names = {requirement.id, requirement.topic}
        wanted = not (self.requirements or self.topics) or bool(names & (self.requirements | self.topics))
        return wanted and not names & self.skipped


def _known(option: str, names: Iterable[str], known: Iterable[str]) -> Iterable[str]:
    """The names in the catalogue's spelling, or a refusal that suggests one."""
    for name in names:
        spelled = name.strip().upper()
        if spelled not in known:
            close = get_close_matches(spelled, known, n=1, cutoff=0.6)
            hint = f"did you mean {close[0]}?" if close else "`crashloop list` shows what there is."
            raise UsageError(f"{option} {name!r}: the catalogue has none of that name; {hint}")
        yield spelled
