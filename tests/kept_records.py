"""Changing what is in a kept JSON record, with a checksum that fits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from featbert.runs.record import checksum


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Writes the record in a file again after `change` has changed its data."""
    data = json.loads(path.read_text("utf-8"))
    data.pop("checksum")
    change(data)
    path.write_text(json.dumps(data | {"checksum": checksum(data)}), "utf-8")
