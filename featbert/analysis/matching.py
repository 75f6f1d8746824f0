"""Which published row a comparison row stands beside: facts of the one against facts of the other.

Facts are plain mappings in the words of `published.toml`. A published row fits where every fact
that it fixes and that the comparison row knows is the same; an unknown fact refuses nothing, but
where it is all that tells two fitting rows apart, nobody can say which of them is meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from featbert.analysis.rows import Row
from featbert.data.tags import scheme_name
from featbert.errors import InputError

if TYPE_CHECKING:
    from featbert.runs.published import PublishedRow

FACTS = (
    "tuning",
    "layers",
    "model",
    "context",
    "language",
    "tag_scheme",
    "setting",
    "method",
    "warmup",
    "epochs",
)


def row_facts(row: Row) -> dict[str, Any]:
    """What a comparison row knows of itself; facts that its runs do not tell are absent.

    `warmup` is whether there was any. Of fine-tuning, `method` is "plain" or what of
    "discriminative" and "unfreezing" it was done with, and `setting` is which layers were frozen,
    "in-language" for none, as in Wu and Dredze 2019.
    """
    settings, signature = row.settings, row.signature
    warmup = settings.get("warmup")
    facts: dict[str, Any] = {
        "tuning": row.tuning,
        "layers": row.layers,
        "model": model_name(row.model),
        "context": row.context,
        "language": signature.get("language"),
        "tag_scheme": signature.get("tag_scheme"),
        "warmup": None if warmup is None else warmup > 0,
        "epochs": settings.get("epochs"),
    }
    if row.tuning == "full":
        facts["method"] = _method(settings, row.signature.get("adapted_epochs", 0))
        facts["setting"] = _setting(settings.get("freeze_to"))
    return {name: value for name, value in facts.items() if value is not None}


def published_facts(row: PublishedRow) -> dict[str, Any]:
    """What a published row fixes. Without an approach it is fine-tuning; fine-tuning without a
    method or setting is plain, of all layers."""
    facts = {name: getattr(row, name) for name in FACTS if getattr(row, name) is not None}
    facts.setdefault("tuning", "full")
    if facts["tuning"] == "full":
        facts = {"method": "plain", "setting": "in-language"} | facts
    return facts


def match(
    published: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]
) -> tuple[list[int], list[str]]:
    """The published rows that a comparison row with these facts stands beside.

    An encoder that the table has is compared with its own rows. Any other is compared with one
    encoder of the table: of those whose rows fit otherwise, the one with the most rows in the
    run's language, the first of several. In BERT's Table 7 that is bert-base-cased.

    Returns:
        Places of the published rows that fit; and the facts that tell some of them apart and
        that the comparison row does not know: where there are any, no row is meant.
    """
    models = [fixed.get("model", "") for fixed in published]
    fits = [
        place
        for place, fixed in enumerate(published)
        if all(_agrees(name, value, facts) for name, value in fixed.items() if name != "model")
    ]
    model: str = facts.get("model", "")
    has_own = bool(model) and model in map(model_name, models)
    if has_own:
        fits = [i for i in fits if model_name(models[i]) in ("", model)]
    unknown = [
        name
        for name in FACTS
        if name not in facts and len({published[i].get(name) for i in fits}) > 1
    ]
    named = [models[i] for i in fits if models[i]]
    if named and not has_own:
        counts = Counter(
            name
            for name, fixed in zip(models, published, strict=True)
            if "language" not in fixed or _agrees("language", fixed["language"], facts)
        )
        nearest = max(named, key=counts.__getitem__)
        fits = [i for i in fits if models[i] in ("", nearest)]
    return fits, unknown


def model_name(model: str) -> str:
    """An encoder's own name, without the folders or the organisation before it."""
    return model.rstrip("/").rpartition("/")[2].lower()


def scheme(name: str) -> str:
    """A tag scheme by its one name, "BIO" for "iob2"; a name that nobody knows as it is."""
    try:
        return scheme_name(name)
    except InputError:
        return name


def _agrees(name: str, published: Any, facts: Mapping[str, Any]) -> bool:
    if name not in facts:
        return True
    known = facts[name]
    if name == "tag_scheme":
        return scheme(published) == scheme(known)
    if name == "language":
        return same_language(published, known)
    return bool(published == known)


def same_language(one: str, other: str) -> bool:
    """Whether two BCP 47 codes are of one language, whatever the region: "de" and "de-AT"."""
    return one.lower().partition("-")[0] == other.lower().partition("-")[0]


def _method(settings: Mapping[str, Any], adapted_epochs: int) -> str:
    """Fine-tuning method in the words of Baumann 2019, Tables 5 and 6."""
    parts = [f"lm{adapted_epochs}"] if adapted_epochs else []
    if (settings.get("discriminative") or 1) != 1:
        parts.append("discriminative")
    if settings.get("unfreeze") is not None:
        parts.append("unfreezing")
    return "+".join(parts) or "plain"


def _setting(freeze_to: int | None) -> str:
    """What was frozen, in the words of Wu and Dredze 2019, Table 4."""
    if freeze_to is None:
        return "in-language"
    return f"layers to {freeze_to} frozen" if freeze_to else "embeddings frozen"
