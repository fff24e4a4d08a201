"""How a source of binaries says no."""


class NotAvailable(Exception):
    """This source does not have it; the next one is tried. The message says why, for the case that none has it."""
