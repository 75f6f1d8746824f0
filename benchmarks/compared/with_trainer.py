"""transformers' Trainer as its examples use it, and with the rate and epochs of featbert.

`ner` has the defaults of run_ner.py (5e-5, 3 epochs, batches of 8, no evaluation in between),
`classes` what the examples recommend for GLUE (2e-5, 3 epochs, batches of 32). `same` has what
featbert takes by default, with the best epoch by dev.
"""

import argparse
import tempfile
from typing import Any

import transformers
from seqeval.metrics import f1_score
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

from benchmarks.compared.files import Example, run

IGNORED = -100
SAME = {
    "learning_rate": 2e-4,
    "warmup_steps": 0.1,
    "eval_strategy": "epoch",
    "save_strategy": "epoch",
    "load_best_model_at_end": True,
    "metric_for_best_model": "score",
    "save_total_limit": 1,
}


class Words:
    """Labels of words: the first subword of each word has its tag, the others none."""

    def __init__(self, splits: dict[str, list[Example]], model: str) -> None:
        self.labels = sorted({tag for e in splits["train"] for tag in e["tags"]})
        self.tokenizer = AutoTokenizer.from_pretrained(model, add_prefix_space=True)
        self.model = AutoModelForTokenClassification.from_pretrained(
            model, num_labels=len(self.labels)
        )
        self.collator = DataCollatorForTokenClassification(self.tokenizer)

    def encoded(self, examples: list[Example]) -> list[dict[str, Any]]:
        """Subwords and labels of the examples."""
        rows = []
        for example in examples:
            row = self.tokenizer(example["words"], is_split_into_words=True, truncation=True)
            words = row.word_ids()
            row["labels"] = [
                IGNORED
                if word is None or word == previous or example["tags"][word] not in self.labels
                else self.labels.index(example["tags"][word])
                for previous, word in zip([None, *words], words, strict=False)
            ]
            row["first"] = words
            rows.append(dict(row))
        return rows

    def answers(self, logits: Any, rows: list[dict[str, Any]]) -> list[Any]:
        """Tags of each example."""
        tags = []
        for scores, row in zip(logits, rows, strict=True):
            words = row["first"]
            tags.append(
                [
                    self.labels[scores[place].argmax()]
                    for place, word in enumerate(words)
                    if word is not None and word != (words[place - 1] if place else None)
                ]
            )
        return tags

    @staticmethod
    def score(given: list[Any], predicted: list[Any]) -> float:
        """Entity F1."""
        return float(f1_score(given, predicted))

    @staticmethod
    def of(example: Example) -> Any:
        """The tags of an example."""
        return list(example["tags"])


class Classes:
    """A class of each text."""

    def __init__(self, splits: dict[str, list[Example]], model: str) -> None:
        self.labels = sorted({e["label"] for e in splits["train"]})
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModelForSequenceClassification.from_pretrained(
            model, num_labels=len(self.labels)
        )
        self.collator = DataCollatorWithPadding(self.tokenizer)

    def encoded(self, examples: list[Example]) -> list[dict[str, Any]]:
        """Subwords and class of the examples."""
        rows = [dict(self.tokenizer(e["text"], truncation=True)) for e in examples]
        for row, example in zip(rows, examples, strict=True):
            row["labels"] = self.labels.index(example["label"])
        return rows

    def answers(self, logits: Any, rows: list[dict[str, Any]]) -> list[Any]:
        """The class of each example."""
        return [self.labels[k] for k in logits.argmax(-1)]

    @staticmethod
    def score(given: list[Any], predicted: list[Any]) -> float:
        """Accuracy."""
        return sum(bool(a == b) for a, b in zip(given, predicted, strict=True)) / len(given)

    @staticmethod
    def of(example: Example) -> Any:
        """The class of an example."""
        return str(example["label"])


def tuned(
    kind: type[Words | Classes],
    splits: dict[str, list[Example]],
    options: argparse.Namespace,
    **settings: Any,
) -> list[Any]:
    """Fine-tunes and predicts test."""
    transformers.set_seed(options.seed)
    task = kind(splits, options.model)
    rows = {name: task.encoded(examples) for name, examples in splits.items()}
    inputs: dict[str, Any] = {
        name: [{k: v for k, v in row.items() if k != "first"} for row in of_split]
        for name, of_split in rows.items()
    }

    def measured(prediction: Any) -> dict[str, float]:
        answers = task.answers(prediction.predictions, rows["dev"])
        return {"score": task.score([task.of(e) for e in splits["dev"]], answers)}

    with tempfile.TemporaryDirectory() as folder:
        plain = {"save_strategy": "no"} | settings
        arguments = TrainingArguments(
            output_dir=folder,
            seed=options.seed,
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
            per_device_eval_batch_size=32,
            **plain,
        )
        trainer = Trainer(
            model=task.model,
            args=arguments,
            train_dataset=inputs["train"],
            eval_dataset=inputs["dev"],
            data_collator=task.collator,
            compute_metrics=measured,
        )
        trainer.train()
        trainer.compute_metrics = None
        logits = trainer.predict(inputs["test"]).predictions
    return task.answers(logits, rows["test"])


def ner(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """As run_ner.py by default."""
    rate = {"learning_rate": 5e-5, "num_train_epochs": 3, "per_device_train_batch_size": 8}
    return tuned(Words, splits, options, **rate)


def classes(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """As run_glue.py is called in its description."""
    rate = {"learning_rate": 2e-5, "num_train_epochs": 3, "per_device_train_batch_size": 32}
    return tuned(Classes, splits, options, **rate)


def same_ner(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """With featbert's default rate and epochs."""
    size = {"num_train_epochs": 12, "per_device_train_batch_size": 16}
    return tuned(Words, splits, options, **SAME, **size)


def same_classes(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """With featbert's default rate and epochs."""
    size = {"num_train_epochs": 3, "per_device_train_batch_size": 32}
    return tuned(Classes, splits, options, **SAME, **size)


if __name__ == "__main__":
    methods = {"ner": ner, "classes": classes, "same-ner": same_ner, "same-classes": same_classes}
    run(methods, transformers.__version__)
