"""A page's blocks carried out in a folder, made small: few epochs, few units, one process.

A page's commands and code are those that a reader types. What is added to a command is what makes
it cheap and nothing else; `NAME.h5` and `RUN` are what the commands before them have made.
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featbert.config import parse_seeds
from featbert.data.load import load_corpus
from featbert.encoders.layers import NAMES
from featbert.experiments.file import experiment_file, read_experiment
from featbert.tasks.base import get_task
from tests.docs.pages import OUTSIDE, SHELL, Block
from tests.experiments.experiment_files import CANDIDATES
from tests.workspace import command

# Suffixes of the corpus files that blocks show.
CORPUS_FILES = {"conll": "conll", "json": "jsonl"}
# Seeds of an experiment that a page asks for, and all else that there may be several of.
MOST = 2
# Options that stay away, with their values.
ON_RAY = {"--on", "--gpus-per-run"}
# Words of a command that trains no BiLSTM.
NO_BILSTM = {"linear", "classification", "choice", "multilabel", "regression"}
# What is added to a command that trains; the last of an option that is given twice counts.
CHEAP = {
    "train": ["--epochs", "1"],
    "finetune": ["--epochs", "1"],
    "adapt": ["--epochs", "1", "--max-length", "32"],
}


@dataclass
class Page:
    """A page being carried out.

    Attributes:
        folder: where, with what the page names (`stand_ins`).
        task: task of the corpus files on the page. If None, a file's first line says it.
        printed: by the block of commands or code that came last.
        commands: of featbert, that were run.
    """

    folder: Path
    task: str | None = None
    printed: str = ""
    commands: int = 0
    names: dict[str, Any] = field(default_factory=dict)
    experiment: Path | None = None

    def carry_out(self, block: Block, capsys: Any) -> None:
        """One block, by its language; what it does must go well."""
        if block.language in SHELL:
            self._commands(block)
        elif block.language == "python":
            capsys.readouterr()
            exec(compile(block.text, "a page's code", "exec"), self.names)
            self.printed = capsys.readouterr().out
        elif block.language == "toml":
            self._experiment(block)
        elif block.language == "text":
            self._compare(block.text)
        elif block.language in CORPUS_FILES:
            path = self.folder / f"shown.{CORPUS_FILES[block.language]}"
            path.write_text(block.text, "utf-8")
            targets = "classes" if '"label": "' in block.text else "entities"
            if self.task is not None:
                targets = get_task(self.task).targets
            (split,) = load_corpus(path, targets=targets).splits.values()
            assert split.tags
        else:
            # Commands of a "bash" block need a network or a cluster and are not run.
            assert block.language in ("bash", "diff", "dockerfile", "yaml"), block

    def _commands(self, block: Block) -> None:
        outputs = []
        for words in block.commands:
            if words[0] != "featbert":
                assert words[0] in OUTSIDE or not block.language, words
                continue
            words = cheap([self._told(word) for word in words[1:]])
            result = command(*words)
            assert result.exit_code == 0, f"featbert {' '.join(words)}\n{result.output}"
            outputs.append(result.output)
            self.commands += 1
        self.printed = "\n".join(outputs)

    def _told(self, word: str) -> str:
        if word == "RUN":
            return newest(self.folder / "experiments" / "runs", "*/record.json").parent.name
        if word.endswith("NAME.h5"):
            return str(newest(self.folder / "cache", "*.h5"))
        return word

    def _experiment(self, block: Block) -> None:
        """A file of its own, or, without an approach, an addition to the one before it."""
        data = tomllib.loads(block.text)
        tables = [data, *(data.get("variant", []) if "corpora" in data else [])]
        approaches = [table for table in tables if {"features", "finetune"} & table.keys()]
        text = block.text
        if block.file or approaches:
            self.experiment = self.folder / (block.file or "mine.toml")
        else:
            assert self.experiment is not None
            text = f"{self.experiment.read_text('utf-8')}\n{text}"
        self.experiment.write_text(text, "utf-8")
        assert read_experiment(self.experiment).configurations

    def _compare(self, told: str) -> None:
        """Output on a page has the lines, columns and rows of the real one; numbers are its own."""
        real = [" ".join(line.split()) for line in self.printed.split("\n")]
        for line in told.split("\n"):
            if not line.strip(" ─…"):
                continue
            if not re.search(r"\d", line):
                assert " ".join(line.split()) in real, f"{line!r} is not in\n{self.printed}"
            elif not re.search(r"\d", label := re.split(r"\s{2,}", line.strip())[0]):
                starts = any(r.startswith(label) for r in real)
                assert starts, f"{label!r} begins no line of\n{self.printed}"


def newest(folder: Path, pattern: str) -> Path:
    """What was made last."""
    found = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)
    assert found, f"{pattern} in {folder}"
    return found[-1]


def cheap(words: list[str]) -> list[str]:
    """A command with what makes it cheap: on this machine, few epochs and seeds."""
    pairs = zip(words, ["", *words], strict=False)
    words = [word for word, before in pairs if not {word, before} & ON_RAY]
    added = CHEAP.get(words[0], [])
    if words[0] == "train" and not NO_BILSTM & {*words}:
        added = [*added, "--lstm-size", "8"]
    if words[0] == "run":
        added = ["--jobs", "1", *(part for s in small(words) for part in ("--set", s))]
    if "--shots" in words:
        added = [*added, "--shots", "1"]
    if "--seeds" in words:
        seeds = parse_seeds(words[words.index("--seeds") + 1])
        added = [*added, "--seeds", ",".join(map(str, seeds[: MOST if words[0] == "run" else 1]))]
    return [*words, *added]


def small(words: list[str]) -> list[str]:
    """Changes to an experiment file: an epoch, few units and seeds, two rows and values to try."""
    path = experiment_file(Path(words[1]))
    data = tomllib.loads(path.read_text("utf-8"))
    told = dict(words[i + 1].split("=", 1) for i, w in enumerate(words) if w == "--set")
    sets = [] if "--seeds" in words else ["seeds=1"]
    if "minutes" in data:
        sets.append(CANDIDATES)
    if "features" in data:
        small, searched = {"epochs": 1, "lstm_size": 4}, data.get("grid", {}).get("features", {})
        sets += [f"features.{name}={n}" for name, n in small.items() if name not in searched]
        if "features.layers" not in told:
            sets.append(f"features.layers={data['features'].get('layers', list(NAMES))[-MOST:]}")
    if "finetune" in data and "epochs" not in data.get("grid", {}).get("finetune", {}):
        sets.append("finetune.epochs=1")
    if "train_sizes" in data:
        sets.append(f"train_sizes.shares={data['train_sizes']['shares'][-MOST:]}")
    for approach, table in data.get("grid", {}).items():
        for key, values in table.items() if isinstance(table, dict) else ():
            most = MOST if key == "learning_rate" else 1
            sets.append(f"grid.{approach}.{key}={[1] if key == 'epochs' else values[:most]}")
    return sets
