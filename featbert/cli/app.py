"""The typer app: its commands, and how an error or Ctrl-C becomes one line and an exit code."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from featbert.cli import failures
from featbert.cli.interrupts import Terminated, interruptible
from featbert.cli.progress import Meter, clear_display
from featbert.cli.text import printable
from featbert.errors import FeatbertError, memory_lack, out_of_memory
from featbert.progress import heard_by, noticed_by

# The shell's codes for a program that SIGINT (Ctrl-C) or SIGTERM ended.
INTERRUPTED, TERMINATED = 130, 143
WRONG_USAGE = 2
# Wrong usage as typer raises it. Its class, and that of bare `featbert`, which shows the help,
# have no public names of their own.
USAGE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
HELP_SHOWN = "NoArgsIsHelpError"


class Watched(TyperCommand):
    """A command whose long stages are shown while it runs, unless it is --quiet."""

    def invoke(self, ctx: Any) -> Any:
        meter = Meter(quiet=bool(ctx.params.get("quiet")))
        try:
            with heard_by(meter.stage), noticed_by(meter.say):
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            clear_display()
            again = failures.interrupted(ctx.info_name, overwrite=bool(ctx.params.get("overwrite")))
            stop(error, again)
        finally:
            clear_display()


class OneLineErrors(TyperGroup):
    """Turns what went wrong into one line on stderr and an exit code; `--debug` shows all."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except USAGE_ERROR as error:
            _misused(error)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except FeatbertError as error:
            _refuse(ctx, error, str(error))
        except KeyboardInterrupt as error:
            stop(error, "no command was under way")
        except (typer.Exit, typer.Abort):
            raise
        except USAGE_ERROR as error:
            _misused(error)
        except Exception as error:
            if out_of_memory(error):
                less = failures.less_memory(ctx.invoked_subcommand)
                _refuse(ctx, error, f"{memory_lack(error)}; {less}")
            if isinstance(error, OSError):
                where = f"{error.filename}: " if error.filename else ""
                _refuse(ctx, error, f"{where}{error.strerror or error}")
            text = f"{type(error).__name__}: {error}"
            _refuse(ctx, error, f"unexpected {text}; featbert --debug COMMAND shows where")


def stop(error: KeyboardInterrupt, told: str) -> NoReturn:
    """Ends a command that was interrupted, with a line that says what is left of it."""
    raise typer.Exit(_interrupted(error, told)) from None


def _interrupted(error: KeyboardInterrupt, told: str) -> int:
    """Says what is left of a command that was interrupted; gives its exit code."""
    # The terminal has shown ^C where the cursor was.
    start = "\n" if sys.stderr.isatty() else ""
    how = "terminated" if isinstance(error, Terminated) else "interrupted"
    sys.stderr.write(f"{start}{how}; {told}\n")
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


def _refuse(ctx: Any, error: BaseException, message: str) -> NoReturn:
    if ctx.params.get("debug"):
        raise error
    sys.stderr.write(f"error: {printable(message)}\n")
    raise typer.Exit(1) from None


def _misused(error: Exception) -> NoReturn:
    """Tells wrong usage in one line; bare `featbert` shows the help instead."""
    if type(error).__name__ == HELP_SHOWN:
        raise error
    sys.stderr.write(f"error: {failures.misused(error)}\n")
    raise typer.Exit(WRONG_USAGE) from None


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


@app.callback(epilog="Example: featbert run experiments/quickstart.toml")
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
    """What the `featbert` command does."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        with interruptible():
            app()
    except KeyboardInterrupt as error:
        sys.exit(_interrupted(error, "no command was under way"))
    finally:
        gc.freeze()  # as Python ends it would look through all that is there, for a second


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
    "verify",
    "probe",
):
    importlib.import_module(f"featbert.cli.{_command}")
