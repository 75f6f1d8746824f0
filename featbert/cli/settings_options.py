"""Options for training settings: each names its unit and shows the default of its approach."""

from __future__ import annotations

from typing import Any, Literal

import typer

from featbert.config import defaults

# Setting: option, unit, help, least value, and what a default of None is called.
_OPTIONS: dict[str, tuple[str, str, str, int | None, str]] = {
    "epochs": ("--epochs", "EPOCHS", "Passes over the training split.", 1, ""),
    "batch_size": ("--batch-size", "SENTENCES", "Sentences of a training step.", 1, ""),
    "learning_rate": ("--learning-rate", "RATE", "Highest learning rate of AdamW.", None, ""),
    "dropout": ("--dropout", "SHARE", "Dropout of the tagger.", None, ""),
    "warmup": ("--warmup", "SHARE", "Part of the steps in which the rate rises from 0.", None, ""),
    "schedule": (
        "--schedule",
        "linear|constant",
        "The rate after the warmup: linear, down to 0, or constant.",
        None,
        "",
    ),
    "patience": (
        "--patience",
        "EPOCHS",
        "Stop after so many epochs without a better dev F1.",
        1,
        "never stop",
    ),
    "token_budget": (
        "--token-budget",
        "TOKENS",
        "Padded {tokens} computed at once: changes memory and time, the batch stays as it is.",
        1,
        "",
    ),
    "lstm_size": ("--hidden-size", "UNITS", "Units of the BiLSTM per direction.", 1, ""),
    "lstm_layers": (
        "--layers-lstm",
        "LAYERS",
        "Layers of the BiLSTM; 0 is a linear probe.",
        0,
        "",
    ),
    "discriminative": (
        "--discriminative",
        "FACTOR",
        "Each layer learns by this factor slower than the one above it, such as 2.6.",
        None,
        "",
    ),
    "unfreeze": (
        "--unfreeze",
        "LAYERS",
        "Unfreeze so many layers an epoch from the top, after one of the classifier alone.",
        1,
        "all from the start",
    ),
    "freeze_to": (
        "--freeze-to",
        "LAYER",
        "Never train the embeddings (0) and the layers up to this one; or all.",
        None,
        "none",
    ),
}


def setting(name: str, approach: Literal["features", "finetune"]) -> Any:
    """The option for a setting of `TrainingSettings`."""
    option, unit, told, least, nothing = _OPTIONS[name]
    default = getattr(defaults("none" if approach == "features" else "full"), name)
    shown = nothing if default is None else default
    told = told.format(tokens="wordpieces" if approach == "finetune" else "words")
    return typer.Option(
        option, metavar=unit, help=f"{told}  [default: {shown}]", min=least, show_default=False
    )
