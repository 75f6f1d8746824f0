"""SetFit with its defaults: all pairs once, batches of 16, then a logistic head."""

import argparse
import importlib.metadata
import tempfile
from typing import Any

from datasets import Dataset
from setfit import SetFitModel, Trainer, TrainingArguments

from benchmarks.compared.files import Example, run


def contrastive(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """Trains on pairs of texts and predicts."""
    examples = Dataset.from_dict(
        {key: [e[key] for e in splits["train"]] for key in ("text", "label")}
    )
    model = SetFitModel.from_pretrained(options.model, device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            seed=options.seed,
            report_to="none",
            save_strategy="no",
            show_progress_bar=False,
        )
        Trainer(model=model, args=arguments, train_dataset=examples).train()
    predicted = model.predict([e["text"] for e in splits["test"]], show_progress_bar=False)
    return [str(label) for label in predicted]


if __name__ == "__main__":
    run({"contrastive": contrastive}, importlib.metadata.version("setfit"))
