"""Files that are no corpus are refused in one line that names the place."""

import json

import pytest

from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from tests.data.reading import json_lines as lines

SPANS_IN_CSV = '"[{""start"": 0, ""end"": 2, ""text"": ""It"", ""labels"": [""PER""]}]"'
SEVERAL = (["a", "b"], [["a", "b"]], "['a', 'b']", "['a' 'b']")
WORDS = {"tokens": ["a"], "tags": ["O"]}
PAGE = {"type": "hypertextlabels"}
ADA = {"start": 0, "end": 7, "text": "Ada Lee"}
TWO = {"context": "a", "endings": ["b", "c"]}
THREE = {"context": "a", "endings": ["b", "c", "d"], "label": 2}
OSLO = {"question": "Where?", "context": "Ada lives in Oslo.", "answers": ["Oslo"]}
CATS = {"text": "a", "cats": {"POS": 1, "NEG": 0}}


def squad(**values):
    """Two questions in the form of SQuAD; `values` are the second one's."""
    items = [{"id": f"q{n}", "question": "How long?", "answers": []} for n in (1, 2)]
    items[1] |= values
    return json.dumps({"data": [{"paragraphs": [{"context": "It is 813 km.", "qas": items}]}]})


# By file and targets: its content, options, and what the message names.
FILES = {
    ("dev.conll", "labels"): [
        ("EU X O\nis O\n", {}, "2 .* of 3 .* line 2 of"),
        ("New York\tO\nis O\n", {}, "1 .* of 2 .*line 2 of .*'is O'"),
        ("EU O\nNew York\tO\n", {}, "line 1 of .*EU O"),
        ("EU O\n\n#fail\nit O\n", {}, "line 3 of"),  # a word without its tag
        ("EU X O\n\n#fail O\nit X O\n", {}, "line 3 of"),
        ("R\tB-LC\n \tB-LC\n", {}, "line 2 of"),
        ("EU O\n# text = x\n", {}, "4 .* of 2 .* line 2 of"),
        ("#FORMAT=WebAnno TSV 3.3\n\n1-1\t0-2\tEU\tORG\n", {"tag_column": 4}, "CoNLL"),
        ("X:y Who was the king ?\nX:z What is a big red fox ?\n", {}, "line 2 of .*text and label"),
        ("EU\nis\n", {}, "line 1 of .*'EU'"),
        ("EU\tO\n  \tO\n", {}, "column 1 .*line 2 of"),
        ("EU\tO\nis\t\n", {}, "column 2, line 2 of"),
        ("EU O\n", {"tag_column": "upos"}, "upos .*1, 2"),
        ("EU NNP\n", {"tag_column": 3}, "tag_column 3 .*line 1: 'EU NNP'; it has 1, 2"),
        ("EU NNP\n", {"token_column": 2}, "both 2"),
        ("-DOCSTART- O\n\n", {}, ""),
        ("", {}, ""),
    ],
    ("dev.jsonl", "entities"): [
        (f'{lines([WORDS])}{{"tokens": ["a"', {}, "line 2 of .*tokens"),
        (lines([WORDS]) + "[" * 100_000, {}, r"line 2 of .*\["),
        (lines([WORDS]) + "{", {}, "line 2 of .*one line"),
        *((json.dumps([CATS], indent=n), {}, r"line 1 of .*name it \.json") for n in (None, 1)),
    ],
    ("train.conll", "entities"): [
        ("Rome B-LOC\nis -\nit ?\n. O\n", {}, r"line 2 of .*missing='-,\?'"),
        ("Wort Marke\n-DOCSTART- O\n\nRome B-LOC\n", {}, "token_column='Wort'"),
    ],
    ("train.tsv", "classes"): [
        ("sentence\tlabel\na\tb\tc\n", {}, "line 2 of"),
        ("sentence\tsentence\na\tb\n", {}, "sentence"),
        ("sentence\tlabel\na\tpos\n", {"target": "lable"}, "lable"),
        ("a\tb\nc\td\n", {}, "text"),
        ("sentence\tkind\tsource\na\tb\tc\n", {}, "target"),
        ("sentence\tlabel\na\0\tpos\n", {}, "line 2 of"),
        ("text~label\na~b\n", {}, "text"),
        ("text\tlabel\nA b.\t1\nC d.\n", {}, "line 3 of"),
    ],
    ("train.tsv", "scores"): [
        ("sentence\tscore\na\t1\nb\tgood\n", {}, "good"),
        ("sentence\tscore\na\t1e999\n", {}, "1e999"),
    ],
    ("train.csv", "classes"): [
        ('text,label\n"a,b",x\n"c,d\n', {}, "line 3 of"),
        ("# of 2024\ntext,label\na b,x\n", {}, "line 1"),
        ('text,label\n"a, b",x\n', {"delimiter": ";"}, "separator than ';'"),
        ("text,note,label\nA b.,C d.,1\nA, b.,C d.,0\nA b.,C d.,1\n", {}, "line 3 of"),  # of which?
        ("text,label\nA\rb,1\nc,0\n", {}, "line 2 of"),
        ("text,label\nA b,1\nc\0,0\n", {}, "line 3 of"),
        ('text,label\n"a, b",1\n"c, d",0\n"e, f",1\n"g, h,0\n', {}, "line 5 of"),
    ],
    ("train.csv", "entities"): [
        (f"text,label\nIt is.,{SPANS_IN_CSV}\n", {}, "JSON"),
        ("tokens,ner_tags\nIn Rome,O B-LOC\nHe is,O O\n", {}, "whole sentence.*JSONL"),
    ],
    ("train.json", "classes"): [('{"text": ["a", "b"], "label": ["x", "y"]}', {}, "lists")],
    ("train.jsonl", "classes"): [
        ("{}\n{}\n", {}, "it has none"),
        (lines([{"id": 1, "ticket": {"body": "It is."}, "label": "x"}]), {}, "values in ticket"),
        (lines([{"id": 1, "data": {"text": "It is."}, "label": "x"}]), {}, "values in data"),
        ('{"text": true, "label": "x"}', {}, "line 1"),
        *(
            (lines({"text": "a", "label": label} for label in (["a"], other)), {}, named)
            for other, named in (
                ({"name": "b"}, "line 2 of"),
                # Several classes as JSON, Python and numpy write them
                *((s, r"\['a', 'b'\].*multilabel.*line 2 of") for s in SEVERAL),
            )
        ),
        ('{"text": "a", "label": 1}\n{"sentence": "b"}\n', {}, "sentence in line 1"),
    ],
    ("train.jsonl", "sets"): [
        (lines([{"text": "a", "labels": ["a|b", "c"]}]), {}, r"'a\|b'.*write .*labels, line 1 of"),
    ],
    ("train.csv", "sets"): [
        ("text,a|b,c\nIt is,1,0\n", {}, r"'a\|b'.*write [^,]*, line 2 of"),
        ("text,labels\nIt is,a|b;c\n", {"class_separator": ";"}, r"'a\|b'.*write .*line 2 of"),
        ("text,labels\nIt is,0|1\n", {"label_names": "x|y,z"}, r"'x\|y'.*write .*label_names"),
    ],
    ("train.jsonl", "choices"): [
        *(
            (lines([THREE, THREE | {"label": 3 - 3 * n}]), {"first_choice": n}, "line 2")
            for n in (0, 1)
        ),
        ('{"sentence1": "a", "sentence2": "b", "label": 0}\n', {}, "choices"),
    ],
    ("train.tsv", "choices"): [("Start\tOne\tOther\tRight\na\tb\tc\t1\n", {}, "'Start'.*'Right'")],
    ("train.json", "spans"): [
        ("{", {}, "line 1"),
        ('{\n"data": [\n{"paragraphs" []}]}', {}, "line 3"),
        ('{"data": 3}', {}, "data"),
        ('{"data": [{}]}', {}, "text"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', {}, "paragraph 1 of article 1"),
        ('{"data": []}', {}, ""),
        ('{"data": [{"paragraphs": [{"context_text": "a", "qas": []}]}]}', {}, "'context' .*_text"),
        (squad(id=["q"]), {}, "question 2"),
        (squad(question=["a"]), {}, "question q2"),
        (squad(id="q1"), {}, "question 2.*question 1"),
        (squad(answers=[{"text": "813 km"}]), {}, "question q2"),
        (squad(answers=[{"text": "813 km", "answer_start": "11 or 12"}]), {}, "question q2"),
        (squad(answers="814 km"), {}, "question q2"),
        (squad(answers=[{"text": "813 km", "answer_start": 6}], is_impossible=True), {}, "q2"),
        (squad(question="\ud800"), {}, "question q2"),
        (squad(id="\ud800"), {}, "ud800"),
        (squad(answers=[{"text": "\ud800", "answer_start": 0}]), {}, "question q2"),
        ('{"question": "a", "answers": []}', {}, "pair"),
        ('{"question": "a", "context": 3, "answers": []}', {}, "line 1"),
        (lines([OSLO | {"id": 1}] * 2), {}, "line 2.*line 1"),
    ],
}
# By targets: an object in a line, and objects that are refused in the next line.
OBJECTS = {
    "entities": (
        WORDS,
        [
            ([1], r"\[1\]"),
            ({}, "tokens"),
            (WORDS | {"tags": [-3]}, "'-3' in 'tags'"),
            (WORDS | {"tokens": [1]}, "'1' in 'tokens'"),
            (WORDS | {"tags": ["O", "O"]}, "1 token .*2 tags"),
            (WORDS | {"tokens": [""]}, "''"),
            (WORDS | {"tokens": ["\ud800"]}, "ud800"),
            (WORDS | {"tags": ["B-a\tb"]}, r"'B-a\\tb'"),
            (WORDS | {"tokens": ["a", "b"], "tags": ["B-X", "N"]}, "'N'.*'b'"),  # of no scheme
            (WORDS | {"document": 1.5}, "'1.5'"),
            (WORDS | {"document": "x"}, "document"),
            ({"text": "a b", "label": {"PER": {"a": [0]}}}, "PER"),
            *(
                ({"text": "Ada Lee", "spans": [span]}, named)
                for span, named in (
                    ([0, 9, "X"], "0 to 9"),
                    ([0, 1, "\ud800"], "ud800"),
                    ([0, 7, ["PER", 3]], "PER.*3"),
                    ({"value": ADA | {"labels": []}, "type": "labels"}, "label"),
                    ({"value": ADA, "type": "labels"}, "label"),
                    # Offsets in an element of a page
                    ({"value": {"start": "/p[1]", "hypertextlabels": ["PER"]}, **PAGE}, "start"),
                    ({"type": "rectanglelabels", "value": {"rectanglelabels": ["PER"]}}, "start"),
                    ({"start": 0, "end": 7}, "label"),
                    ([3, 3, "PER"], "3 to 3"),
                    ({"start": "0", "end": 7, "label": "PER"}, "start"),
                )
            ),
        ],
    ),
    "classes": (
        CATS,
        [(CATS | {"cats": {"POS": pos, "NEG": neg}}, "") for pos, neg in ((1, 1), (0.7, 0.3))],
    ),
    "choices": (
        THREE,
        [
            *((TWO | {"label": 0, "endings": given}, "") for given in (["b"], "b c", ["b", 3])),
            *((TWO | {"label": label}, "") for label in (0.5, 10**400, ["b", 1])),
            *((THREE | {"label": label}, "") for label in (4, "E", "x")),
            (TWO | {"label": 3}, "0 to 1"),
            (TWO, "target"),
            (TWO | {"context": None, "label": 0}, ""),
            ({"endings": ["b", "c"], "label": 0}, "context"),
            ({"context": "a", "label": 0}, "choices"),
        ],
    ),
    "spans": (
        OSLO,
        [
            *((OSLO | {"answers": answers}, "") for answers in (["s"], ["Bergen"], ["yes"])),
            (OSLO | {"is_impossible": "True"}, ""),
        ],
    ),
}
PAIR = "sentence1\tsentence2\tlabel\nA man eats.\tNo.\t1\n"
BRAT = {"a.txt": "Rome is old.\n", "a.ann": "T1\tLOC 0 4\tRome\n"}
# Several files, targets, and what the message names.
FOLDERS = [
    # Of another task
    *(
        ({"train.conll": "Rome B-LOC\n"}, t, "train.conll.*task entities")
        for t in ("classes", "spans")
    ),
    ({"train.tsv": "sentence\tlabel\na b\tx\n"}, "entities", "train.tsv.*task classification"),
    *(
        ({"train.json": squad()}, targets, "train.json.*task='spans'")
        for targets in ("labels", "classes", "choices")
    ),
    *(
        ({"train.jsonl": lines([THREE])}, targets, "train.jsonl.*task='choice'")
        for targets in ("entities", "scores", "spans")
    ),
    *(
        ({f"train.{ending}": ""}, targets, f"no sentence.*train.{ending}")
        for ending in ("tsv", "csv", "json", "jsonl")
        for targets in ("entities", "classes")
    ),
    # No clear parts
    *(
        (dict.fromkeys(names, "EU O\n"), "entities", named)
        for names, named in (
            (("train.txt", "valid.txt", "testa.txt"), "2 dev.* testa.txt, valid.txt"),
            (("train-dev.conll", "test.conll"), "train-dev.conll"),
            ((".hidden",), "no file"),
            (("a.conll", "notes.md"), "a.conll, notes.md"),
            (tuple(f"x{i:02}.conll" for i in range(20)), "x11.conll and 8 more"),
        )
    ),
    # Numbers that do not count files
    *(
        ({f"{name}.conll": "x B-LOC\n" for name in names}, "entities", names[0])
        for names in (
            ("train-00000-of-00003", "train-00002-of-00003"),
            ("train-00000-of-00002",),
            ("train.2002", "train.2003"),
            ("train", "train.1"),
            ("a-train-0", "b-train-1"),
            ("train-10", "train-100"),
        )
    ),
    # One part of two
    (
        {"train.tsv": "sentence\tlabel\na\tx\n", "dev.tsv": PAIR},
        "classes",
        "train.tsv .*dev.tsv",
    ),
    ({"train.tsv": PAIR, "dev.tsv": "A man eats.\tNo.\n"}, None, "dev.tsv.*text and pair"),
    (
        {"train.txt": "a O\n", "dev.txt": "-DOCSTART- O\n\nEU B-X\nrejects VBZ\n"},
        "entities",
        "'VBZ'.*line 4 of .*dev.txt.*'rejects'",
    ),
    # brat
    *(
        (BRAT | files, "entities", named)
        for files, named in (
            ({"a.ann": "T1\tLOC 90 95\n"}, "90 to 95 .* 13 characters, line 1 of .*a.ann"),
            ({"a.ann": "T1\tLOC 4 4\n"}, "4 to 4 .*line 1 of .*a.ann"),
            ({"a.ann": "T1\tLOC 4 5\t \n"}, "4 to 5 .*line 1 of .*a.ann"),
            ({"a.ann": "T1\tLOC 4\tRome\n"}, "line 1 of .*a.ann: 'T1"),
            ({"a.ann": f"{BRAT['a.ann']}Rome is a town\n"}, "line 2 of .*a.ann: 'Rome is"),
            ({"a.ann": b"T1\tLOC 0 4\tR\xf4me\n"}, "0xf4.*line 1 of .*a.ann"),
            ({"a.txt": b"R\xf4me\n"}, "0xf4.*line 1 of .*a.txt"),
            ({"a.txt": "Ro\0me\n"}, "line 1 of .*a.txt"),
            ({"a.txt": "\n \n", "a.ann": ""}, "sentence"),
            ({"b.ann": "T1\tLOC 0 4\tRome\n"}, "b.ann.* b.txt"),
        )
    ),
]
ROWS = [
    *(
        ({name: content}, targets, options, f"(?=.*{named}).*{name}")
        for (name, targets), rows in FILES.items()
        for content, options, named in rows
    ),
    *(
        (
            {"train.jsonl": lines([good, bad])},
            targets,
            {},
            f"(?=.*{named}).*line 2 of .*train.jsonl",
        )
        for targets, (good, rows) in OBJECTS.items()
        for bad, named in rows
    ),
    *((files, targets, {}, named) for files, targets, named in FOLDERS),
]


@pytest.mark.parametrize(("files", "targets", "options", "named"), ROWS)
def test_what_is_refused_is_named_with_its_place(tmp_path, files, targets, options, named):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=named) as error:
        load_corpus(tmp_path, ReadingOptions(**options), targets=targets)
    assert str(tmp_path) in str(error.value)
    assert len(str(error.value)) < 600
