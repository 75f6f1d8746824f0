"""Texts with spans of characters, as annotation tools write them.

    {"text": "Rome.", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}

Read are the exports of doccano, Prodigy, Label Studio, LightTag, UBIAI, spaCy and CLUENER.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from featbert.data.columns import CLASS_KEYS, WORD_KEYS, lower_names
from featbert.data.files import RawRow, word_fault
from featbert.data.offsets import Part, Place
from featbert.errors import InputError
from featbert.text import counted, excerpt

# Keys of a text, of its spans, and in a span of its type, ends and text.
TEXT_KEYS = ("text", "data", "content", "document", "sentence")
SPAN_KEYS = ("spans", "entities", "ents", "label", "labels", "ner", "annotations", "tokens")
# UBIAI calls its spans tokens. Those of spaCy and Prodigy are words.
UBIAI_TYPE = "entityLabel"
TYPE_KEYS = (
    *("label", "labels", "tag", "hypertextlabels", "paragraphlabels", "type", "entity_type"),
    UBIAI_TYPE,
)
START_KEYS, END_KEYS = ("start", "start_offset", "begin"), ("end", "end_offset", "stop")
OWN_KEYS = ("text", "surface", "surface_form", "mention", "quote", "value", "name")


def text_and_spans(values: Mapping[Any, Any]) -> tuple[str, list[Any]] | None:
    """The text of a row and its spans, or None if the row has words, or a text without spans.

    The first list with a span counts, else an empty one. Prodigy leaves out an empty list. Label
    Studio has spans in the results of annotations, CLUENER in a mapping from types to texts to
    offsets.
    """
    text, no_spans = text_in(values), False
    lists = (value for key in WORD_KEYS if isinstance(value := values.get(key), list))
    if text is None or any(isinstance(item, str) for value in lists for item in value):
        return None
    for key in SPAN_KEYS:
        spans = values.get(key)
        if isinstance(spans, Mapping):
            spans = [
                {"label": kind, "text": surface, "span": place}
                for kind, texts in spans.items()
                if isinstance(texts, Mapping)
                for surface, places in texts.items()
                if isinstance(places, list)
                for place in places
            ] or None
        if not isinstance(spans, list) or not all(isinstance(item, list | dict) for item in spans):
            continue
        if any("result" in item for item in spans):
            results = (item["result"] for item in finished_annotations(values)[:1])
            spans = [r for rs in results for r in rs if _is_span(_mapping(r))]
        if spans and (key != "tokens" or UBIAI_TYPE in _mapping(spans[0])):
            return text, spans
        no_spans = no_spans or key != "tokens"
    is_prodigy = values.get("answer") in ("accept", "reject", "ignore")
    no_spans = no_spans or (is_prodigy and not {*values} & {*CLASS_KEYS})
    return (text, []) if no_spans else None


def is_unanswered(values: Mapping[Any, Any], keys: Collection[str] | None) -> bool:
    """Whether a row is a text without spans, or tags with these names, as in test parts."""
    if not keys or any(isinstance(value, list | Mapping) for value in values.values()):
        return False
    answers = {*keys, *SPAN_KEYS} & lower_names([*values]).keys()
    return not answers and text_in(values) is not None


def text_in(values: Mapping[Any, Any]) -> str | None:
    """The text of a row with spans, by its usual names, or the only text in Label Studio's data."""
    for key in TEXT_KEYS:
        value = values.get(key)
        if isinstance(value, Mapping):
            texts = [item for item in value.values() if isinstance(item, str)]
            value = value.get("text", texts[0] if len(texts) == 1 else None)
        if isinstance(value, str):
            return value
    return None


def finished_annotations(values: Mapping[Any, Any]) -> list[Mapping[Any, Any]]:
    """Label Studio's annotations of a text that were not cancelled."""
    annotations = values.get("annotations")
    results = annotations if isinstance(annotations, list) else []
    finished = [item for item in map(_mapping, results) if not item.get("was_cancelled")]
    return [item for item in finished if isinstance(item.get("result"), list)]


def choices_of(values: Mapping[Any, Any]) -> dict[str, list[str]]:
    """Choices in Label Studio's annotation of a text without spans, by the name of the question."""
    if not isinstance(values.get("data"), Mapping):
        return {}
    results = _results(values)
    chosen = {str(r.get("from_name")): _mapping(r.get("value")).get("choices") for r in results}
    if any(map(_is_span, results)):
        return {}
    return {name: names for name, names in chosen.items() if isinstance(names, list)}


def has_spans(values: Mapping[Any, Any]) -> bool:
    """Whether Label Studio's annotation of a text has spans."""
    return any(map(_is_span, _results(values)))


def _results(values: Mapping[Any, Any]) -> list[Mapping[Any, Any]]:
    """The results of Label Studio's first annotation of a text."""
    finished = finished_annotations(values)[:1]
    return [result for item in finished for result in map(_mapping, item["result"])]


def is_damaged(values: Mapping[Any, Any]) -> bool:
    """Whether Label Studio's annotations of a text are anything but lists of results."""
    annotations = values.get("annotations")
    if annotations is None or not isinstance(values.get("data"), Mapping):
        return False
    return not isinstance(annotations, list) or any(
        not isinstance(results := _mapping(item).get("result"), list)
        or not all(isinstance(result, Mapping) for result in results)
        for item in annotations
    )


def _is_span(result: Mapping[Any, Any]) -> bool:
    """Whether a result of Label Studio is a span, not a relation, or a choice or note on a span."""
    return "labels" in _mapping(result.get("value")) or str(result.get("type")).endswith("labels")


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def parts_of(row: RawRow, text: str, span: Any) -> list[tuple[Part, str]]:
    """A span as the file gives it, with each of its types."""
    item, surface = span, None
    if isinstance(span, dict):
        item = dict(_mapping(span.get("value"))) or span  # Label Studio's result
        item = {**item, **_mapping(item.get("globalOffsets"))}  # of HyperText
        surface = next((item[key] for key in OWN_KEYS if isinstance(item.get(key), str)), None)
        ends = [next((item[k] for k in keys if k in item), None) for keys in (START_KEYS, END_KEYS)]
        ends = item.get("span", ends)
        item = [
            *(ends if isinstance(ends, list) else [ends]),
            next((item[key] for key in TYPE_KEYS if key in item), None),
        ]
    shown = excerpt(json.dumps(span))
    match item:
        case [int(), int(), None | [], *_] | [int(), int()]:
            fail(row, f"{shown} has no label; add one, or remove the span")
        case [int(start), int(end), str() | list() as label, *_]:
            kinds = [label] if isinstance(label, str) else label
            if all(isinstance(kind, str) and not word_fault(kind.strip()) for kind in kinds):
                part = Part(text, start, end, surface, row.where)
                return [(part, kind.strip()) for kind in kinds]
    return fail(row, f"{shown} is no start, end and label of a span")


def trimmed_place(row: RawRow, part: Part, place: Place | None) -> Place:
    """First and end character of a span without white space around it."""
    inner = part.text[slice(*place)].strip() if place else ""
    if place is None or not inner:
        fault = f"is no part of the text, which has {counted(len(part.text), 'character')}"
        if place is not None or part.start == part.end:
            fault = "is empty; remove it"
        fail(row, f"the span from {part.start} to {part.end} {fault}")
    start = part.text.index(inner, place[0])
    return start, start + len(inner)


def fail(row: RawRow, fault: str) -> NoReturn:
    shown = excerpt(json.dumps(row.values, ensure_ascii=False, default=str))
    raise InputError(f"{fault}, {row.where}: {shown}")
