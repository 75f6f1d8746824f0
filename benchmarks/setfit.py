"""SetFit and contrastive tuning on the same examples, both with one pass over all pairs and C = 1.

    python -m benchmarks.setfit CORPUS --model FOLDER --shots 8 --seeds 1-3

The corpus is a folder of texts with classes, the model that of a sentence-transformers checkpoint.
Needs setfit (1.2.0 works with transformers 5.23). Lines of JSON have the accuracy on test and the
seconds of training.
"""

import argparse
import json
import tempfile
import time
from typing import Any

from featbert import finetune
from featbert.config import parse_seeds
from featbert.data.corpus import Split
from featbert.data.load import load_corpus
from featbert.data.share import learned_part


def texts_and_classes(split: Split) -> tuple[list[str], list[str]]:
    """Texts and their classes."""
    return [" ".join(s.words) for s in split], [tags[0] for tags in split.tags]


def by_setfit(model: str, train: Split, test: Split, seed: int, folder: str) -> dict[str, Any]:
    """Accuracy and seconds of setfit."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    texts, classes = texts_and_classes(train)
    began = time.perf_counter()
    given = {"output_dir": folder, "seed": seed, "report_to": "none", "save_strategy": "no"}
    arguments = TrainingArguments(show_progress_bar=False, **given)
    examples = Dataset.from_dict({"text": texts, "label": classes})
    tuned = SetFitModel.from_pretrained(model, device="cpu")
    Trainer(model=tuned, args=arguments, train_dataset=examples).train()
    seconds = time.perf_counter() - began
    texts, classes = texts_and_classes(test)
    pairs = zip(tuned.predict(texts, show_progress_bar=False), classes, strict=True)
    return {"accuracy": sum(p == c for p, c in pairs) / len(classes), "seconds": seconds}


def main() -> None:
    """Prints a line for each seed and program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", required=True)
    parser.add_argument("--shots", type=int, default=8)
    parser.add_argument("--seeds", default="1")
    given = parser.parse_args()
    corpus = load_corpus(given.corpus, targets="classes")
    for seed in parse_seeds(given.seeds):
        part, _ = learned_part(corpus["train"], 1.0, shots=given.shots, seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            of_setfit = by_setfit(given.model, part, corpus["test"], seed, folder)
            (run,) = finetune(
                corpus,
                given.model,
                task="classification",
                tuning="contrastive",
                epochs=1,
                max_pairs=1_000_000,
                shots=given.shots,
                seeds=seed,
                precision="fp32",
                device="cpu",
                runs_dir=folder,
                progress=False,
            )
        record = run.record
        ours = {"accuracy": record.score("test"), "seconds": record.cost.training_seconds}
        for program, values in (("setfit", of_setfit), ("featbert", ours)):
            line = {"program": program, "seed": seed, "shots": given.shots, **values}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
