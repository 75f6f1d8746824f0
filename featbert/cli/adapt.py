"""featbert adapt"""

import shlex
from pathlib import Path
from typing import Any

import typer

from featbert.cli import options as o
from featbert.cli.progress import load_torch
from featbert.config import LARGEST_SEED, Adapt, Compute, Data, Encoding
from featbert.progress import report
from featbert.text import printable, unusual


@o.command(
    "adapt --data corpora/wikigold --epochs 10",
    (Data, Encoding, Adapt, Compute),
    defaults={"max_length": "128 or less"},
    without=(
        *("task", "scheme", "tag_column", "label_names", "tag_scheme"),
        *("context", "casing", "pooling", "packing", "keep", "store_dtype"),
    ),
)
def adapt(
    given: dict[str, Any],
    seed: int = o.option("SEED", "Random seed.", default=1, min=0, max=LARGEST_SEED),
    out: Path | None = o.option(
        "DIR", "Folder to write.  [default: one of its own in --models-dir]"
    ),
    models_dir: Path = o.option("DIR", "Folder of adapted encoders.", default=Path("cache/models")),
    overwrite: bool = o.OVERWRITE,
) -> None:
    """Train the encoder as a language model on the corpus first.

    It learns masked wordpieces and, where the corpus has documents, the next sentence from the
    words of the train split. The folder that is written is an encoder: give it to --model.
    """
    o.check_folder(models_dir if out is None else out, "--models-dir" if out is None else "--out")
    from featbert.adaptation.adapt import adapt as adapt_encoder
    from featbert.adaptation.plan import decide_nsp
    from featbert.data.load import load_corpus
    from featbert.encoders.source import find_encoder
    from featbert.encoders.tokenizer import is_uncased

    settings, text = o.chosen(Adapt, given), o.chosen(Data, given)
    compute = o.chosen(Compute, given)
    source = find_encoder(o.chosen(Encoding, given).model)
    corpus = load_corpus(text.data, text.reading, targets=None)
    with_nsp = decide_nsp(corpus, source, settings.nsp)
    load_torch(compute.threads)
    if is_uncased(source):
        report(f"{source.name} is uncased: words are lowercased before they are read")
    objectives = "masked wordpieces" + (" and the next sentence" if with_nsp else "")
    report(f"{source.name} as a language model of {corpus.name}: {objectives}")
    adapted = adapt_encoder(
        corpus,
        source,
        settings=settings,
        out=out,
        models_dir=models_dir,
        seed=seed,
        overwrite=overwrite,
        **compute.where,
    )
    lines = [*map(str, adapted.history)]
    if adapted.fresh:
        lines.append(f"not in the checkpoint, random at the start: {', '.join(adapted.fresh)}")
    if found := unusual(adapted.counts):
        lines.append(f"unusual: {found}")
    state = "exists already, nothing to do" if adapted.hit else "written"
    for line in [*lines, f"{adapted.folder}: {state}"]:
        typer.echo(printable(line))
    words = f"--model {shlex.quote(str(adapted.folder))}"
    words += "" if text.data == "sample" else f" --data {shlex.quote(text.data)}"
    report(f"featbert train {words} and featbert finetune {words} read it")
