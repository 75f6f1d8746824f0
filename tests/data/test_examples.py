"""Files of texts and pairs with one answer each: columns, words, answers, and what is refused."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

from featbert.data.examples import class_name, example_split
from featbert.data.load import load_corpus
from featbert.errors import InputError
from tests.data.reading import json_lines, read

WHO = "question\tsentence\tlabel\nWho?\tBob came\tyes\n"
GLUE = "sentence1\tsentence2\tlabel\nA man eats.\tA man's eating.\t1\nNo.\tYes!\t0\n"


def words_and_answers(corpus, split="train"):
    return [(" ".join(s.words), s.pair, s.tags) for s in corpus[split]]


@pytest.mark.parametrize(
    ("text", "named", "expected"),
    [
        (GLUE, {}, [("A man eats . A man ' s eating .", 4, ("1",)), ("No . Yes !", 2, ("0",))]),
        (
            "question\tanswer\tgood\tfair\nWhy?\tSo.\tyes\tno\n",
            {"text": "question", "pair": "answer", "target": "fair"},
            [("Why ? So .", 2, ("no",))],
        ),
        # A named pair is not also the text.
        (WHO, {"pair": "question"}, [("Bob came Who ?", 2, ("yes",))]),
        (WHO, {"pair": "sentence"}, [("Who ? Bob came", 2, ("yes",))]),
        # There may be no header.
        ("gj04\t1\t\tOur friends.\n", {"text": 4, "target": 2}, [("Our friends .", None, ("1",))]),
        # TSV has no quotes; classes may be negative numbers.
        ('sentence\tlabel\n"A b\t-1\nc\t1\n', {}, [('" A b', None, ("-1",)), ("c", None, ("1",))]),
        # Texts without words are kept and counted.
        ("sentence\tlabel\n  \tx\nb\ty\n", {}, [("", None, ("x",)), ("b", None, ("y",))]),
    ],
)
def test_columns_have_their_usual_names_or_those_given(tmp_path, text, named, expected):
    corpus = read(tmp_path, text, **named)
    assert words_and_answers(corpus) == expected
    assert corpus["train"].notes.empty_texts == [s.words for s in corpus["train"]].count(("",))


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ('text,label\n"A ""b""\nc",pos\nd,neg\n', "csv"),
        ('{"text": "A \\"b\\"\\nc", "label": "pos"}\n{"text": "d", "label": "neg"}\n', "jsonl"),
    ],
)
def test_quotes_and_line_ends_are_of_the_text(tmp_path, text, ending):
    corpus = read(tmp_path, text, ending)
    first = corpus["train"].sentences[0]
    assert first.texts == ('A "b"\nc',)
    assert first.words == ("A", '"', "b", '"', "c")
    assert [first.texts[0][a:b] for a, b in first.places] == list(first.words)
    assert [s.tags for s in corpus["train"]] == [("pos",), ("neg",)]


@pytest.mark.parametrize(
    ("targets", "options", "setting"),
    [
        ("classes", {"text": "note", "pair": "note"}, "pair"),
        ("classes", {"text": 1, "pair": "note"}, "pair"),
        ("classes", {"text": "x", "target": "x"}, "target"),
        ("scores", {"text": "note", "pair": "x", "target": "x"}, "target"),
        ("sets", {"text": "x", "target": "x,y"}, "target"),
        ("sets", {"text": "x", "target": "x"}, "target"),
    ],
)
def test_a_column_is_read_as_one_thing(tmp_path, targets, options, setting):
    with pytest.raises(InputError) as error:
        read(tmp_path, "note,x,y\na b c,1,0\n", "csv", targets, **options)
    assert error.value.setting == setting


@pytest.mark.parametrize(
    ("train", "dev", "options"),
    [
        ("text,sentiment\na,pos\n", "text,label,sentiment\nb,0,neg\n", {}),
        ("text,label\na,pos\n", "sentence,text,label\nq,b,neg\n", {}),
        ("review,label\na,pos\n", "text,Review,label\nq,b,neg\n", {}),
        ("text,label\na,pos\n", "title,text,label\nq,b,neg\n", {}),
        ("text,label\na,pos\n", "sentence,label\nb,neg\n", {}),
        ("text,label\na,pos\n", "text,sentiment\nb,neg\n", {}),
        ("text,good,label\na,pos,x\n", "text,label\nb,x\n", {"target": "good"}),  # no answers
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_all_parts_have_the_columns_of_train(tmp_path, train, dev, options, ending):
    parts = {"train": train, "dev": dev}
    if ending == "jsonl":
        parts = {n: json_lines(csv.DictReader(text.splitlines())) for n, text in parts.items()}
    corpus = read(tmp_path, ending=ending, parts=parts, **options)
    assert words_and_answers(corpus) == [("a", None, ("pos",))]
    assert words_and_answers(corpus, "dev") == [("b", None, None if options else ("neg",))]


def test_two_targets_of_one_text_and_none_share_it(tmp_path):
    text = "sentence_A\tsentence_B\trelatedness_score\tentailment_label\nA b.\tC.\t4.5\tNEUTRAL\n"
    read_as = [read(tmp_path, text, targets=t)["train"] for t in ("classes", "scores", None)]
    assert [split.tags for split in read_as[:2]] == [[("NEUTRAL",)], [("4.5",)]]
    assert read_as[2].sentences[0].tags is None
    assert len({split.text_fingerprint for split in read_as}) == 1
    assert len({split.tag_fingerprint for split in read_as}) == 3


ROWS = [("so la la", 3.5), (None, 4.0), (12, 3.5), (1.5, None)]


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("csv", "text,stars\nso la la,3.5\n,4.0\n12,3.5\n1.5,\n"),
        ("jsonl", json_lines({"text": text, "stars": stars} for text, stars in ROWS)),
    ],
)
def test_a_table_is_read_alike_as_csv_and_json(tmp_path, ending, content):
    train = read(tmp_path, content, ending)["train"]
    assert [s.texts for s in train] == [("so la la",), ("",), ("12",), ("1.5",)]
    assert [s.tags for s in train] == [("3.5",), ("4",), ("3.5",), None]
    assert train.notes.empty_texts == 1


def test_a_split_made_of_columns_is_that_of_the_file(tmp_path):
    texts, answers = ["so la la", "b", "c d"], [3.5, 4.0, None]
    rows = [{"text": text, "stars": answer} for text, answer in zip(texts, answers, strict=True)]
    for targets in ("classes", "scores"):
        corpus = read(tmp_path, json_lines(rows), "jsonl", targets)
        for of in (list, np.array, pd.Series):
            split = example_split("train", of(texts), of(answers))
            assert split.sentences == corpus["train"].sentences or targets == "scores"
            assert [s.tags and float(*s.tags) for s in split] == answers
    pairs = pd.DataFrame({"a": ["x y", "z"], "b": ["u", "v"]}).values
    split = example_split("dev", pairs, np.array([True, False]))
    assert [(s.texts, s.pair, s.tags) for s in split] == [
        (("x y", "u"), 2, ("true",)),
        (("z", "v"), 1, ("false",)),
    ]


@pytest.mark.parametrize(
    ("answers", "place"), [(["a"], "dev"), (["a", ["b"]], "answer 2"), ([{}, "a"], "answer 1")]
)
def test_each_text_has_one_answer(answers, place):
    with pytest.raises(InputError, match=place):
        example_split("dev", ["a", "b"], answers)


def test_where_the_second_text_begins_is_of_the_text(tmp_path):
    header = "sentence1\tsentence2\tlabel\n"
    one, other = (read(tmp_path, header + row)["train"] for row in ("a b\tc\tx\n", "a\tb c\tx\n"))
    assert one.text_fingerprint != other.text_fingerprint


KINDS = {
    "tsv": "sentence\tlabel\na b\tx\n",
    "conll": "a X\n",
    "jsonl": '{"sentence": "a b", "label": "x"}\n',
}


@pytest.mark.parametrize("kinds", [("tsv", "conll"), ("conll", "tsv"), ("conll", "jsonl")])
def test_a_corpus_has_words_or_texts(tmp_path, kinds):
    names = [f"{split}.{kind}" for split, kind in zip(("train", "dev"), kinds, strict=True)]
    for name, kind in zip(names, kinds, strict=True):
        (tmp_path / name).write_text(KINDS[kind], "utf-8")
    for targets in ("classes", "labels"):
        with pytest.raises(InputError, match="|".join(names)):
            load_corpus(tmp_path, targets=targets)
    with pytest.raises(InputError, match=" .*".join(names)):
        load_corpus(tmp_path, targets=None)


def test_texts_of_two_kinds_of_files_are_a_corpus(tmp_path):
    for name in ("train.tsv", "dev.jsonl"):
        (tmp_path / name).write_text(KINDS[name.partition(".")[2]], "utf-8")
    corpus = load_corpus(tmp_path, targets="classes")
    assert corpus["train"].sentences[0].texts == corpus["dev"].sentences[0].texts == ("a b",)


@pytest.mark.parametrize("word", ["Text", "sentence", "Question"])
def test_a_word_that_is_the_name_of_a_column_is_a_word(tmp_path, word):
    corpus = read(tmp_path, f"{word}\tO\nRome\tB-LOC\n", targets="entities")
    assert corpus["train"].sentences[0].words == (word, "Rome")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A stroke where a word touches the one before it, else a space.
        ("Old Rome's end, ok?", "Old Rome|'|s end|, ok|?"),
        ("罗马很老。 Yes", "罗|马|很|老|。 Yes"),
        ("トヨタはNHKで", "ト|ヨ|タ|は|NHK|で"),
        ("ที่เมืองA1 ຢູ່", "ที่|เ|มื|อ|ง|A1 ຢູ່"),
        ("အကြီး ភាសា", "အ|ကြီ|း ភា|សា"),
        ("한국어 문장.", "한국어 문장|."),
        ("naïve Ünder\u2014wear", "naïve Ünder|\u2014|wear"),
    ],
)
def test_characters_of_scripts_without_spaces_are_words(tmp_path, text, expected):
    sentence = read(tmp_path, f"sentence\tlabel\n{text}\tx\n")["train"].sentences[0]
    signs = ("|" if touches else " " for touches in sentence.touches)
    shown = "".join(f"{sign}{word}" for sign, word in zip(signs, sentence.words, strict=True))
    assert shown[1:] == expected
    assert [text[a:b] for a, b in sentence.places] == [*sentence.words]
    pair = read(tmp_path, f"sentence1\tsentence2\tlabel\n罗马\t{text}\tx\n")["train"].sentences[0]
    assert pair.touches == (False, True, *sentence.touches)  # the texts do not touch


@pytest.mark.parametrize("name", ["foo", "foo, bar"])
def test_json_gets_no_advice_on_separators(tmp_path, name):
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({name: 1}) + "\n", "utf-8")
    with pytest.raises(InputError) as error:
        load_corpus(path, targets="classes")
    assert name in str(error.value)
    assert not re.search("delimiter=|tab ", str(error.value))


@pytest.mark.parametrize("tags", ["O O B-geo O", "B-PER,I-PER", "O, O"])
@pytest.mark.parametrize("targets", ["classes", "sets"])
def test_the_tags_of_a_sentence_are_no_class(tmp_path, tags, targets):
    rows = [("It is O", "O"), ("See I-95.", "I-95 S"), ("By train", "S-Bahn U-Bahn")]
    rows.append(("Rome it is", tags))
    with pytest.raises(InputError, match="line 5 of "):
        read(tmp_path, "text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in rows), targets=targets)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_no_class(value):
    assert class_name(3.5) == "3.5"
    with pytest.raises(ValueError, match="no class"):
        class_name(value)
