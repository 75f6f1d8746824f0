"""`featbert`, and `python -m featbert`."""

import sys


def main() -> None:
    """Entry point of the `featbert` command."""
    try:
        from featbert.cli.main import main as command

        command()
    except KeyboardInterrupt:  # while modules are imported, before a command has begun
        sys.exit(130)


if __name__ == "__main__":
    main()
