"""The error of a source that lacks a binary."""


class NotAvailable(Exception):
    """This source lacks the binary; the next one is tried. The message is shown if every source lacks it."""
