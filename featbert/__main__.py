"""`featbert`, and `python -m featbert`."""

from __future__ import annotations

import signal


def main() -> None:
    """Entry point of the `featbert` command."""
    # Until the commands are there a Ctrl-C just ends the process, without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from featbert.cli import main as command

    command()


if __name__ == "__main__":
    main()
