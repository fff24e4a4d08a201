"""Quantities, and what an API server asks of the resources of a container, of a pod and of a variable that stands for one.

Source: pkg/apis/core/validation/validation.go and apimachinery/pkg/api/resource, both @v1.37.2.
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from crashloop.spec.pod import LABEL_KEY

Json = Mapping[str, Any]
HUGE_PAGES = "hugepages-"
"""Prefix of resources; what follows is the size of a page."""
_OF_KUBERNETES = ("cpu", "memory", "ephemeral-storage")
_DIGITS = r"[0-9]{1,999}(\.[0-9]{0,999})?|\.[0-9]{1,999}"
_QUANTITY = re.compile(rf"\+?(?P<number>{_DIGITS})(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{{1,3}})?")
"""k8s.io/apimachinery/pkg/api/resource, without those below 0."""

_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = "KMGTPE"


def amount_of(value: Any) -> Fraction | None:
    """The number that a quantity stands for, such as 1/2 for 500m; None for what is none, or below 0."""
    read = _QUANTITY.fullmatch(str(value).strip())
    if read is None:
        return None
    number: Fraction = Fraction(read["number"].rstrip("."))
    suffix: str = read["suffix"] or ""
    if suffix.endswith("i"):
        return number * Fraction(1 << 10 * (_BINARY.index(suffix[0]) + 1))
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:] or 0)
    return number * Fraction(f"1e{power}")


def invalid_resources(resources: Json) -> Iterator[str]:
    """Of a container or a pod as a whole: a sentence without its full stop per fault, each with its path."""
    amounts: dict[tuple[str, str], Fraction] = {}
    for kind in ("limits", "requests"):
        for name, value in (resources.get(kind) or {}).items():
            amount = amount_of(0 if value is None else value)
            if amount is None:
                yield f"resources.{kind}.{name} is {value!r}, which is no quantity, such as 500m or 64Mi"
                continue
            amounts[kind, name] = amount
            is_known = name in _OF_KUBERNETES or name.startswith(HUGE_PAGES) or "/" in name
            if not is_known or name.startswith("requests.") or not LABEL_KEY.fullmatch(name):
                yield f"resources.{kind}.{name} is no resource; valid are {', '.join(_OF_KUBERNETES)}, or a name with a domain"
            if _is_extended(name) and amount.denominator != 1:
                yield f"resources.{kind}.{name} is {value!r}; a whole number is valid"
            page = amount_of(name.removeprefix(HUGE_PAGES)) if name.startswith(HUGE_PAGES) else None
            if page and (amount / page).denominator != 1:
                yield f"resources.{kind}.{name} is {value!r}; a multiple of the size of a page is valid"
    names = {name for _, name in amounts}
    if any(name.startswith(HUGE_PAGES) for name in names) and not names & {"cpu", "memory"}:
        yield "resources has hugepages without cpu or memory; one of them is needed"
    for (kind, name), amount in amounts.items():
        limit = amounts.get(("limits", name))
        if kind == "requests" and limit is not None and (amount > limit or (_is_extended(name) and amount != limit)):
            asked, most = resources["requests"][name], resources["limits"][name]
            yield f"resources.requests.{name} is {asked}, and the limit {most}; {_bound(name)} is valid"
        elif kind == "requests" and limit is None and _is_extended(name):
            yield f"resources.limits.{name} is missing; it has to be the same as the request"


def _is_extended(name: str) -> bool:
    """Whether its request has to be its limit."""
    return name.startswith(HUGE_PAGES) or ("/" in name and not name.partition("/")[0].endswith("kubernetes.io"))


def _bound(name: str) -> str:
    return "the same as the limit" if _is_extended(name) else "at most the limit"


def invalid_divisor(given: Json, path: str) -> Iterator[str]:
    """Of a resource: cores or thousandths of one, bytes in a power of 1000 or 1024 with its suffix; 0 is none."""
    divisor, of_what = str(given.get("divisor") or 0).strip(), str(given.get("resource"))
    amount = amount_of(divisor)
    if of_what.endswith(".cpu"):
        valid, said = {Fraction(1), Fraction(1, 1000)}, "1 and 1m are valid"
    else:
        base = 1024 if "i" in divisor else 1000
        valid, said = (
            {Fraction(base**power) for power in range(base == 1024, 7)},
            "1, 1k, 1Ki, 1M, 1Mi and so on are valid",
        )
    has_exponent = re.search("[eE][+-]?[0-9]", divisor) is not None and not of_what.endswith(".cpu")
    if amount != 0 and (has_exponent or amount not in valid):
        yield f"{path}.divisor is {given['divisor']!r}; of {of_what}, {said}"


def beyond_the_pod(spec: Json) -> Iterator[str]:
    """What the containers have and the pod as a whole has not (validatePodResourceConsistency; component-helpers/resource)."""
    whole = spec.get("resources") or {}
    for kind in ("limits", "requests"):
        for name, value in (whole.get(kind) or {}).items():
            most, own = amount_of(value), [_amount(each, kind, name) for each in spec.get("containers") or ()]
            is_summed = kind == "requests" or name.startswith(HUGE_PAGES)
            if most is None:
                continue
            if (_at_once(spec, kind, name) if is_summed else max(own, default=Fraction())) > most:
                yield f"resources.{kind}.{name} is {value}; its containers have more"
            elif name not in (whole.get("requests") or {}) and _at_once(spec, "requests", name) > most:
                yield f"resources.limits.{name} is {value}; its containers request more, and the pod by default as much"


def _amount(container: Json, kind: str, name: str) -> Fraction:
    """Of a container that requests nothing, its limit."""
    given = container.get("resources") or {}
    value = (given.get(kind) or {}).get(name)
    return amount_of(((given.get("limits") or {}).get(name) if value is None else value) or 0) or Fraction()


def _at_once(spec: Json, kind: str, name: str) -> Fraction:
    """The most that containers have side by side: each init container runs beside the sidecars before it."""
    sidecars = most = Fraction()
    for each in spec.get("initContainers") or ():
        amount = _amount(each, kind, name)
        most = max(most, sidecars + amount)
        sidecars += amount if each.get("restartPolicy") == "Always" else 0
    return max(most, sidecars + sum(_amount(each, kind, name) for each in spec.get("containers") or ()))
