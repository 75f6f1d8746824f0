"""Types of values in featbert's JSON files. Ranges are checked when a file is read."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo

# For every class that is written as JSON.
STRICT = ConfigDict(strict=True, extra="forbid")


def _if_read(check: Callable[[Any], object]) -> AfterValidator:
    """Refuses values by `check` if they are validated with a context, as reading a file does."""

    def checked(value: Any, info: ValidationInfo) -> Any:
        if info.context is not None and not check(value):
            raise ValueError("a value that featbert does not write")
        return value

    return AfterValidator(checked)


Count = Annotated[int, _if_read(lambda n: 0 <= n < 2**63)]
# A number for each example: limits take less time than a function.
Index = Annotated[int, Field(ge=0, lt=2**31)]
Number = Annotated[float, _if_read(lambda x: -1e30 <= x <= 1e30)]
Amount = Annotated[float, _if_read(lambda x: 0 <= x <= 1e30)]
Seconds = Annotated[float, _if_read(lambda x: 0 <= x <= 1e9)]
# A correlation may exceed 1 by rounding.
Share = Annotated[float, _if_read(lambda x: -1 - 1e-9 <= x <= 1 + 1e-9)]
Moment = Annotated[str, _if_read(lambda text: datetime.fromisoformat(text[:19]))]
