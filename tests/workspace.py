"""A small corpus on disk and a folder to work in: what the command-line tests stand on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from featbert import api
from featbert.cli.main import app
from featbert.runs.run import Run
from tests.processes import Ended

WORDS = [
    ("Jordan Smith of Chelsea beat Washington", "B-PER I-PER O B-ORG O B-LOC"),
    ("The Herald said Hamilton was quick", "O B-ORG O B-PER O O"),
    ("EU rejects German call", "B-ORG O B-MISC O"),
    ("Hamilton is near Washington .", "B-LOC O O B-LOC O"),
    ("No entity here at all", "O O O O O"),
    ("Smith jumps over the lazy dog", "B-PER O O O O O"),
]


def write_splits(folder: Path, *splits: Sequence[tuple[str, str]], in_document: int = 0) -> Path:
    """Sentences (words, tags) of train, dev and test; 0 in a document marks no documents."""
    folder.mkdir(parents=True)
    for name, sentences in zip(("train", "dev", "test"), splits, strict=True):
        lines = []
        for number, (words, tags) in enumerate(sentences):
            if in_document and number % in_document == 0:
                lines.append("-DOCSTART- O\n")
            lines += [f"{w} {t}" for w, t in zip(words.split(), tags.split(), strict=True)]
            lines.append("")
        (folder / f"{name}.conll").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def write_corpus(folder: Path, *, repeat: int = 4) -> Path:
    """Six sentences in two documents, `repeat` times for train, once for dev and test."""
    return write_splits(folder, WORDS * repeat, WORDS, WORDS, in_document=3)


def command(*words: object, input: str | bytes | None = None) -> Result:
    """The result of a command in this process; stdout and stderr apart."""
    return CliRunner().invoke(app, [*map(str, words)], input=input)


def error_of(result: Result | Ended) -> str:
    """The one line on stderr of a refused command."""
    assert result.exit_code == 1, result.stdout + result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def ok(result: Result) -> Result:
    """The result of a command that went well."""
    assert result.exit_code == 0, result.output
    return result


@dataclass(frozen=True)
class Workspace:
    """A folder with a corpus; commands run with its cache and runs."""

    folder: Path
    corpus: Path
    model: Path

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def call(self, *words: object) -> Result:
        return command(*words)

    def extract(self, *words: object) -> Result:
        where = ("--model", self.model, "--data", self.corpus, "--cache-dir", self.cache)
        return self.call("extract", *where, *words)

    def train(self, *words: object) -> Result:
        where: list[object] = ["--cache-dir", self.cache, "--runs-dir", self.runs]
        if "--features" not in words:
            where += ["--model", self.model, "--data", self.corpus]
        small = ("--lstm-size", 8, "--epochs", 2)
        return self.call("train", *where, *small, *words)

    def finetune(self, *words: object) -> Result:
        where = ("--model", self.model, "--data", self.corpus, "--runs-dir", self.runs)
        return self.call("finetune", *where, "--epochs", 2, *words)

    def experiment(self, text: str) -> Path:
        """A file of an experiment on the corpus and the encoder, with these lines."""
        path = self.folder / "trial.toml"
        names = f"data = {str(self.corpus)!r}\nmodel = {str(self.model)!r}\n"
        path.write_text(names + text, "utf-8")
        return path

    def carry_out(self, file: Path, *words: object) -> Result:
        where = ("--cache-dir", self.cache, "--runs-dir", self.runs)
        return self.call("run", file, *where, *words)

    def compare(self, *words: object) -> Result:
        return self.call("compare", "--runs-dir", self.runs, *words)


def train(*material: Any, seed: int = 1, **options: Any) -> Run:
    """The run on features of a store and layers."""
    (run,) = api.train(*material, seeds=seed, progress=False, **options)
    return run


def finetune(*material: Any, seed: int = 1, **options: Any) -> Run:
    """The run that tunes an encoder on a corpus."""
    (run,) = api.finetune(*material, seeds=seed, progress=False, **options)
    return run
