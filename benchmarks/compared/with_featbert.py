"""featbert with its defaults."""

import argparse
import tempfile
from typing import Any

import featbert
from benchmarks.compared.files import Example, run

LAYERS = "concat_last4"


def of_run(run: featbert.Run) -> list[Any]:
    """Predictions of test: a class, or tags, for each example."""
    answers = run.predictions("test").predicted
    return [list(a) for a in answers]


def trained(task: str, **settings: Any) -> Any:
    """A method that trains on frozen features, or fine-tunes if it is given no layers."""

    def method(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            shared = {"task": task, "seeds": options.seed, "runs_dir": f"{folder}/runs"}
            shared |= {"device": "cpu", "progress": False}
            if "layers" in settings:
                data, shared["cache_dir"] = {"data": str(options.folder)}, f"{folder}/cache"
                (run,) = featbert.train(model=options.model, **data, **settings, **shared)
            else:
                (run,) = featbert.finetune(str(options.folder), options.model, **settings, **shared)
            answers = of_run(run)
        return answers if task == "entities" else [answer[0] for answer in answers]

    return method


METHODS = {
    "frozen": trained("entities", layers=LAYERS, lstm_size=256),
    "frozen-30": trained("entities", layers=LAYERS, lstm_size=256, epochs=30),
    "frozen-softmax": trained("entities", layers=LAYERS, lstm_size=256, output="softmax"),
    "tuned": trained("entities"),
    "tuned-softmax": trained("entities", output="softmax"),
    "logistic": trained("classification", layers=LAYERS),
    "classes": trained("classification"),
    "contrastive": trained("classification", tuning="contrastive"),
}

if __name__ == "__main__":
    run(METHODS, featbert.__version__)
