"""Which runs may share a table.

Two runs are comparable if their *comparable key* agrees: text and tags of every evaluated split,
encoder weights, context, scorer. An experiment frees parts of it for its own runs
(`vary = ["context"]`). Settings may always differ: they make rows, not tables.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from featbert.config import Settings
from featbert.data.corpus import EVALUATED
from featbert.errors import InputError, check_known
from featbert.runs.record import RunRecord
from featbert.runs.run import Run
from featbert.text import natural

_TEXTS = tuple(f"{split}.text" for split in EVALUATED)
_TAGS = tuple(f"{split}.tags" for split in EVALUATED)

# The parts of the comparable key that each name in `vary` frees.
VARYABLE: dict[str, tuple[str, ...]] = {
    "casing": ("casing",),
    "context": ("context",),
    "corpus": ("splits", *_TEXTS, *_TAGS),
    "model": ("encoder_weights", "encoder_files"),
    "scorer": ("scorer",),
    "tags": _TAGS,
    "text": _TEXTS,
}
# Fields of the signature that name freed parts of the key: columns of a table that varies.
VARIED: dict[str, tuple[str, ...]] = {
    "corpus": (*_TEXTS, *_TAGS),
    **{name: VARYABLE[name] for name in ("model", "context", "casing", "scorer")},
}

# Parts of the signature outside the key. Runs that differ in them are different rows and are never
# averaged. They may be declared in `vary`, without an effect.
CONDITIONS = (
    *("pooling", "packing", "encoder_precision", "training_precision", "store_dtype"),
    *("tag_scheme", "train"),
)
_ALWAYS_FREE = ("tuning", "layers", "seed", *CONDITIONS)


def comparable_key(record: RunRecord) -> dict[str, str]:
    """The values that must agree, by name.

    A split that was trained on counts as one of the table's splits: its cell says so in the table.
    """
    signature = record.signature
    trained_on = [split for split in record.trained_on if split in signature.splits]
    evaluated = [s for s in EVALUATED if s in record.scores or s in trained_on]
    key = {"task": record.task, "splits": ", ".join(evaluated)}
    for split in evaluated:
        identity = signature.splits.get(split)
        key[f"{split}.text"] = identity.text if identity else ""
        key[f"{split}.tags"] = identity.tags if identity else ""
    names = ("encoder_weights", "encoder_files", "context", "casing", "scorer")
    return key | {name: getattr(signature, name) for name in names}


def freed_keys(vary: Iterable[str]) -> frozenset[str]:
    """Parts of the comparable key that the names in `vary` free. Unknown names free nothing."""
    return frozenset(part for name in vary for part in VARYABLE.get(name, ()))


def names_that_free(parts: Iterable[str]) -> list[str]:
    """The names in `vary` that free these parts of the comparable key, as few as possible."""
    parts = set(parts)
    names = {name for name, freed in VARYABLE.items() if not parts.isdisjoint(freed)}
    whole_corpus = "splits" in parts or names >= {"text", "tags"}
    return sorted(names - ({"text", "tags"} if whole_corpus else {"corpus"}))


def check_vary(vary: list[str]) -> list[str]:
    """The names in `vary`. InputError for a name that is neither varyable nor a setting."""
    check_known("name in vary", vary, [*VARYABLE, *_ALWAYS_FREE, *Settings.model_fields])
    return vary


def group_comparable(runs: Iterable[Run]) -> list[tuple[list[Run], frozenset[str]]]:
    """Comparable groups, each with the parts of the key that may differ in it.

    Groups are ordered by corpus, model and context, their runs by name. Runs share a group if they
    have the same freedom and agree in all other parts of the key. Only an experiment frees parts,
    for its own runs, however many times it was run: each time may have varied other things. A part
    in which all of these runs agree is bound.
    """
    runs = list(runs)
    vary_of: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs:
        vary_of[run.record.experiment or run.name].update(run.record.vary)
    # Bound parts imply the free ones, so runs of unequal freedom never share a group.
    declared: defaultdict[tuple[object, ...], list[Run]] = defaultdict(list)
    for run in runs:
        freed = freed_keys(vary_of[run.record.experiment or run.name])
        declared[_bound(run, freed)].append(run)
    freedoms: list[tuple[Run, frozenset[str]]] = []
    for members in declared.values():
        keys = [comparable_key(run.record) for run in members]
        parts = {part for key in keys for part in key}
        freed = frozenset(part for part in parts if len({key.get(part) for key in keys}) > 1)
        freedoms += ((run, freed) for run in members)
    groups: dict[tuple[object, ...], tuple[list[Run], frozenset[str]]] = {}
    for run, freed in sorted(freedoms, key=lambda pair: natural(pair[0].name)):
        groups.setdefault(_bound(run, freed), ([], freed))[0].append(run)

    def place(group: tuple[list[Run], frozenset[str]]) -> tuple[object, ...]:
        first = group[0][0]
        signature = first.record.signature
        names = (signature.corpus, signature.model, signature.context, first.name)
        return tuple(map(natural, names))

    return sorted(groups.values(), key=place)


def _bound(run: Run, freed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The parts of a run's key that are not free."""
    return tuple(item for item in comparable_key(run.record).items() if item[0] not in freed)


def check_comparable(runs: Sequence[Run], *, vary: Iterable[str] = ()) -> frozenset[str]:
    """The parts of the key that are free among runs which the user named.

    `vary` frees further parts. InputError names the parts that differ, their values, and the runs.
    """
    freed = freed_keys([*vary, *(name for run in runs for name in run.record.vary)])
    keys = [comparable_key(run.record) for run in runs]
    parts = dict.fromkeys(part for key in keys for part in key if part not in freed)
    # A split that some runs lack is named once, as `splits`, not again by its fingerprints.
    differing = [part for part in parts if len({key[part] for key in keys if part in key}) > 1]
    if not differing:
        return freed
    advice = ""
    if "task" in differing:
        differing = ["task"]
    elif "splits" in differing:
        advice = "; compare them apart: runs with and without test do not share a table"
    else:
        listed = ", ".join(f'"{name}"' for name in names_that_free(differing))
        advice = f"; compare them apart, or let their experiment declare vary = [{listed}]"
    differences = "; ".join(_values(part, runs, keys) for part in differing)
    raise InputError(f"the runs cannot share a table, they differ in {differences}{advice}")


def _values(part: str, runs: Sequence[Run], keys: Sequence[dict[str, str]]) -> str:
    """`context: sentence (a, b) against document (c)`, with at most three runs of each.

    A fingerprint is shown as its name and 8 of its hex digits.
    """
    field = "model" if part == "encoder_weights" else "corpus" if "." in part else None
    by_value: dict[str, list[str]] = {}
    for run, key in zip(runs, keys, strict=True):
        if part in key:
            name = f"{getattr(run.record.signature, field)} {key[part][:8]}" if field else key[part]
            by_value.setdefault(name or "none", []).append(run.name)
    values = [f"{value} ({', '.join(names[:3])})" for value, names in by_value.items()]
    return f"{part}: {' against '.join(values)}"
