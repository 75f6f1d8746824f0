"""Runs with predictions on disk, over words that try to be more than words."""

import random
from pathlib import Path

from featbert.runs.run import Run
from featbert.tasks.entities import TASK
from tests.analysis.records import make_record

HOSTILE = (
    *("<script>window.hacked=1</script>", "<img/src=x/onerror=window.hacked=2>"),
    *("</script><script>window.hacked=3</script>", "&amp;", "]]>", "<!--", '"><b>', "{{7*7}}"),
    *("\u202eabc", "می\u200cخواهم", "a\u2028b", "\x1b[31m"),
)
TYPES = ("PER", "LOC", "ORG")


def sentences(n: int, seed: int = 3) -> list[tuple[list[str], list[str]]]:
    """Words and gold tags of n sentences; each hostile word is in some of them."""
    draw = random.Random(seed)
    found = []
    for number in range(n):
        words = [f"word{draw.randrange(50)}" for _ in range(draw.randrange(2, 9))]
        words[draw.randrange(len(words))] = HOSTILE[number % len(HOSTILE)]
        tags = ["O"] * len(words)
        at = draw.randrange(len(words))
        tags[at] = f"B-{draw.choice(TYPES)}"
        if at + 1 < len(words) and draw.random() < 0.4:
            tags[at + 1] = f"I-{tags[at][2:]}"
        found.append((words, tags))
    return found


def mistaken(tags: list[str], draw: random.Random, share: float) -> list[str]:
    """Tags with another type, without their entity, or as they were."""
    if draw.random() >= share:
        return tags
    kind = draw.choice([*TYPES, ""])
    return [tag if tag == "O" else f"{tag[:2]}{kind}" if kind else "O" for tag in tags]


def make_run(
    folder: Path, name: str, seed: int, share: float, *, splits=("dev", "test"), n=90,
    in_document=10, **changes,
) -> Run:  # fmt: skip
    """A finished run whose sentences are wrong with that probability; 0 marks no documents."""
    run = folder / f"{name}-{seed}"
    run.mkdir(parents=True)
    scores = {}
    for split in splits:
        draw = random.Random(f"{name} {seed} {split}")
        rows = sentences(n, seed=len(split))
        found = [mistaken(tags, draw, share) for _, tags in rows]
        lines = []
        for number, ((words, gold), predicted) in enumerate(zip(rows, found, strict=True)):
            if in_document and number % in_document == 0:
                lines.append("-DOCSTART-\tO\tO\n\n")
            lines += [f"{w}\t{g}\t{p}\n" for w, g, p in zip(words, gold, predicted, strict=True)]
            lines.append("\n")
        (run / f"{split}.conll").write_text("".join(lines), "utf-8")
        scores[split] = TASK.score([tags for _, tags in rows], found)
    return Run(run, make_record(run.name, seed=seed, scores=scores, **changes))


def usual(folder: Path, seeds=(1, 2, 3), **changes) -> list[Run]:
    """Two feature rows and fine-tuning."""
    rows = (("tuned", None, 0.3), ("concat", "concat_last4", 0.4), ("last", "last", 0.6))
    return [
        make_run(folder, name, seed, share, layers=layers, **changes)
        for name, layers, share in rows
        for seed in seeds
    ]
