"""The command line: the only place that prints, exits or reads the environment."""

from featbert.cli.app import app, main

__all__ = ["app", "main"]
