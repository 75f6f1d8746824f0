"""Which column is what: usual names of columns, for all kinds of files.

Names are compared in lower case. If a file has several of a list, the first in the list counts.
"""

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from featbert.errors import InputError, nearest, spelling
from featbert.text import shortened

Column = int | str  # by number, from 1, or by name

# Words, their tags, and what shows where sentences and documents begin.
WORD_KEYS = ("tokens", "words", "token", "word", "form", "text")
ENTITY_KEYS = ("tags", "ner_tags", "labels", "ner", "tag", "ner_tag", "label", "ne-coarse-lit")
LABEL_KEYS = ("upos", "pos_tags", "pos", "tags", "labels", "pos_tag", "tag", "label")
TAG_KEYS = {*ENTITY_KEYS, *LABEL_KEYS}
SENTENCE_KEYS = (
    *("sentence_id", "sentence_idx", "sentence_number", "sentence #", "sentence#", "sentence"),
    *("sent_id", "sent_idx", "sent"),
)
DOCUMENT_KEYS = ("document", "doc_id", "document_id")
# Texts and pairs of texts.
ASPECTS = ("aspect", "aspect_term", "aspect term")
PAIRS = (
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
    ("premise", "hypothesis"),
    ("context", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("question", "context"),
    ("text_a", "text_b"),
    ("text1", "text2"),
    ("text", "pair"),
    ("#1 string", "#2 string"),
    ("sentence 1", "sentence 2"),
    *(("question", text) for text in ("passage", "paragraph", "document")),
    *(("query", text) for text in ("document", "passage")),
    ("claim", "evidence"),
    *((text, aspect) for text in ("sentence", "text", "review") for aspect in ASPECTS),
    *(("title", text) for text in ("text", "content", "body", "description", "abstract", "review")),
    ("review_title", "review_body"),
    *(("subject", text) for text in ("text", "content", "body", "message")),
    ("headline", "body"),
)
TEXTS = (
    *("sentence", "text", "review", "content", "question", "title", "data", "tweet", "comment"),
    *("comment_text", "review_text", "reviewtext", "headline", "claim", "utterance", "message"),
    *("review_body", "review text"),
)
# Names of words that no text has.
WORD_ONLY_KEYS = {*WORD_KEYS} - {*TEXTS}
# Contexts, and lists of choices.
CONTEXTS = (
    *("ctx", "context", "premise", "sent1", "passage", "article", "goal", "question", "sentence"),
    "prompt",
)
CHOICE_LISTS = ("endings", "choices", "options")
_NUMBERED_CHOICE = re.compile(r"(ending|choice|option|answer|sol|op|)[ _-]?(\d+|[a-j])")
# Answers: classes, scores, the right choice, spans of a passage.
CLASS_KEYS = (
    *("label", "gold_label", "labels", "class", "category", "entailment_label", "entailment"),
    *("entailment_judgment", "quality", "is_duplicate", "sentiment", "stars", "coarse_label"),
    *("polarity", "rating", "overall", "class index", "intent", "emotion", "target"),
    *("cats", "accept"),  # of spaCy and Prodigy
)
SCORE_KEYS = (
    *("score", "relatedness", "relatedness_score", "similarity", "similarity_score", "label"),
    *("rating", "stars", "overall", "target"),
)
EXAMPLE_KEYS = (*CLASS_KEYS, *SCORE_KEYS)
RIGHT_CHOICE_KEYS = (
    *("label", "gold", "gold_label", "answer", "target", "correct"),
    *("answerkey", "answer_key", "correct_answer"),
)
ANSWER_KEYS = ("answers", "answer", "answer_text", "answers.text")
ANSWER_START_KEYS = ("answer_start", "answers.answer_start", "start")
IDS = ("id", "idx", "ind", "index", "guid", "uid", "nr", "no", "#")
# Numbers of rows as pandas and R write them.
ROW_NUMBERS = ("column 0", "column 1", "unnamed: 0", "__index_level_0__")
USUAL_NAMES = {
    *(*WORD_KEYS, *TAG_KEYS, *SENTENCE_KEYS, *DOCUMENT_KEYS, *(n for pair in PAIRS for n in pair)),
    *(*TEXTS, *CONTEXTS, *CHOICE_LISTS, *EXAMPLE_KEYS, *RIGHT_CHOICE_KEYS),
    *(*ANSWER_KEYS, *ANSWER_START_KEYS, *IDS),
}


def lower_names(names: Collection[str]) -> dict[str, str]:
    """Names of columns by their lower case, the first of equals."""
    return {name.strip().lower(): name for name in reversed([*names])}


def usual_columns(names: Collection[str], keys: Collection[str]) -> list[str]:
    """The columns among `names` with one of the usual names `keys`, in the order of the keys."""
    by_lower = lower_names(names)
    return [by_lower[key] for key in keys if key in by_lower]


def usual_column(names: Collection[str], keys: Collection[str]) -> str | None:
    """The first of `usual_columns`."""
    return next(iter(usual_columns(names, keys)), None)


def named_column(column: Column, names: Sequence[str], setting: str, where: object) -> str:
    """The column with this name, or with this number from 1. InputError if there is none."""
    if isinstance(column, int) and 1 <= column <= len(names):
        return names[column - 1]
    name = column if column in names else lower_names(names).get(str(column).lower())
    if name is None:
        raise InputError(
            f"{column} is no column of {where}{nearest(str(column), names)}; it has "
            f"{', '.join(names)}",
            setting=setting,
        )
    return str(name)


def only_column(
    column: Column | None, keys: Sequence[str], names: Sequence[str], setting: str, where: object
) -> str | None:
    """The named column, else the only one with a usual name, else None. InputError for several."""
    if column is not None:
        return named_column(column, names, setting, where)
    columns = usual_columns(names, keys)
    if len(columns) > 1:
        raise InputError(
            f"several columns in {where} fit {spelling(setting)}: {', '.join(columns)}; name one"
        )
    return columns[0] if columns else None


def usual_texts(names: Collection[str], of_train: Sequence[str] = ()) -> list[str]:
    """The columns of a pair or of a text among these, by their usual names, or else none.

    The names in train come first.
    """
    by_lower = lower_names(names)
    texts = (*PAIRS, *((text,) for text in TEXTS))
    texts = (tuple(map(str.lower, of_train)), *texts) if of_train else texts
    return [by_lower[n] for n in next((t for t in texts if {*t} <= by_lower.keys()), ())]


@functools.lru_cache(16)
def usual_choices(names: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """The column of a context and the columns of choices among these, by their usual names.

    Choices are one column with a list, or two and more that have one name with numbers or letters,
    or three and more called by letters.
    """
    numbered: dict[str, list[tuple[int, str, str]]] = {}
    for lower, name in lower_names(names).items():
        match = _NUMBERED_CHOICE.fullmatch(lower)
        if match and (match[1] or match[2].isalpha()):
            number = int(match[2]) if match[2].isdecimal() else 0
            numbered.setdefault(match[1], []).append((number, match[2], name))
    several = [sorted(c) for kind, c in numbered.items() if len(c) > 1 + (not kind)]
    choices = [name for *_, name in max(several, key=len, default=[])]
    return usual_column(names, CONTEXTS), usual_columns(names, CHOICE_LISTS)[:1] or choices


def looks_like_choices(names: Collection[str]) -> bool:
    """Whether these are columns of a context and of choices."""
    return all(usual_choices(tuple(names)))


def looks_like_texts(names: Collection[str]) -> bool:
    """Whether these are columns of examples.

    A single text may be a word, which may be called "text", with its tag in the next column.
    """
    n_texts = len(usual_texts(names))
    answers = usual_columns(names, EXAMPLE_KEYS)
    return n_texts == 2 or (n_texts == 1 and bool(answers or len(lower_names(names)) == 1))


def usual_targets(values: Mapping[Any, Any]) -> str | None:
    """The targets that columns of texts surely have: "choices", "spans" or None."""
    if looks_like_choices(values):
        return "choices"
    answers = usual_column(values, ANSWER_KEYS)
    is_asked = {"question", "context"} <= lower_names(values).keys()
    return "spans" if is_asked and isinstance(values.get(answers), dict | list) else None


def columns_seen(values: Mapping[Any, Any]) -> str:
    """Columns for a message: names, or numbers with the first line's cells: "1 ('Headline')"."""
    shown = [
        f"{name} ({shortened(str(value), 30)!r})" if str(name).isdigit() else name
        for name, value in values.items()
    ]
    return ", ".join(shown) or "none"


def delimiter_advice(values: Mapping[Any, Any], path: Path) -> str:
    """The option that names the separator, if the only column of a table seems to hold one."""
    if path.suffix.lower() in (".json", ".jsonl", ".ndjson", ".parquet", ".arrow"):
        return ""
    line = "" if len(values) > 1 else "".join(map(str, [*values, *values.values()]))
    sign = next((sign for sign in "\t;|," if sign in line), None)
    if not sign:
        advice = "; remove line 1 if it is a title, or write a tab between text and answer"
        return advice if line else ""
    return f"; if {sign!r} separates columns, give {spelling('delimiter', sign)}"
