"""Where calls are carried out that do not need each other: in this process, or on a cluster."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

# A function and the arguments of each call, by a name for people: gives the name and the result of
# each call as it ends, or the exception that ended it.
Each = Callable[[Callable[..., Any], Mapping[str, tuple[Any, ...]]], Iterator[tuple[str, Any]]]


def in_turn(
    function: Callable[..., Any], calls: Mapping[str, tuple[Any, ...]]
) -> Iterator[tuple[str, Any]]:
    """One after the other, in this process."""
    for name, arguments in calls.items():
        try:
            result = function(*arguments)
        except Exception as error:
            result = error
        yield name, result
