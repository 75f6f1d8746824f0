"""The embedded sample is honest: well formed, ambiguous in train, not solved by memory."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "featbert" / "data" / "sample"
SPLITS = ("train", "dev", "test")
TYPES = {"PER", "LOC", "ORG", "MISC"}
SENTENCES = {"train": (570, 640), "dev": (140, 170), "test": (140, 170)}

Sentence = list[tuple[str, str]]  # (word, tag)
Form = tuple[str, ...]  # the words of an entity
Span = tuple[int, int, str]  # first word, one past the last, type


def read_documents(split: str) -> list[list[Sentence]]:
    """Read a split without featbert's own reader, which is tested elsewhere and with this file."""
    documents: list[list[Sentence]] = []
    for block in (SAMPLE / f"{split}.conll").read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
        if block == "-DOCSTART- O":
            documents.append([])
        else:
            columns = [line.split(" ") for line in block.split("\n")]
            documents[-1].append([(word, tag) for word, tag in columns])
    return documents


def read_sentences(split: str) -> list[Sentence]:
    return [sentence for document in read_documents(split) for sentence in document]


def words_of(sentence: Sentence) -> Form:
    return tuple(word for word, _ in sentence)


def spans_of(sentence: Sentence) -> list[Span]:
    spans: list[Span] = []
    for position, (_, tag) in enumerate(sentence):
        if tag.startswith("B-"):
            spans.append((position, position + 1, tag[2:]))
        elif tag.startswith("I-"):
            start, _, kind = spans[-1]
            spans[-1] = (start, position + 1, kind)
    return spans


def entity_forms(sentences: list[Sentence]) -> dict[Form, Counter[str]]:
    """How often each surface form is an entity of each type."""
    forms: dict[Form, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        words = words_of(sentence)
        for start, end, kind in spans_of(sentence):
            forms[words[start:end]][kind] += 1
    return dict(forms)


def majority_types(sentences: list[Sentence]) -> dict[Form, str]:
    """The commonest type of each form; where its words all carry O, that is an O of the form."""
    forms = entity_forms(sentences)
    longest = max(len(form) for form in forms)
    for sentence in sentences:
        words = words_of(sentence)
        for start in range(len(words)):
            for end in range(start + 1, min(start + longest, len(words)) + 1):
                outside = all(tag == "O" for _, tag in sentence[start:end])
                if outside and words[start:end] in forms:
                    forms[words[start:end]]["O"] += 1
    return {form: counts.most_common(1)[0][0] for form, counts in forms.items()}


def tag_from_memory(words: Form, majority: dict[Form, str]) -> set[Span]:
    """At each position the longest form known from train, with its majority type."""
    longest = max(len(form) for form in majority)
    spans: set[Span] = set()
    position = 0
    while position < len(words):
        for length in range(min(longest, len(words) - position), 0, -1):
            kind = majority.get(words[position : position + length])
            if kind is not None:
                if kind != "O":
                    spans.add((position, position + length, kind))
                position += length
                break
        else:
            position += 1
    return spans


def memory_f1(split: str) -> float:
    majority = majority_types(read_sentences("train"))
    correct = expected = predicted = 0
    for sentence in read_sentences(split):
        gold = set(spans_of(sentence))
        guess = tag_from_memory(words_of(sentence), majority)
        correct += len(gold & guess)
        expected += len(gold)
        predicted += len(guess)
    return 2 * correct / (expected + predicted)


def fourgrams(words: Form) -> list[Form]:
    return [words[start : start + 4] for start in range(len(words) - 3)]


@pytest.mark.parametrize("split", SPLITS)
def test_file_is_plain_two_column_conll(split: str) -> None:
    raw = (SAMPLE / f"{split}.conll").read_bytes()
    assert not raw.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in raw
    assert b"\t" not in raw
    assert raw.endswith(b"\n")
    lines = raw.decode("utf-8").split("\n")
    assert lines[0] == "-DOCSTART- O"
    for number, line in enumerate(lines, start=1):
        columns = line.split(" ")
        assert line == "" or (len(columns) == 2 and all(columns)), (
            f"{split}.conll:{number}: {line!r}"
        )
        if columns[0] == "-DOCSTART-":
            assert (line, lines[number]) == ("-DOCSTART- O", ""), f"{split}.conll:{number}"


@pytest.mark.parametrize("split", SPLITS)
def test_tags_are_well_formed_bio_of_the_four_types(split: str) -> None:
    allowed = {"O"} | {f"{prefix}-{kind}" for prefix in "BI" for kind in TYPES}
    for sentence in read_sentences(split):
        previous = "O"
        for word, tag in sentence:
            assert tag in allowed, f"{split}: {word} {tag}"
            if tag.startswith("I-"):
                assert previous[2:] == tag[2:], f"{split}: {word} {tag} after {previous}"
            previous = tag


@pytest.mark.parametrize("split", SPLITS)
def test_split_has_its_size_documents_and_all_types(split: str) -> None:
    documents = read_documents(split)
    sentences = read_sentences(split)
    low, high = SENTENCES[split]
    assert low <= len(sentences) <= high
    assert all(4 <= len(document) <= 10 for document in documents)
    assert max(len(sentence) for sentence in sentences) <= 35
    assert {kind for sentence in sentences for _, _, kind in spans_of(sentence)} == TYPES
    assert any(not spans_of(sentence) for sentence in sentences)


def test_no_sentence_stands_twice() -> None:
    seen: dict[Form, str] = {}
    for split in SPLITS:
        for sentence in read_sentences(split):
            words = words_of(sentence)
            assert words not in seen, f"{split} and {seen[words]}: {' '.join(words)}"
            seen[words] = split


def test_names_in_train_are_ambiguous() -> None:
    ambiguous = [
        form for form, kinds in entity_forms(read_sentences("train")).items() if len(kinds) > 1
    ]
    assert len(ambiguous) >= 25


@pytest.mark.parametrize("split", ["dev", "test"])
def test_many_names_are_new(split: str) -> None:
    known = set(entity_forms(read_sentences("train")))
    forms = set(entity_forms(read_sentences(split)))
    assert len(forms - known) >= 0.4 * len(forms)


def test_memory_tagger_is_right_where_train_decides() -> None:
    majority = {("Jordan",): "PER", ("Jordan", "Times"): "ORG", ("Reading",): "O"}
    words = ("Reading", "the", "Jordan", "Times", "to", "Jordan")
    assert tag_from_memory(words, majority) == {(2, 4, "ORG"), (5, 6, "PER")}


@pytest.mark.parametrize("split", ["dev", "test"])
def test_memory_of_names_does_not_solve_it(split: str) -> None:
    # above 0.25: names are shared, so that ambiguity is felt; below 0.60: context must decide
    assert 0.25 < memory_f1(split) < 0.60


@pytest.mark.parametrize("split", ["dev", "test"])
def test_sentences_are_not_train_sentences_in_disguise(split: str) -> None:
    train = [words_of(sentence) for sentence in read_sentences("train")]
    whole = set(train)
    known = {gram for words in train for gram in fourgrams(words)}
    for sentence in read_sentences(split):
        words = words_of(sentence)
        assert words not in whole, " ".join(words)
        grams = fourgrams(words)
        shared = sum(gram in known for gram in grams)
        assert shared <= 0.6 * len(grams), f"{shared} of {len(grams)} 4-grams: {' '.join(words)}"
