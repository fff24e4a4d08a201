"""Processes that a test knows by their id only."""

import psutil


def has_ended(pid: int) -> bool:
    """Whether it has ended, reaped or not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
