"""The typer app: its commands, and how an error becomes one line and exit code 1."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from featbert.cli.text import printable
from featbert.errors import FeatbertError

# A run that was interrupted by Ctrl-C ends with the shell's code for SIGINT.
INTERRUPTED = 130
# Wrong usage: typer tells it itself, with exit code 2. Its class has no public name of its own.
USAGE_ERROR = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class OneLineErrors(TyperGroup):
    """Turns what went wrong into one line on stderr and an exit code; `--debug` shows all."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except FeatbertError as error:
            _refuse(ctx, error, str(error))
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _refuse(ctx, error, f"{where}{error.strerror or error}")
        except MemoryError as error:
            _refuse(ctx, error, f"not enough memory: {error}; fewer --layers or a smaller batch")
        except KeyboardInterrupt:
            sys.stderr.write(
                "\ninterrupted; finished runs and extracted blocks are kept, "
                "the same command goes on from there\n"
            )
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if isinstance(error, USAGE_ERROR):
                raise
            text = f"{type(error).__name__}: {error}"
            _refuse(ctx, error, f"unexpected {text}; featbert --debug COMMAND shows where")


def _refuse(ctx: Any, error: BaseException, message: str) -> None:
    if ctx.params.get("debug"):
        raise error
    sys.stderr.write(f"error: {printable(message)}\n")
    raise typer.Exit(1) from None


app = typer.Typer(
    cls=OneLineErrors,
    name="featbert",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from featbert import __version__

        typer.echo(f"featbert {__version__}")
        raise typer.Exit


@app.callback()
def featbert(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Fine-tune BERT, or train a small model on its frozen features?

    extract once, train on layer combinations, fine-tune beside it, compare quality and cost.
    """


def main() -> None:
    """Entry point of the `featbert` command."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    app()


# Commands register themselves when their modules are imported; `--help` keeps this order.
for _command in (
    "extract",
    "train",
    "finetune",
    "adapt",
    "compare",
    "evaluate",
    "predict",
    "run",
    "runs",
    "check",
    "inspect",
    "probe",
):
    importlib.import_module(f"featbert.cli.{_command}")
