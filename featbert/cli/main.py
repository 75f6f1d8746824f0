"""The `featbert` command: its subcommands, exit codes, signals and one-line errors."""

import gc
import os
import re
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from featbert.encoders.device import check_address_space
from featbert.errors import OPTIONS, SYNONYMS, nearest, reason
from featbert.io import cannot_write, utf8_path
from featbert.progress import set_within, shown, tell
from featbert.registry import Entry, Registry
from featbert.text import printable


@dataclass(frozen=True)
class Subcommand(Entry):
    """A subcommand and its help text. Importing its module adds it to `app`."""

    help: str


# Name, place in cli/ and help text, in the order of `--help`. A module is imported when its command
# is used, which keeps `--help` and the light commands fast.
COMMANDS = Registry(
    "command",
    {
        name: Subcommand(f"featbert.cli.{place}", text)
        for name, place, text in (
            ("extract", "extract:extract", "Store the hidden states of every word, once."),
            ("train", "train:train", "Train a small model on stored features."),
            ("finetune", "train:finetune", "Fine-tune the encoder with a head on top."),
            ("adapt", "train:adapt", "Train the encoder as a language model on your text first."),
            ("compare", "compare:compare", "Compare finished runs: quality and cost."),
            ("evaluate", "evaluate:evaluate", "Score a finished run on another corpus or split."),
            ("predict", "predict:predict", "Tag text with a finished run."),
            ("export", "export:export", "Write a finished run as a folder to use or share."),
            ("speed", "evaluate:speed", "Time how fast finished runs label sentences."),
            ("run", "run:run", "Run an experiment file: extract, train, compare."),
            ("runs", "runs:runs_app", "List, show and delete runs."),
            ("cache", "stores:cache_app", "List and delete feature stores and adapted encoders."),
            ("check", "check:check", "Check that a corpus is read as you expect."),
            ("embed", "predict:embed", "Write a vector for each text of a file."),
            ("inspect", "stores:inspect", "Show the content of a feature store."),
            ("verify", "stores:verify", "Compare feature stores with their checksums."),
            ("probe", "probe:probe", "Check features quickly with logistic regression."),
        )
    },
)
# Exit codes of a program that SIGINT (Ctrl-C) or SIGTERM ended, as shells report them.
INTERRUPTED, TERMINATED = 130, 143
WRONG_USAGE = 2
# Commands that import neither scipy nor torch.
LIGHT = ("check", "ls", "inspect", "verify")
# Advice after a command was stopped, and after memory ran out.
RESUMES = "finished work is kept; run the same command again"
SMALLER = (
    "compute less at a time (a smaller --token-budget or --lstm-size, fewer layers or --jobs), or "
    "use --device cpu or a machine with more memory"
)
# The error that typer raises for wrong usage, which has no public name.
USAGE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


# Key of a command's `meta` while its help has all options.
ALL_OPTIONS = "featbert all options"
# A hyphen while lines are wrapped, which do not end within the name of an option or encoder.
NO_BREAK = "\u2011"


class Command(TyperCommand):
    """A command that shows its progress on stderr unless it is --quiet.

    Its messages spell settings as its options. Only --help-all shows the options that are hidden at
    the start. Everything else treats them like the others.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        parameter: Any
        self.rare = [parameter for parameter in self.params if getattr(parameter, "hidden", False)]
        for parameter in self.rare:
            parameter.hidden = False
        for parameter in self.params:  # no Python types and ranges: RUN <list[str]>, [x>=1]
            parameter.min = parameter.max = None
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda ctx: ""

    def get_help(self, ctx: Any) -> str:
        return str(super().get_help(ctx)).replace(NO_BREAK, "-")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the arguments and a panel for each kind of options."""
        panels: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        parameter: Any
        for parameter in self.get_params(ctx):
            if ALL_OPTIONS in ctx.meta or parameter not in self.rare:
                is_argument = parameter.param_type_name == "argument"
                panel = "Arguments" if is_argument else parameter.rich_help_panel or "Options"
                name, text = parameter.get_help_record(ctx)
                panels.setdefault(panel, []).append((name, text.replace("-", NO_BREAK)))
        for panel, records in panels.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        with set_within(OPTIONS, _options(self)), shown(quiet=bool(ctx.params.get("quiet"))):
            if ctx.info_name not in LIGHT:
                check_address_space("scipy")
            for value in ctx.params.values():  # files are checked when they are recorded
                for text in value if isinstance(value, list | tuple) else [value]:
                    if isinstance(text, str) and not os.path.exists(text):
                        utf8_path(text)
            return super().invoke(ctx)


def _options(command: Any) -> dict[str, str]:
    """The options of a command by parameter."""
    return {parameter.name: parameter.opts[0] for parameter in command.params}


def show_all(ctx: typer.Context, wanted: bool) -> None:
    """Shows the help of a command with all options, and ends it."""
    if wanted:
        ctx.meta[ALL_OPTIONS] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


class Group(TyperGroup):
    """A command with commands of its own."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        commands = self.list_commands(ctx)
        if args[0] not in commands and not args[0].startswith("-"):
            near = nearest(args[0], [*commands, "--version", "--help"])
            if SYNONYMS.get(args[0]) == ctx.info_name:
                near = f"; {ctx.command_path} without a command lists them"
            ctx.fail(f"unknown command {args[0]!r}{near or '; use ' + ', '.join(commands)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with set_within(OPTIONS, _options(self)):
            return super().invoke(ctx)


class Commands(Group):
    """Imports subcommands when they are used. Turns errors into one line and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            COMMANDS.load(cmd_name)
            built = typer.main.get_group(app)
            self.commands = {**built.commands, **self.commands}
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            code = super().main(*args, **kwargs | {"standalone_mode": False})
            sys.stdout.flush()
        except USAGE_ERROR as error:
            words = kwargs.get("args") or sys.argv[1:]  # not all errors name their command
            _show_usage_error(error, next((w for w in words if w in COMMANDS), ""))
            code = WRONG_USAGE
        except typer.Abort:  # the question of `rm` was answered with no
            tell("nothing removed")
            code = 1
        except OSError as error:  # nothing but the output of --help, --version and completion
            code = _without_output(error)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, SystemExit) as error:
            terminated = isinstance(error, SystemExit)
            state = "terminated" if terminated else "interrupted"
            # The terminal has written ^C at the cursor.
            start = "\n" if sys.stderr.isatty() else ""
            overwrites = " (--overwrite would start over)" * ("--overwrite" in sys.argv)
            tell(f"{start}{state}; {RESUMES}{overwrites}")
            raise typer.Exit(TERMINATED if terminated else INTERRUPTED) from None
        except (typer.Exit, typer.Abort, USAGE_ERROR):
            raise
        except BrokenPipeError as error:
            raise typer.Exit(_without_output(error)) from None
        except Exception as error:
            if ctx.params.get("debug"):  # here, since `main` takes an OSError for lost output
                traceback.print_exc()
                raise typer.Exit(1) from None
            try:
                sys.stdout.flush()
            except OSError as lost:
                raise typer.Exit(_without_output(lost)) from None
            message = reason(error, SMALLER)
            if message.startswith("unexpected"):
                message += "; featbert --debug COMMAND shows where"
            tell(f"error: {printable(message)}")
            raise typer.Exit(1) from None


def _without_output(error: OSError) -> int:
    """The exit code if stdout cannot be written: 0 if its reader has ended, such as `head`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes at its end
    if isinstance(error, BrokenPipeError):
        return 0
    tell(f"error: {cannot_write(Path('standard output'), error)}")
    return 1


# Messages of typer about wrong usage, and our wording.
_PLAIN = {
    r"^Missing (?:argument|option|parameter) '?([\w-]+).*": r"\1 is missing",
    r"^Got unexpected extra arguments?\S* \((.*)\)": r"unexpected '\1'",
    r"^Option '([^']+)' requires .*": r"\1 has no value",
    r"^Option '([^']+)' does not take a value": r"\1 takes no value",
    r"^Invalid value for '([^']+)': Input should be (a valid \w+).*": r"\1 is not \2",
}


def _show_usage_error(error: Any, command: str) -> None:
    """Shows one line. `featbert` without arguments shows its help instead."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    message = error.format_message().rstrip(".").removeprefix("Invalid value: ")
    message = message.replace(": Value error, ", ": ")  # pydantic's words for a type's error
    for pattern, plain in _PLAIN.items():
        message = re.sub(pattern, plain, message)
    parameters = error.ctx.command.params if error.ctx else []
    options = [option for parameter in parameters for option in parameter.opts]
    if "--data" in options and (argument := re.fullmatch(r"unexpected '(\S+)'", message)):
        message += f" (did you mean --data {argument[1]}?)"
    if hasattr(error, "possibilities"):
        near = ""
        if "--set" in options:
            from featbert.config import keys_named
            from featbert.experiments.file import Configuration

            keys = keys_named(Configuration, error.option_name.strip("-").replace("-", "_"))
            near = f" (did you mean {' or '.join(f'--set {k}=' for k in keys)}?)" * bool(keys)
        near = near or nearest(error.option_name, options)
        message = f"unknown option {error.option_name}{near}"
    elif choice := re.search(r"'(--[\w-]+)': '(.*)' is not one of '(.*)'", message):
        values = choice[3].split("', '")
        message = f"unknown {choice[1]} {choice[2]!r}{nearest(choice[2], values)}; use "
        message += ", ".join(values)
    path = error.ctx.command_path if error.ctx else f"featbert {command}".rstrip()
    tell(f"error: {printable(message)}; see {path} --help")


app = typer.Typer(
    cls=Commands,
    name="featbert",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from featbert import __version__

        typer.echo(f"featbert {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: featbert run quickstart")
def featbert(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Fine-tune BERT, or train a small model on its frozen features?

    Extract features once, train on them, fine-tune, and compare quality and cost.
    """


def main() -> None:
    """Runs the command line."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        # Closed, as by `>&-`: the next open file would get its number.
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    try:
        app()
    finally:
        gc.freeze()  # else Python collects garbage among a million objects when it exits
