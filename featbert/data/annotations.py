"""Texts with spans of characters, as annotation tools write them.

    {"text": "Rome.", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}

Read are the exports of doccano, Prodigy, Label Studio, LightTag, UBIAI, spaCy and CLUENER.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, NoReturn

from featbert.data.columns import CLASS_KEYS, WORD_KEYS, lower_names
from featbert.data.files import RawRow, word_fault
from featbert.data.offsets import Part, Place
from featbert.errors import InputError
from featbert.text import counted, excerpt

# Keys of a text, of its spans, and in a span of its type, ends and text.
TEXT_KEYS = ("text", "data", "content", "document", "sentence")
SPAN_KEYS = ("spans", "entities", "label", "labels", "ner", "annotations", "tokens")
TYPE_KEYS = (
    *("label", "labels", "tag", "hypertextlabels", "paragraphlabels", "type", "entityLabel"),
    "entity_type",
)
START_KEYS, END_KEYS = ("start", "start_offset", "begin"), ("end", "end_offset", "stop")
OWN_KEYS = ("text", "surface", "surface_form", "mention", "quote", "value", "name")


def text_and_spans(values: Mapping[Any, Any]) -> tuple[str, list[Any]] | None:
    """The text of a row and its spans, or None if the row has words, or a text without spans.

    The first list with a span counts, else an empty one. Prodigy leaves out an empty list. CLUENER
    has spans in a mapping from types to texts to offsets.
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
        if spans and (key != "tokens" or {*TYPE_KEYS} & {*_mapping(spans[0])}):  # else Prodigy's
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
    """The text of a row with spans, by its usual names."""
    return next((text for key in TEXT_KEYS if isinstance(text := values.get(key), str)), None)


class StudioTask(NamedTuple):
    """A text in Label Studio's JSON.

    Attributes:
        data: the text, and other columns of the file that was annotated.
        spans: without relations, and choices and notes on spans.
        choices: by the name of the question.
        mark: why there is no finished annotation, or "".
    """

    data: Mapping[Any, Any]
    spans: list[Mapping[Any, Any]]
    choices: dict[str, list[str]]
    mark: str


def studio_task(row: RawRow) -> StudioTask | None:
    """The text of a row of Label Studio, or None for another row.

    InputError for annotations that are no lists of results, and for several finished ones.
    """
    data, annotations = row.values.get("data"), row.values.get("annotations")
    items = annotations if isinstance(annotations, list) else []
    has_results = any("result" in _mapping(item) for item in items)
    has_data = isinstance(data, Mapping) and text_in(row.values) is None
    if not (has_data or has_results):
        return None
    is_list = annotations is None or isinstance(annotations, list)
    lists = [_mapping(item).get("result") for item in items]
    if not is_list or not all(
        isinstance(results, list) and all(isinstance(result, Mapping) for result in results)
        for results in lists
    ):
        fail(row, "the annotations have no list of results; export them again")
    finished = [item["result"] for item in items if not item.get("was_cancelled")]
    if len(finished) > 1:
        fail(row, f"{len(finished)} annotations of one text; keep one of them")
    spans, choices, mark = [], {}, ""
    for result in chain(*finished):
        value = _mapping(result.get("value"))
        if "labels" in value or str(result.get("type")).endswith("labels"):
            spans.append(result)
        elif isinstance(value.get("choices"), list):
            choices[str(result.get("from_name"))] = value["choices"]
    if "annotations" in row.values and not finished:
        mark = "was_cancelled" if annotations else "no annotation"
    return StudioTask(data if isinstance(data, Mapping) else row.values, spans, choices, mark)


def studio_row(row: RawRow) -> RawRow:
    """A row of Label Studio with its text and spans as other tools write them. Others unchanged."""
    if (task := studio_task(row)) is None:
        return row
    texts = [item for item in task.data.values() if isinstance(item, str)]
    text = text_in(row.values) or task.data.get("text", texts[0] if len(texts) == 1 else None)
    if not isinstance(text, str):
        return replace(row, mark=task.mark)
    values = {name: v for name, v in row.values.items() if name not in ("data", "annotations")}
    values |= {"text": text} | ({"spans": task.spans} if "annotations" in row.values else {})
    return replace(row, values=values, mark=task.mark)


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
