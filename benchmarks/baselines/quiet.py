"""No progress bars and no advice of transformers among the numbers."""

from __future__ import annotations

from transformers.utils import logging


def be_quiet() -> None:
    """Errors alone from now on, as featbert has it when it loads an encoder."""
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
