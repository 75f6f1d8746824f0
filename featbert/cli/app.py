"""Names that moved to `main.py`."""

from featbert.cli.main import Command as Watched
from featbert.cli.main import app

__all__ = ["Watched", "app"]
