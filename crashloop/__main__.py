"""The entry point: a key that interrupts it ends it without a traceback, also while it imports."""

import os
import signal
import sys

INTERRUPTED = 128 + signal.SIGINT


def main() -> None:
    """Run the command line. Nothing has to be undone before it is there."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # a shell's background job has it ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from crashloop.cli import main as run

    signal.signal(signal.SIGINT, handler)
    try:
        run()
    except KeyboardInterrupt:  # while it says what was wrong
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
