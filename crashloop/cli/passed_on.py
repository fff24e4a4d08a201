"""Options that a command shows and passes on to another program: a table of them as parameters of a function."""

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any, Literal

import typer

from crashloop.run.options import RunOption


def takes(options: Iterable[RunOption]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a function, which takes them as keywords, the options as parameters that typer sees."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        plain = signature(function)
        own = [each for each in plain.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        shown = plain.replace(parameters=[*own, *map(_parameter, options)])
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return declare


def as_arguments(options: Iterable[RunOption], given: Mapping[str, Any]) -> list[str]:
    """The arguments for the options that were given."""
    return [argument for option in options for argument in _arguments(option, given[option.field])]


def _arguments(option: RunOption, value: Any) -> list[str]:
    if value is None or value is False or value == []:
        return []
    if value is True:
        return [option.name]
    values = value if isinstance(value, list) else [value]
    if option.name.startswith("--"):
        return [f"{option.name}={each}" for each in values]
    return [word for each in values for word in (option.name, str(each))]


def _parameter(option: RunOption) -> Parameter:
    """None as default: only what was given is passed on, and the other program knows the default."""
    shown = f"{option.help} Default: {option.default}." if option.default else option.help
    about = typer.Option(option.name, metavar=option.metavar, help=shown, rich_help_panel=option.panel)
    return Parameter(option.field, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[_type(option), about])


def _type(option: RunOption) -> Any:
    plain: Any = Literal[option.choices] if option.choices else option.type
    return list[plain] | None if option.repeats else plain | None
