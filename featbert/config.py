"""Settings of a run. The only place for a setting's type, bounds and description.

Command-line options, experiment files, a run's settings and identity, and the reference in docs/
all come from these models.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from featbert.data.options import ReadingOptions
from featbert.encoders.device import DEVICES
from featbert.encoders.source import DEFAULT_MODEL
from featbert.encoders.tunings import TUNINGS, get_tuning
from featbert.encoders.tunings.base import Tuning
from featbert.errors import InputError, check_known, nearest, spelling
from featbert.models.registry import (
    BODIES,
    KEPT_POOLINGS,
    OUTPUTS,
    POOLINGS,
    TRAINERS,
    Part,
    Trainer,
)
from featbert.tasks.base import TASKS, get_task, task_of
from featbert.text import printable, shortened

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from featbert.encoders.encoding import EncodingOptions

# Folders that commands read and write by default.
RUNS_DIR, CACHE_DIR = Path("experiments/runs"), Path("cache")
LARGEST_SEED = 999_999_999
MOST_EPOCHS = 1_000_000_000
# Labelling times are shown per this many sentences.
TIMED_SENTENCES = 1000
S = TypeVar("S", bound=BaseModel)
T = TypeVar("T")
# A list, or a single value.
Several = Annotated[
    list[T],
    Field(strict=False),
    BeforeValidator(lambda value: [*value] if isinstance(value, list | tuple) else [value]),
]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
# Accepts a path in place of a name.
Name = BeforeValidator(lambda value: str(value) if isinstance(value, Path) else value)


def _filled(values: T) -> T:
    if isinstance(values, list | tuple) and not values:
        raise ValueError("an empty list; give at least one, or leave it out")
    return values


# Refuses an empty list, which could mean none or all.
Filled = AfterValidator(_filled)
# Marks a field that the command line does not have.
NO_OPTION = "no option"


@dataclass(frozen=True)
class Option:
    """How the command line shows a field.

    Attributes:
        metavar: kind of value, such as CORPUS. It also chooses the completions.
        name: of the option, if it is not the field's.
        suggests: values to complete, if others are possible too.
        is_flag: whether there is an option that makes it true, and no --no- option.
    """

    metavar: str = ""
    name: str = ""
    suggests: tuple[str, ...] = ()
    is_flag: bool = False


Folder = Annotated[Path, Field(strict=False), Option("DIR")]
File = Annotated[Path, Field(strict=False), Option("FILE")]
Column = Annotated[int | str | None, Option("COLUMN")]
Flag = Annotated[bool, Option(is_flag=True)]
# Panels of options in help, in this order. The first has no title of its own.
PANELS = (
    *("", "Data", "Encoder", "Head", "Tuning", "Training", "Computing"),
    *("Answer", "Analyses", "Output"),
)
# Parts of a pydantic location that name an alternative of a union instead of a key.
_ALTERNATIVE = re.compile(
    r"(literal|list|tuple|dict|lax-or-strict|json-or-python|function-\w+)\[.*|(constrained-)?(int|float)"
    r"|str|bool",
    re.DOTALL,
)
# Options that take a name of a registry.
CHOICES: dict[str, Mapping[str, Any]] = {
    "device": DEVICES,
    "task": TASKS,
    "tuning": TUNINGS,
    "body": BODIES,
    "output": OUTPUTS,
    "sentence_pooling": POOLINGS,
}


def later(default: Any, **bounds: Any) -> Any:
    """A setting that is newer than finished runs.

    Records and names of runs leave out its default, so that it renames no finished run.
    """
    return Field(default, json_schema_extra={"later": True}, **bounds)


class Section(BaseModel):
    """Settings that belong together. Typed and frozen. Unknown keys are errors.

    `without` names fields of its base classes that it does not have. `filters` names fields with a
    part of a name, instead of a name. `panel`, `everyday` and `usual` are for help (`place`).
    """

    without: ClassVar[frozenset[str]] = frozenset()
    filters: ClassVar[frozenset[str]] = frozenset()
    panel: ClassVar[str] = ""
    everyday: ClassVar[frozenset[str]] = frozenset()
    usual: ClassVar[frozenset[str] | None] = None
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        validate_default=True,
        use_attribute_docstrings=True,
        defer_build=True,
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """A field without a description gets its base class's."""
        bases = [kind.model_fields for kind in cls.__mro__[1:] if issubclass(kind, Section)]
        for name, field in cls.model_fields.items():
            of_bases = [fields[name].description for fields in bases if name in fields]
            text = next(filter(None, [field.description, *of_bases]), "")
            field.description = " ".join(text.split()) or None

    @classmethod
    def fields(cls) -> dict[str, FieldInfo]:
        """Its fields, by name."""
        return {n: field for n, field in cls.model_fields.items() if n not in cls.without}

    @classmethod
    def place(cls, name: str) -> tuple[str, bool]:
        """The panel of a field in help, and whether only the help with all options shows it.

        `everyday` fields are in the first panel, others in the panel of the section that defines
        them first. If that section has `usual` fields, its others are rare.
        """
        sections = [kind for kind in cls.__mro__ if issubclass(kind, Section)]
        everyday = {n for kind in sections for n in vars(kind).get("everyday", ())}
        definer = next(k for k in reversed(sections) if name in k.model_fields)
        usual = vars(definer).get("usual")
        if name in everyday:
            return PANELS[0], False
        return vars(definer).get("panel", PANELS[0]), usual is not None and name not in usual

    @model_validator(mode="before")
    @classmethod
    def _without(cls, fields: Any) -> Any:
        for name in sorted(cls.without & {*fields} if isinstance(fields, Mapping) else ()):
            raise ValueError(f"unknown key {name!r}")
        return fields

    @field_validator("*")
    @classmethod
    def _names_are_known(cls, value: Any, info: ValidationInfo) -> Any:
        """Raises ValueError for a name that its registry lacks."""
        field = info.field_name or ""
        if field in CHOICES and field not in cls.filters and value is not None:
            # A task's measure and the number of a tuning or device follow the name.
            name = value.partition(":")[0] if field in ("task", "tuning", "device") else value
            check_known(spelling(field), [name], CHOICES[field])
        return value


class Data(Section):
    """A text and how its files are read."""

    panel = "Data"
    everyday = frozenset({"data", "task"})
    usual = frozenset({"dev_share", "limit"})
    data: Annotated[str, Option("CORPUS")] = "sample"
    """Corpus: a folder with train, dev and test files, a file with all of train, sample,
    sample:choice, sample:multilabel or sample:spans, or hf:NAME."""
    task: str = "entities"
    """Task to solve on the text."""
    language: str | None = None
    """Language of the corpus, such as de. By default read from the folder's name."""
    encoding: Annotated[str, Option(suggests=("utf-8", "utf-16", "latin-1", "cp1252"))] = "utf-8"
    """Text encoding of the corpus files."""
    file_scheme: Annotated[str, Option(suggests=("auto", "bio", "iob1", "io", "bioes"))] = "auto"
    """Tag scheme in the files: auto, bio, iob1, io or bioes."""
    token_column: Column = None
    """Column of the words: a number from 1, or a name."""
    tag_column: Column = None
    """Column of the tags: a number from 1, or a name."""
    delimiter: str | None = None
    """Separator of columns, such as a comma. By default inferred from the lines of a file."""
    quoting: Literal["auto", "none", "double"] = "auto"
    """Quotation marks around fields of tables: double (doubled inside a field), none (they are part
    of the text), or auto (inferred from the lines)."""
    escape: str | None = None
    """Escape character before separators and quotation marks inside a field of a table, such
    as \\."""
    class_separator: str = "|"
    """Separator between the classes of a text with several, in a column of the task multilabel."""
    label_names: str | None = None
    """Names of tags or classes that are numbers, from 0: O,B-PER,I-PER. By default read from
    labels.txt next to the files."""
    text: Column = None
    """Column of the texts of examples: a name, or a number from 1."""
    pair: Column = None
    """Column of the second texts of pairs: a name, or a number from 1."""
    target: Column = None
    """Column of the answers of examples: a name, or a number from 1."""
    limit: int | None = Field(None, ge=1)
    """Read only the first sentences or examples of each part."""
    dev_share: float | None = Field(None, gt=0, lt=1)
    """Part of train that becomes dev if the corpus has no dev."""
    folds: int | None = Field(None, ge=2)
    """Number of parts to split train into, by document, if the corpus has no test. One becomes
    test."""
    fold: int | None = Field(None, ge=1)
    """Which of these parts is test, from 1."""
    answerable: bool = False
    """Use only questions that have an answer, as SQuAD 1.1 does."""
    missing: str | None = None
    """Values that mean "no answer", such as -,NA. An empty value in the list means an empty cell,
    and "" no values. By default the format's values, and - and -1 if they cannot be
    classes."""
    first_choice: int | None = Field(None, ge=0, le=1)
    """Number of the first choice in labels, 0 or 1. By default 1 if 0 never occurs and the highest
    label is the number of choices."""
    nested: Literal["outermost", "innermost", "first"] = "outermost"
    """Which of several entities on the same words to read from texts with spans: outermost (the
    longest), innermost (the shortest), or first in the file."""
    tag_scheme: Literal["bio", "iob1"] = "bio"
    """Tag scheme that the head learns. It changes no gold entity: scores compare entities."""

    @field_validator("task")
    @classmethod
    def _measure_of_data(cls, task: str, info: ValidationInfo) -> str:
        corpus = info.data.get("data")
        return task_of(task, corpus if isinstance(corpus, str) else getattr(corpus, "source", ""))

    @property
    def reading(self) -> ReadingOptions:
        """How the files are read."""
        names = {*Data.model_fields} - {"data", "task", "tag_scheme"}
        return ReadingOptions(**self.model_dump(include=names, exclude_defaults=True))


class Encoding(Section):
    """How words become vectors."""

    panel = "Encoder"
    everyday = frozenset({"model"})
    usual = frozenset()
    model: Annotated[str, Option("ENCODER")] = DEFAULT_MODEL
    """Encoder: folder, Hub id or installed package."""
    context: Literal["sentence", "document"] = "sentence"
    """Context that a word is encoded in: its sentence or its whole document."""
    casing: Literal["original", "truecased"] = "original"
    """Casing of the words: truecased gives sentences in capitals the casing of the training split
    (cased encoders)."""
    pooling: Literal["auto", "first", "last", "mean"] = "auto"
    """Subword that represents a word, or the mean of all. Auto is last for decoders, which see only
    the text before a subword, and first otherwise."""
    packing: Literal["joint", "apart"] = "joint"
    """Texts of a pair: joint in one sequence, or each apart."""
    keep: Literal["auto", "words", "pooled"] = "auto"
    """Vectors to store: one per word, or only pooled vectors of each text (three instead of one
    per word). Auto is pooled if every head reads pooled vectors, as linear heads on whole texts do,
    and words otherwise."""
    store_dtype: Literal["float16", "float32"] = "float16"
    """Number format of the feature store."""

    def for_encoder(self, reads: Iterable[str] = ("words",), **attributes: Any) -> EncodingOptions:
        """Options for encoding a text.

        Args:
            reads: the states that heads read (`Settings.reads`).
            attributes: attributes of the options that are no fields of this section.
        """
        from featbert.encoders.encoding import EncodingOptions

        fields = self.model_dump(include={"context", "casing", "pooling", "packing"})
        keep = self.kept(reads)
        return EncodingOptions(dtype=self.store_dtype, keep=keep, **fields, **attributes)

    def kept(self, reads: Iterable[str]) -> Literal["words", "pooled"]:
        """`keep` without "auto", for heads that read `reads`. Documents have no pooled vectors."""
        if self.keep != "auto":
            return self.keep
        pooled = self.context == "sentence" and {*reads} <= {*KEPT_POOLINGS}
        return "pooled" if pooled else "words"


class Compute(Section):
    """A run's device, precision and threads."""

    panel = "Computing"
    usual = frozenset({"device"})
    device: str = "auto"
    """Device to compute on. Auto uses a CUDA GPU if there is one. cuda:1 is the second."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Precision to compute in. Auto is bf16 if the device is faster in it."""
    threads: int | None = Field(None, ge=1)
    """Processor threads. By default one for each core."""

    @property
    def where(self) -> dict[str, Any]:
        """Device and precision."""
        return dict(self.model_dump(include={"device", "precision"}))


class Head(Section):
    """The head: layers between hidden states and answers."""

    panel = "Head"
    usual = frozenset({"body"})
    body: str = "bilstm"
    """Body between the word vectors and the output."""
    output: str = "softmax"
    """Output: how vectors become answers."""
    sentence_pooling: str = "none"
    """Pooling into one vector per text, for tasks with one answer per text. Mean, max and max_mean
    pool all subwords, or the body's output if it reads words. Word_mean and attention pool
    words."""
    lstm_size: int = Field(768, ge=1)
    """Units of the BiLSTM per direction."""
    lstm_layers: int = Field(2, ge=1)
    """Layers of the BiLSTM."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of the head."""
    variational_dropout: bool = later(False)
    """Dropout before and after the BiLSTM sets the same dimensions of all words of a sequence to 0
    (Gal and Ghahramani 2016), and not other dimensions for each word."""
    thresholds: Literal["one", "each"] = "one"
    """Thresholds of the probabilities of classes, chosen on dev: one for all, or each its own."""
    class_weight: Literal["none", "balanced"] = later("none")
    """Weight of a class in the loss: balanced is n / (C n_c) for C classes if n_c of n training
    items have it, and (n - n_c) / n_c for texts with several classes. Words without an entity (O)
    are very frequent and so count little."""
    label_smoothing: float = later(0.0, ge=0, lt=1)
    """Share of the target that all classes have equally, the right one included."""
    gamma: float = Field(2.0, ge=0)
    """Power of 1 - p in the focal loss: with a higher one, items that are nearly learned count
    less."""
    longest_answer: int = Field(30, ge=1)
    """Longest span that can be an answer, in words."""


class EncoderTuning(Section):
    """How much of the encoder is trained, and how fast."""

    panel = "Tuning"
    everyday = frozenset({"tuning"})
    usual = frozenset()
    tuning: str = "full"
    """Parameters of the encoder to train, such as lora or top:2 (the two upper layers)."""
    layer_decay: float = Field(1.0, ge=1, lt=100)
    """Layer decay: each layer has the learning rate of the layer above it, divided by this number,
    such as 2.6 (Howard and Ruder 2018). With 1, all layers have the same rate."""
    unfreeze: Annotated[int | None, Option("N")] = Field(None, ge=1)
    """Gradual unfreezing: the first epoch trains only the head. Each later epoch trains this many
    layers more, from the top."""
    freeze_to: Annotated[int | None, Option("N")] = Field(None, ge=0)
    """Freeze the embeddings and the layers up to this one: 0 freezes only the embeddings, and 8
    also layers 1 to 8."""
    head_learning_rate: float | None = later(None, gt=0, lt=10)
    """Highest learning rate of the head on a tuned encoder. By default the encoder's, but 0.008 for
    a CRF if that is higher, the rate on features for a body that reads words, and 0.002 for other
    heads that train first."""
    head_epochs: int = Field(1, ge=1)
    """Epochs that train only the head, before the whole encoder is trained with it."""
    head_from: Annotated[str | None, Name] = None
    """Instead of these epochs, start from the head of a finished run on features of the last layer,
    with the same head settings and seed."""
    rank: int = Field(8, ge=1)
    """Rank of LoRA's updates."""
    alpha: float = Field(16.0, gt=0)
    """LoRA's updates are scaled by alpha / rank."""
    adapter_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of the inputs to LoRA's updates."""
    target_modules: str | None = None
    """Linear layers that get adapters, by the ends of their names, such as query,value, or all. By
    default the usual layers of the architecture."""
    dora: bool = False
    """DoRA: train the length of each row of an updated matrix separately."""
    rslora: bool = False
    """Rank-stabilised LoRA: updates are scaled by alpha / sqrt(rank)."""
    max_pairs: int = Field(2000, ge=2)
    """Pairs of texts in a pass of contrastive tuning, at most. Half of them are of one class."""

    @field_validator("tuning")
    @classmethod
    def _with_its_number(cls, tuning: str) -> str:
        return get_tuning(tuning).name


class Training(Section):
    """Settings of the training loop."""

    panel = "Training"
    everyday = frozenset({"epochs"})
    usual = frozenset({"batch_size", "learning_rate"})
    epochs: int = Field(12, ge=1, le=MOST_EPOCHS)
    """Passes over the training split, or values of the penalty that a solver tries."""
    batch_size: int = Field(16, ge=1)
    """Sentences per training step."""
    learning_rate: float = Field(2e-4, gt=0, lt=10)
    """Highest learning rate of AdamW. Usual: full 0.0002, top:N 0.0008, lora 0.002, bitfit and
    frozen BiLSTMs 0.004, layernorm 0.01, ia3 0.03, frozen linear heads 0.008 to 0.01. For encoders
    of 768 dimensions, such as BERT-base: full 6e-05, top:N 0.00024."""
    mix_learning_rate: float = Field(1e-2, gt=0, lt=10)
    """Highest learning rate of the weights that weighted_all gives to the layers."""
    warmup: float = Field(0.1, ge=0, le=1)
    """Share of the steps in which the rate rises from 0."""
    schedule: Literal["linear", "constant"] = "linear"
    """The rate after the warmup: linear, down to 0, or constant."""
    bias_correction: bool = True
    """Adam's bias correction, which the optimiser published with BERT lacks."""
    weight_decay: float = Field(0.01, ge=0, lt=10)
    """Decoupled weight decay of matrices. Vectors get none."""
    clip_norm: float = Field(1.0, gt=0)
    """Largest norm of a step's gradients."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many epochs without a better dev score."""
    token_budget: int = Field(4096, ge=1)
    """Subwords computed at once, with padding. Lower it if memory runs out. The batch of a step
    stays the same."""
    train_on: Literal["train", "train+dev"] = "train"
    """Splits to train on. With train+dev, a run on train comes first and sets the number of
    epochs."""
    train_share: float = Field(1.0, gt=0, le=1)
    """Part of the training sentences to learn from, such as 0.25: whole documents, sampled with the
    seed."""
    equal_steps: bool = later(False)
    """Take about as many steps on a share as on all of train: 1 / train_share passes an epoch."""
    shots: int | None = later(None, ge=1)
    """Training examples of each class to learn from, sampled with the seed. By default all."""


class Settings(Training, EncoderTuning, Head):
    """All settings of head, tuning and training. `used` has the settings that take effect."""

    @model_validator(mode="after")
    def _share_of_train(self) -> Self:
        if self.train_share != 1 and self.train_on != "train":
            raise InputError(
                f"is {self.train_share:g} with {spelling('train_on', self.train_on)}; a part can "
                "be drawn from train only",
                setting="train_share",
            )
        if self.shots is not None and (self.train_share != 1 or self.train_on != "train"):
            names = spelling("train_share"), spelling("train_on", self.train_on)
            raise InputError(
                f"is {self.shots}, which excludes {names[self.train_share == 1]}", setting="shots"
            )
        return self

    def but(self, **changes: Any) -> Settings:
        """A copy with these values. None leaves a setting unchanged."""
        changed = {name: value for name, value in changes.items() if value is not None}
        return validated(Settings, self.model_dump() | changed)

    def passes_until(self, epoch: int) -> int:
        """Passes over the text to learn from, up to the end of an epoch (from 1)."""
        return math.ceil(epoch / self.train_share - 1e-9) if self.equal_steps else epoch

    @property
    def trained_splits(self) -> tuple[str, ...]:
        """Splits that the head learns from."""
        return ("train", "dev") if self.train_on == "train+dev" else ("train",)

    @property
    def reads_words(self) -> bool:
        """Whether the body reads words. Others read one vector per text if texts are pooled."""
        return BODIES[self.body].words

    @property
    def is_quick(self) -> bool:
        """Whether an epoch takes a moment: a linear head or a solver on features."""
        return get_tuning(self.tuning).frozen and not self.reads_words

    @property
    def answers(self) -> tuple[str, ...]:
        """Kinds of answers that the output can give."""
        return OUTPUTS[self.output].answers

    @property
    def reads(self) -> str:
        """The stored states that the head reads: "words", "sequence", or the name of a pooling.

        A "sequence" has the first special token before its words.
        """
        if OUTPUTS[self.output].firsts:
            return "sequence"
        pooled = "cls" if self.sentence_pooling == "pooler" else self.sentence_pooling
        return pooled if not self.reads_words and pooled in KEPT_POOLINGS else "words"

    @property
    def missing_in_transformers(self) -> str:
        """The title of the body or output that models of transformers do not have, or ""."""
        parts = BODIES[self.body], OUTPUTS[self.output]
        return next((part.title for part in parts if not part.in_transformers), "")

    @property
    def trainer(self) -> Trainer:
        """How the model is fitted. InputError if its parts name different trainers."""
        choices = self._trainers
        if len({*choices.values()}) > 1:
            trainers = " and ".join(f"{option} by {name}" for option, name in choices.items())
            raise InputError(f"one model cannot be fitted in two ways: {trainers}")
        return TRAINERS[next(iter(choices.values()), "gradient")]

    @property
    def has_seed(self) -> bool:
        """Whether the numbers of a run depend on its seed."""
        return self.trainer.has_seed or self.train_share != 1 or self.shots is not None

    def seeds_to_train(self, seeds: Sequence[int]) -> Sequence[int]:
        """The seeds. Only the first one if all of them give the same run."""
        return seeds if self.has_seed else seeds[:1]

    @property
    def _trainers(self) -> dict[str, str]:
        """The settings that choose a trainer other than gradient steps, and its name."""
        return {
            spelling(kind, getattr(self, kind)): part.trainer
            for kind, part in self._parts.items()
            if part.trainer != "gradient"
        }

    @property
    def _parts(self) -> dict[str, Part | Tuning]:
        tuning = get_tuning(self.tuning)
        return {"body": BODIES[self.body], "output": OUTPUTS[self.output], "tuning": tuning}

    def used(self, *, weighted: bool = False) -> dict[str, Any]:
        """The settings that take effect, flat, without the tuning.

        These are the settings of all runs, and those that the body, the output, the tuning or the
        trainer reads. Defaults of `later` settings are left out. `weighted`: whether the run reads
        a layer combination with a scalar mix.
        """
        defaults = {name for name, value in LATER.items() if getattr(self, name) == value}
        return self.model_dump(include=self.effective(weighted=weighted) - defaults)

    def effective(self, *, weighted: bool = False) -> set[str]:
        """Names of the settings that take effect, whether or not they have their defaults."""
        readers = (*self._parts.values(), self.trainer)
        names = {name for reader in readers for name in reader.settings} | _OF_ALL_RUNS
        without_effect = {
            "sentence_pooling": self.sentence_pooling == "none",
            "mix_learning_rate": not weighted,
            "equal_steps": self.train_share == 1,
            "head_learning_rate": get_tuning(self.tuning).frozen,
            "head_from": self.head_from is None,
            "head_epochs": self.head_from is not None,
        }
        names -= {*self.trainer.ignores}
        return names - {name for name, is_idle in without_effect.items() if is_idle}

    def idle(self, given: Iterable[str], *, weighted: bool) -> set[str]:
        """The given settings that have no effect with these settings."""
        return {*given} & {*Settings.model_fields} - {"tuning", *self.effective(weighted=weighted)}

    def check_given(self, given: Iterable[str], *, weighted: bool = False) -> None:
        """Raises InputError for given settings that are `idle`, with the options that read them."""
        if idle := self.idle(given, weighted=weighted):
            lines = [f"{spelling(name)}: no effect {self._reason(name)}" for name in sorted(idle)]
            advice = "leave these settings out"
            if idle & {*_TRAINERS_READING} and BODIES[self.body].trainer != "gradient":
                advice += f", or use {spelling('body', 'linear')}"
            raise InputError("; ".join([*lines, advice]))

    def _reason(self, name: str) -> str:
        """Why a setting has no effect."""
        if name == "head_epochs" and self.head_from is not None:
            return f"with {spelling('head_from')}"
        if name in self.trainer.ignores:
            return f"with {' and '.join(self._trainers)}"
        if self._trainers and name in _TRAINERS_READING and name not in self.trainer.settings:
            readers = " or ".join(_TRAINERS_READING[name])
            return f"with {' and '.join(self._trainers)}; only {readers} read it"
        readers = " or ".join(spelling(*reader) for reader in _VALUES_READING.get(name, ()))
        return f"without {readers or 'another value'}"


# Defaults of the settings that are newer than finished runs (`later`).
LATER: dict[str, Any] = {
    name: field.default
    for name, field in Settings.model_fields.items()
    if isinstance(field.json_schema_extra, dict) and "later" in field.json_schema_extra
}
# Settings that all runs have.
_OF_ALL_RUNS = {
    *("body", "output", "sentence_pooling", "epochs", "patience", "token_budget"),
    *("train_on", "train_share", "shots"),
}
# Titles of the trainers that read a setting.
_TRAINERS_READING: dict[str, list[str]] = {}
for _trainer in TRAINERS.values():
    for _name in _trainer.settings:
        _TRAINERS_READING.setdefault(_name, []).append(_trainer.title)
# Settings with values that read another setting, which not every run has.
_VALUES_READING: dict[str, list[tuple[str, ...]]] = {
    "mix_learning_rate": [("layers", "weighted_all")],
    "equal_steps": [("train_share",)],
}
# Two widths H of an encoder, and a rate of fine-tuning for each (`rate_at_width`).
RATES_BY_WIDTH = ((384, 2e-4), (768, 6e-5))
_tunings = {name: get_tuning(name) for name in TUNINGS}
# Those of `featbert finetune`.
ENCODER_TUNINGS = [name for name, tuning in _tunings.items() if not tuning.frozen]
for _kind, _parts in (("body", BODIES), ("output", OUTPUTS), ("tuning", _tunings)):
    for _part, _about in _parts.items():
        _of_trainer = {*TRAINERS[_about.trainer].settings} - {*TRAINERS["gradient"].settings}
        for _name in (*_about.settings, *sorted(_of_trainer)):
            _VALUES_READING.setdefault(_name, []).append((_kind, _part))


class Adapt(Section):
    """Language-model training of an encoder on the task's text."""

    panel = "Training"
    everyday = frozenset({"epochs"})
    usual = frozenset({"batch_size", "learning_rate"})
    epochs: int = Field(10, ge=1)
    """Passes over the training split."""
    batch_size: int = Field(16, ge=1)
    """Sequences per training step."""
    learning_rate: float = Field(5e-5, gt=0, lt=10)
    """Highest learning rate of AdamW."""
    max_length: int | None = Field(None, ge=8)
    """Subwords of a sequence, with special tokens. By default 128, or the encoder's limit if that
    is lower."""
    predict_share: float = Field(0.15, gt=0, lt=1)
    """Share of the subwords to predict."""
    mask_share: float = Field(0.8, ge=0, le=1)
    """Share of the predicted subwords that become the mask token."""
    random_share: float = Field(0.1, ge=0, le=1)
    """Share of the predicted subwords that become a random subword."""
    whole_word: bool = False
    """Mask whole words."""
    nsp: Literal["auto", "on", "off"] = "auto"
    """Next-sentence prediction. Auto is on if the corpus has documents and the model is a BERT."""
    warmup: float = Field(0.1, ge=0, le=1)
    """Share of the steps in which the rate rises from 0."""
    weight_decay: float = Field(0.01, ge=0, lt=10)
    """Decoupled weight decay."""
    clip_norm: float = Field(1.0, gt=0)
    """Largest norm of a step's gradients."""
    token_budget: int = Field(4096, ge=1)
    """Subwords computed at once, with padding. Lower it if memory runs out."""

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if self.mask_share + self.random_share > 1 + 1e-9:
            names = f"{spelling('mask_share')} + {spelling('random_share')}"
            total = self.mask_share + self.random_share
            raise InputError(f"{names} is {total:g}; at most 1 is possible")
        return self


class Margin(Section):
    """Which row is good enough, and which cost it saves."""

    panel = "Answer"
    within: float = Field(1.0, ge=0, le=100)
    """A row is good enough within so many points of the best. The answer names the cheapest."""
    cheapest: Literal["operations", "kept", "one_by_one", "batched"] = "operations"
    """Cost that makes a row the cheapest: operations of a run with extraction, bytes to keep, or
    time to label texts one by one or in batches."""


class Analyses(Margin):
    """Scores and analyses in a comparison of runs, besides the task's measure."""

    panel = "Analyses"
    against: Annotated[str | None, Option("ROW")] = None
    """Row that all others are compared with: its label, or one of its runs.  [default: the best
    fine-tuned row]"""
    show: Annotated[Several[str], Option("SCORE")] = Field([])
    """Further score, such as precision or word_f1. May be given several times."""
    published: Annotated[Several[str], Option("TABLE")] = Field([])
    """Show the table of a publication next to these results, such as devlin2019-table7."""
    stats: Flag = False
    """Differences of each row from its baseline, with intervals and p-values."""
    cost: Flag = False
    """Costs of rows, and after how many runs features are cheaper."""
    budget: Flag = False
    """Best scores of random searches by trials, operations and time, and who leads."""
    scorers: Flag = False
    """Scores also by the task's other scorers, and their disagreements."""
    by: Annotated[Several[str], Option("FACET")] = Field([])
    """Scores also by a facet, such as type or length. May be given several times."""
    vary: Annotated[Several[str], Option("NAME")] = Field([])
    """Compare named runs in one table although they differ in these conditions: context, corpus,
    model, scorer, ..."""
    transfer: Annotated[bool, NO_OPTION] = False
    """Show transfer between corpora as a table."""
    figures: Annotated[Several[str], NO_OPTION] = Field([])
    """Names of figures to draw later. Their analyses are computed."""
    everything: Annotated[bool, NO_OPTION] = False
    """Compute all analyses, for a page or a file."""
    sentences: Annotated[bool, NO_OPTION] = True
    """With `everything`, also the sentences that a row answers wrongly."""

    @field_validator("vary")
    @classmethod
    def _names_between_commas(cls, vary: list[str]) -> list[str]:
        return [name.strip() for names in vary for name in names.split(",")]


ONLY_SCORES = Analyses()


def defaults(
    tuning: str, task: str = "entities", body: str | None = None, output: str | None = None
) -> Settings:
    """The default settings of a tuning for a task, with this body and output or the task's own."""
    entry = get_tuning(tuning)
    usual_body = "linear" if get_task(task).of_texts else entry.defaults["body"]
    reads_words = BODIES[body or usual_body].words
    by_task = get_task(task).defaults(tuning, frozen=entry.frozen, words=reads_words)
    by_trainer = TRAINERS[entry.trainer].defaults if get_task(task).of_texts else {}
    parts = {n: part for n, part in (("body", body), ("output", output)) if part is not None}
    usual = Settings(tuning=tuning, **{**entry.defaults, **by_task, **parts, **by_trainer})
    if entry.frozen:
        return usual
    if reads_words:  # the body learns as fast as on features
        return usual.but(head_learning_rate=defaults("none", task, body).learning_rate)
    head_rate = OUTPUTS[usual.output].rate_on_tuned or 0.0
    return usual.but(head_learning_rate=head_rate) if head_rate > usual.learning_rate else usual


def rate_at_width(rate: float, hidden_size: int) -> float:
    """A default learning rate of weight matrices, for an encoder of H = `hidden_size` dimensions.

    `rate` is for H up to 384. A rate of 2e-4 there becomes 6e-5 for H = 768, which dev chose on
    three texts (`experiments/frozen-or-tuned-base`, `experiments/table7-wikigold`). Other widths
    follow a power law: the best rate of Adam falls with the width (Yang et al. 2021, "Tensor
    Programs V").
    """
    (narrow, high), (wide, low) = RATES_BY_WIDTH
    if hidden_size <= narrow:
        return rate
    exponent = math.log(low / high) / math.log(wide / narrow)
    return float(f"{rate * (hidden_size / narrow) ** exponent:.2g}")


def recorded(settings: Mapping[str, Any], tuning: str) -> Settings:
    """Settings of a run, given those in its record. InputError for impossible ones.

    Settings that the run did not read have any value.
    """
    return validated(Settings, {**settings, "tuning": tuning})


def unchecked(settings: Mapping[str, Any], tuning: str) -> Settings:
    """The settings in a run's record, of which any may be missing."""
    return Settings.model_construct(**{**settings, "tuning": tuning})


def with_later(settings: Mapping[str, Any], tuning: str) -> dict[str, Any]:
    """The settings in a run's record, with the defaults of `later` ones that it reads."""
    names = unchecked(settings, tuning).effective()
    return {n: value for n, value in LATER.items() if n in names} | {**settings}


def defaults_by_task(tuning: str) -> dict[str, Any]:
    """The default settings of a tuning for entities, as text if other tasks have other ones."""
    usual = defaults(tuning).model_dump()
    other_values: dict[str, dict[Any, list[str]]] = {}
    for task in TASKS:
        for name, value in defaults(tuning, task).model_dump().items():
            if value != usual[name]:
                other_values.setdefault(name, {}).setdefault(value, []).append(task)
    for name, tasks_by_value in other_values.items():
        # Without a value a setting has no default to show.
        shown = "entities only: {}" if tasks_by_value.pop(None, None) else "{}"
        texts = (f"{', '.join(tasks)}: {value}" for value, tasks in tasks_by_value.items())
        usual[name] = "; ".join([shown.format(usual[name]), *texts])
    return usual


# Depths in an experiment file. "all" is the whole encoder, "none" leaves the setting out.
_Depth = Annotated[int, Field(ge=0)] | Literal["none", "all"] | None
_Group = Annotated[int, Field(ge=1)] | Literal["none"] | None


class Rows(Section):
    """Settings of rows, with defaults that depend on the tuning and the task."""

    def settings_for(
        self,
        tuning: str,
        num_layers: int,
        task: str = "entities",
        *,
        hidden_size: int = 0,
        base: Settings | None = None,
        **common: Any,
    ) -> Settings:
        """The tuning's defaults for the task (`defaults`), changed by the fields that were set.

        `base` replaces the defaults. "all" layers are `num_layers`. Default rates of tunings depend
        on the encoder's `hidden_size` (`rate_at_width`), and "0.5x" is half of one.
        """
        fields = self.model_dump(include=set(Settings.model_fields), exclude_unset=True)
        if fields.get("freeze_to") == "all":
            fields["freeze_to"] = num_layers
        for name in ("unfreeze", "freeze_to"):
            if fields.get(name) == "none":
                del fields[name]
        if base is None:
            parts = fields.get("body"), fields.get("output")
            base = defaults(fields.pop("tuning", tuning), task, *parts)
            if get_tuning(base.tuning).by_width:
                usual_rate = rate_at_width(base.learning_rate, hidden_size)
                base = base.but(learning_rate=usual_rate)
        if fields.get("head_learning_rate") == "none":
            del fields["head_learning_rate"]
            base = base.model_copy(update={"head_learning_rate": None})
        if isinstance(multiple := fields.get("learning_rate"), str):
            rate = float(multiple.removesuffix("x")) * base.learning_rate
            fields["learning_rate"] = float(f"{rate:.3g}")
        settings = base.but(**(common | fields))
        get_task(task).check(settings)
        return settings


class RowsTable(Head, EncoderTuning, Training, Rows):
    """Settings of rows in an experiment file. Omitted settings have the tuning's defaults."""

    unfreeze: Annotated[_Group, Option("N")] = None  # type: ignore[assignment]
    freeze_to: Annotated[_Depth, Option("N")] = None  # type: ignore[assignment]


def validated(model: type[S], data: Mapping[str, Any]) -> S:
    """The model with these values. An InputError names all mistakes in one line."""
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise InputError("; ".join(mistakes(model, error))) from None


def mistakes(model: type[BaseModel], error: ValidationError, top: Iterable[str] = ()) -> list[str]:
    """One short line for each of pydantic's errors. `top` are further known keys."""
    lines: dict[str, list[str]] = {}
    for mistake in error.errors():
        unknown = mistake["type"] == "extra_forbidden"  # then the last part is a key, not a type
        parts = enumerate(mistake["loc"], 1)
        last = len(mistake["loc"]) if unknown else 0
        keys = [p for n, p in parts if n == last or not _ALTERNATIVE.fullmatch(str(p))]
        at = printable(".".join(map(str, keys)))[:120]
        subject = spelling(at) if len(keys) == 1 else at
        if unknown:
            known_keys = [*_keys(model, keys[:-1]), *(top if len(keys) == 1 else ())]
            *above, key = map(str, keys)
            near, namesakes = nearest(key, known_keys), keys_named(model, key)
            if key in known_keys:
                near = ", which belongs to the top of the file"
            elif f"{key}s" in known_keys:
                pass
            elif above and above[0] in _keys(model, [key]):
                near = f" (did you mean [{key}.{above[0]}]?)"
            elif above and key in model.model_fields:
                near = f" (did you mean {key!r}, outside of [{above[0]}]?)"
            elif namesakes and not above:
                near = f" (did you mean {' or '.join(map(repr, namesakes))}?)"
            lines[f"unknown key {at!r}{near}"] = []
        elif mistake["type"] == "value_error":
            if keys and keys[-1] in CHOICES:  # the message names its key
                subject = at.rpartition(".")[0]
            lines[f"{subject}: {mistake['ctx']['error']}".removeprefix(": ")] = []
        elif mistake["type"] == "missing":
            lines[f"{subject} is missing"] = []
        else:
            shown = shortened(repr(mistake["input"]), 80)
            expected = re.sub("^(Input|List|String) | after validation", "", mistake["msg"])
            if mistake["type"] == "literal_error":
                expected += nearest(shown.strip("'"), mistake["ctx"]["expected"].split("'")[1::2])
            if isinstance(mistake["input"], list) and mistake["input"] and "variants" in top:
                expected += "; several values are [variants]"
            lines.setdefault(f"{subject} is {printable(shown)}; it ", []).append(expected)
    return [f"{head}{' or '.join(dict.fromkeys(ends))}" for head, ends in lines.items()]


def _keys(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    for part in place:
        model = _tables(model).get(str(part), BaseModel)  # which has no fields
    return list(model.model_fields)


def _tables(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The tables among a model's fields."""
    return {
        name: kind
        for name, info in model.model_fields.items()
        for kind in (info.annotation, *get_args(info.annotation))
        if isinstance(kind, type) and issubclass(kind, BaseModel)
    }


def keys_named(model: type[BaseModel], name: str) -> list[str]:
    """Keys with this name, of the model and of its tables: "limit", "features.epochs"."""
    tables = {"": model} | {f"{table}.": kind for table, kind in _tables(model).items()}
    return [f"{prefix}{name}" for prefix, kind in tables.items() if name in kind.model_fields]


def parse_seeds(text: Any) -> Any:
    """The seeds of "1,2,3", of "1-5" or of a number. Other values are returned unchanged."""
    if not isinstance(text, str):
        return [text] if isinstance(text, int) else text
    ends = [re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part) for part in text.split(",")]
    ranges = [range(int(m[1]), int(m[2] or m[1]) + 1) for m in ends if m]
    seeds = [seed for numbers in ranges for seed in numbers[:1000]]
    if any(len(r) > 1000 for r in ranges):
        raise InputError(f"seeds {text!r} are too many; give at most 1,000 in a range")
    if None in ends or not all(ranges) or len({*seeds}) != len(seeds):
        raise InputError(f"invalid seeds {text!r}; write 1,2,3 or 1-5, each seed once")
    return seeds
