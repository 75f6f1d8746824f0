"""Arrays of JSON that hold examples or sentences in another form, as rows.

Label Studio's choices     [{"data": {"text": "..."}, "annotations": [{"result": [{"from_name":
                           "mood", "value": {"choices": ["good"]}}]}]}]
spaCy 2's tokens           [{"paragraphs": [{"sentences": [{"tokens": [{"orth": "Rome", "ner":
                           "U-LOC"}]}]}]}]
lists of columns           {"text": ["It is.", "It was."], "label": ["x", "y"]}
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from featbert.data.annotations import choices_of, finished_annotations, has_spans
from featbert.data.columns import usual_texts
from featbert.errors import InputError

# Letters that few words exceed.
_LONG_WORD = 12
# Fields of spaCy's tokens, and columns of their values.
_TOKEN_COLUMNS = {"orth": "tokens", "ner": "ner_tags", "tag": "pos_tags"}


def plain_rows(rows: Sequence[Any], path: Path) -> list[Any]:
    """The rows of an array. Those of other forms as rows with columns of their own.

    InputError for a text with several annotations.
    """
    annotated = [row for row in rows if isinstance(row, dict)]
    answered = [*map(choices_of, annotated)]
    if any(answered) and not any(map(has_spans, annotated)):
        names = {name for choices in answered for name in choices}
        # The answer to the only question is the label, whatever its name.
        label = dict.fromkeys(names, "label") if len(names) == 1 else {}
        for number, row in enumerate(rows, 1):
            if isinstance(row, dict) and (several := len(finished_annotations(row))) > 1:
                raise InputError(
                    f"{several} annotations of one text, row {number} of {path}; keep one of them"
                )
        return [_with_choices(row, label) for row in rows]
    if rows and all(map(_has_tokens, rows)):
        return [
            {"document": number} | sentence
            for number, document in enumerate(rows)
            for sentence in _sentences_of(document)
        ]
    return [*rows]


def rows_of_lists(columns: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of lists of equal length, one of which has texts. None for anything else.

    Words have no spaces. Texts in Chinese have none either, but are longer than words.
    """
    lists = [*columns.values()]
    are_lists = len(lists) > 1 and all(isinstance(items, list) for items in lists)
    if not are_lists or len({*map(len, lists)}) != 1:
        return None
    n_rows = len(lists[0])
    columns_of_texts = (columns[name] for name in usual_texts(columns))
    if not any(2 * sum(map(_is_text, items)) > n_rows for items in columns_of_texts):
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _is_text(item: Any) -> bool:
    """Whether an item of a list is a text, not a word."""
    is_long = isinstance(item, str) and len(item) > _LONG_WORD and not item.isascii()
    return is_long or (isinstance(item, str) and " " in item)


def _with_choices(row: Any, names: Mapping[str, str]) -> Any:
    """A row of Label Studio with its data and choices as columns. Without choices if rejected.

    A column of choices replaces a column of the data, whose answers are older.
    """
    if not isinstance(row, dict) or not isinstance(data := row.get("data"), dict):
        return row
    older = {name: value for name, value in data.items() if name not in names.values()}
    return older | {names.get(name, name): chosen for name, chosen in choices_of(row).items()}


def _has_tokens(document: Any) -> bool:
    """Whether a document's paragraphs, if it has some, have sentences as spaCy writes them."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("paragraphs"), list)
        and all("sentences" in paragraph for paragraph in _items(document, "paragraphs"))
    )


def _sentences_of(document: Any) -> list[dict[str, list[Any]]]:
    """The sentences in spaCy's tokens, or none for anything else."""
    sentences = (s for p in _items(document, "paragraphs") for s in _items(p, "sentences"))
    # A token may be white space.
    tokens_of_sentences = (
        [token for token in _items(s, "tokens") if str(token.get("orth")).strip()]
        for s in sentences
    )
    return [
        {
            column: [token[name] for token in tokens]
            for name, column in _TOKEN_COLUMNS.items()
            if all(name in token for token in tokens)
        }
        for tokens in tokens_of_sentences
        if tokens
    ]


def _items(holder: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """The objects in a list of an object."""
    items = holder.get(key)
    return (item for item in (items if isinstance(items, list) else ()) if isinstance(item, dict))
