"""What the programs read and write. It needs the standard library only.

A folder has `train.json`, `dev.json` and `test.json`: lists of examples with `text`, `label`, or
with `words`, `tags` (BIO) and `starts_document`.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Example = dict[str, Any]
# Trains on the examples of the splits and predicts those of test: a class, or tags, for each.
Method = Callable[[dict[str, list[Example]], argparse.Namespace], list[Any]]


def run(methods: Mapping[str, Method], version: str) -> None:
    """Runs the method of the command line: FOLDER METHOD --model M --seed N --out FILE."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("method", choices=methods)
    parser.add_argument("--model", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    names = ("train", "dev", "test")
    splits = {name: json.loads((options.folder / f"{name}.json").read_text()) for name in names}
    began = time.process_time()
    predictions = methods[options.method](splits, options)
    seconds = time.process_time() - began
    answer = {"version": version, "predictions": predictions, "without_imports": seconds}
    options.out.write_text(json.dumps(answer))
