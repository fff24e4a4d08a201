"""Errors that explain themselves: their traceback ends in the test."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from crashloop.errors import CrashloopError, PrerequisiteError
from crashloop.extras import missing

P = ParamSpec("P")
T = TypeVar("T")


def plain_errors(function: Callable[P, T]) -> Callable[P, T]:
    """The function, without the frames of crashloop in an error that names fault and remedy."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except CrashloopError as error:
            raise error.with_traceback(None) from None
        except ModuleNotFoundError as error:
            raise PrerequisiteError(missing(error, needed_by="this fixture")) from None

    return called
