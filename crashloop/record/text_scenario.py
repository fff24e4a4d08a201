"""A text scenario: there is nothing to record."""

from crashloop.record.single_task import SingleTask


class NothingToRecord(SingleTask):
    """Ends at once."""

    def record(self) -> tuple[str, str]:
        return "complete", "a text needs no recording"
