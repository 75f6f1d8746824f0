"""What an adaptation is and what it will do: its epochs, its result, its folder, what it needs.

Importing this module loads neither torch nor transformers.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.data.corpus import Corpus
from featbert.encoders.source import EncoderSource
from featbert.errors import InputError
from featbert.training.adaptation_settings import DEFAULT_SETTINGS, MAX_LENGTH, AdaptSettings
from featbert.training.adapted_folder import finished_record, folder_name, identity_hash

if TYPE_CHECKING:
    from featbert.encoders.device import Device, Precision


class AdaptationError(InputError):
    """An adaptation that cannot be done: see the message."""


@dataclass(frozen=True)
class AdaptEpoch:
    """Losses of one epoch, in nats; `epoch` 0 is dev before training.

    Attributes:
        train_mlm, dev_mlm: mean loss of the chosen pieces.
        train_nsp, dev_nsp: mean loss of the labelled pairs; None without them.
        seconds: wall time, dev included.
    """

    epoch: int
    train_mlm: float | None
    train_nsp: float | None
    dev_mlm: float
    dev_nsp: float | None
    seconds: float

    @property
    def dev_perplexity(self) -> float:
        """exp of the mean masked-LM loss on dev."""
        return math.exp(self.dev_mlm) if self.dev_mlm < 700 else math.inf


@dataclass(frozen=True)
class Adapted:
    """An adapted encoder on disk.

    Attributes:
        folder: what `--model` takes.
        history: one row an epoch, from epoch 0.
        fresh: parts of the model that the checkpoint lacked; they began at random values.
        nsp: whether next-sentence prediction was trained.
        counts: what was unusual in train and dev: windowed_sentences, unknown_words.
        hit: whether it was there already, and nothing was done.
    """

    folder: Path
    history: list[AdaptEpoch]
    fresh: tuple[str, ...]
    nsp: bool
    counts: dict[str, int]
    hit: bool


@dataclass(frozen=True)
class AdaptationPlan:
    """What `adapt` will do.

    Attributes:
        folder: where the adapted encoder will be, or is.
        identity: hash of what it follows from.
        asked: what it follows from, as it is recorded.
        settings, seed: what it is trained with.
        nsp: whether next-sentence prediction is trained.
        device, precision: where and in what it is computed.
        overwrite: whether one that is there is made again.
        finished: the adapted encoder, where it is there already.
    """

    folder: Path
    identity: str
    asked: dict[str, Any]
    settings: AdaptSettings
    seed: int
    nsp: bool
    device: Device
    precision: Precision
    overwrite: bool
    finished: Adapted | None


def decide_nsp(corpus: Corpus, source: EncoderSource, wanted: str) -> bool:
    """Whether next-sentence prediction is trained; checks what language modelling needs.

    Raises:
        AdaptationError: the corpus lacks train or dev; or "on" where the model has no
            next-sentence head or a split no two sentences of one document.
    """
    for name, use in (("train", "train on"), ("dev", "measure perplexity on")):
        if name not in corpus or not len(corpus[name]):
            raise AdaptationError(
                f"a {name} split expected to {use}, {corpus.source or corpus.name} has "
                f"{', '.join(corpus.splits) or 'none'}; add a {name} file to the folder"
            )
    if wanted == "off":
        return False
    kind = source.config.get("model_type")
    lacking = []
    if kind != "bert" or source.config.get("type_vocab_size", 2) != 2:
        lacking.append(
            f"a BERT with two segment types expected for --nsp on, {source.name} is none ({kind})"
        )
    without = [name for name in ("train", "dev") if not _has_neighbours(corpus, name)]
    if without:
        lacking.append(
            "documents of at least two sentences expected for --nsp on, "
            f"{' and '.join(without)} of {corpus.source or corpus.name} "
            f"{'have' if len(without) > 1 else 'has'} none (-DOCSTART- lines mark them)"
        )
    if lacking and wanted == "on":
        raise AdaptationError("; ".join(lacking) + "; use --nsp off, or auto")
    return not lacking


def plan_adaptation(
    corpus: Corpus,
    source: EncoderSource,
    *,
    settings: AdaptSettings = DEFAULT_SETTINGS,
    out: str | Path | None = None,
    models_dir: str | Path = "cache/models",
    seed: int = 1,
    device: str = "auto",
    precision: str = "auto",
    overwrite: bool = False,
) -> AdaptationPlan:
    """What `adapt` will do, checked and named; nothing is written. See there."""
    nsp = decide_nsp(corpus, source, settings.nsp)

    from featbert.encoders.device import find_device, find_precision

    where = find_device(device)
    computed = find_precision(precision, where)
    asked: dict[str, Any] = {
        "base": {"weights": source.weights_hash, "files": source.files_hash},
        "text": {name: corpus[name].text_fingerprint for name in ("train", "dev")},
        "settings": dataclasses.asdict(settings)
        | {"nsp": nsp, "max_length": settings.max_length or MAX_LENGTH},
        "seed": seed,
        "precision": computed,
    }
    identity = identity_hash(asked)
    name = folder_name(source.name, corpus.name, identity)
    folder = Path(models_dir) / name if out is None else Path(out).expanduser()
    if folder.name in ("", ".."):  # what is written stands beside it under names made of its own
        folder = folder.resolve()
    if not folder.name:
        raise AdaptationError(f"a folder to be written expected, found {folder}; name one in it")
    plan = AdaptationPlan(
        folder, identity, asked, settings, seed, nsp, where, computed, overwrite, None
    )
    return dataclasses.replace(plan, finished=finished_adaptation(plan, source))


def finished_adaptation(
    plan: AdaptationPlan, source: EncoderSource, *, anew: bool | None = None
) -> Adapted | None:
    """The adapted encoder that is wanted, where it is there.

    Args:
        anew: whether one that is there does not count; as the plan says by default.

    Raises:
        AdaptedFolderError: see `finished_record`.
    """
    overwrite = plan.overwrite if anew is None else anew
    record = finished_record(plan.folder, source, plan.identity, overwrite=overwrite)
    if record is None:
        return None
    history = [_row(row) for row in record["history"]]
    fresh, counts = tuple(record["fresh"]), record["counts"]
    return Adapted(plan.folder, history, fresh, plan.nsp, counts, hit=True)


def _row(record: dict[str, Any]) -> AdaptEpoch:
    return AdaptEpoch(**{k: v for k, v in record.items() if k != "dev_perplexity"})


def _has_neighbours(corpus: Corpus, split: str) -> bool:
    """Whether all sentences have a document, and two neighbours the same."""
    documents = [s.document for s in corpus[split]]
    return None not in documents and len(set(documents)) < len(documents)
