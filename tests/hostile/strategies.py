"""Inputs for the fuzzers: made of what the formats know, and of what nobody expects in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from featbert.encoders.layers import ALIASES, FORMS, MODES, NAMES
from featbert.runs.arm import Arm, FeaturesTable, FinetuneTable
from featbert.runs.checking import FileTable
from featbert.runs.record import checksum, to_json
from tests.analysis.records import make_record

ROOT = Path(__file__).parents[2]
# Escape sequences, bidirectional and zero-width characters, separators that are no line ends,
# combining marks, lone surrogates, formulas, markup.
STRANGE = (
    *("\x1b[31m", "\x1b]0;x\x07", "\x9b2J", "\x08", "\x7f", "\x00", "\r", "\x85", "\u2028", "\x0b"),
    *(
        "\u202e",
        "\u200b",
        "\u200d",
        "\ufeff",
        "e\u0301\u0301",
        "שלום",
        "سلام",
        "\U0001f9d1",
        "\ud800",
    ),
    *("=1+1", "@x", "-x", "\\input{x}", "}", "<b>", "../", "'", '"', "\u00a0", "…"),
)
texts = st.text(max_size=6) | st.sampled_from(STRANGE)
_COLUMNS = (
    *(" ", " ", "\t", "\n", "\n", "\n", "\n\n", "\r\n", "  ", "# ", "#", "# newdoc", "-DOCSTART-"),
    *("O", "O", "B-PER", "I-PER", "B-LOC", "E-X", "S-X", "U-X", "PER", "I-", "a", "B", "word O\n"),
)


def _bytes(parts: st.SearchStrategy[str], most: int) -> st.SearchStrategy[bytes]:
    joined = st.lists(parts, max_size=most).map("".join)
    return joined.map(lambda text: text.encode("utf-8", "surrogatepass"))


column_files = _bytes(st.sampled_from(_COLUMNS) | texts, 30) | st.binary(max_size=40)
encodings = st.sampled_from(
    (
        *("utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-7", "shift_jis"),
        *("cp037", "hz", "iso2022_jp", "big5", "hex", "no such encoding"),
    )
)

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from([0, 1, -1, 10**400, 1e-320, 2**63])
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
_words = st.sampled_from(["a", "O", "B-PER", "-DOCSTART-", " "]) | texts
_rows = st.fixed_dictionaries(
    {},
    optional={
        "tokens": st.lists(_words, max_size=3) | values,
        "words": st.lists(_words, max_size=3) | values,
        "tags": st.lists(st.sampled_from(["O", "B-PER", "I-PER"]) | texts, max_size=3) | values,
        "document": values,
    },
)
_good_rows = st.lists(st.tuples(_words, st.sampled_from(["O", "B-PER", "I-PER"]) | texts)).map(
    lambda pairs: {"tokens": [w for w, _ in pairs], "tags": [t for _, t in pairs]}
)


def _line(value: Any) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # more digits than Python writes
        return str(type(value))


_lines = (_good_rows | _good_rows | _rows | values).map(_line) | st.sampled_from(
    ["", " ", "{", "[" * 5000, '{"tokens": ["a"], "tags": ["O"]}', "9" * 5000, "NaN"]
)
jsonl_files = st.lists(_lines, max_size=5).map("\n".join).map(
    lambda text: text.encode("utf-8", "surrogatepass")
) | st.binary(max_size=40)

tag_lists = st.lists(
    st.builds("{}{}".format, st.sampled_from(["B-", "I-", "E-", "S-", "L-", "U-", ""]), texts)
    | st.sampled_from(["O", "B-PER", "I-PER", "I-LOC", "E-PER", "S-PER", "PER"]),
    max_size=8,
)
_numbers = st.integers(0, 99_999).map(str) | st.sampled_from(["0-9999", "1-12", "4-3", "²", "-1"])
layer_specs = (
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["layer", *MODES, "max"]),
        st.sampled_from([":", ":", "", " : "]),
        st.lists(_numbers, max_size=40).map(",".join),
    )
    | st.sampled_from([*NAMES, *ALIASES, *FORMS])
    | st.lists(texts, max_size=40).map("".join)
)

_tables = (FileTable, Arm, FeaturesTable, FinetuneTable)
_keys = st.sampled_from([key for table in _tables for key in table.model_fields]) | texts
_ends = values | st.lists(values, max_size=4) | st.sampled_from(["sample", "train", "none", "all"])
tables: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    _keys,
    st.recursive(
        _ends, lambda inner: st.dictionaries(_keys, inner, max_size=4) | st.lists(inner, max_size=2)
    ),
    max_size=6,
)


@st.composite
def mutated(draw: st.DrawFn, originals: tuple[str, ...], pieces: tuple[str, ...]) -> str:
    """One of the originals with a few pieces of it removed, doubled or replaced."""
    text = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 12)))
        instead = draw(st.sampled_from([*pieces, text[at:end] * 2]) | texts)
        text = text[:at] + instead + text[end:]
    return text


EXPERIMENTS = tuple(p.read_text("utf-8") for p in sorted((ROOT / "experiments").glob("*.toml")))
_TOML = ("[", "]", "=", "\n", "[grid.features]\n", "[variants]\n", "seeds = ", "0x" + "f" * 5000)
_TOML += ("[1, 2]", '"', "'''", "{", "}", "1979-13-13", "inf", "9" * 5000, "[" * 2000, "a." * 100)
experiment_files = mutated(EXPERIMENTS, _TOML).map(
    lambda text: text.encode("utf-8", "surrogatepass")
) | st.binary(max_size=40)

RECORD = {k: v for k, v in json.loads(to_json(make_record())).items() if k != "checksum"}
_JSON = ("[", "]", "{", "}", ",", ":", "null", "-1", "1e999", "NaN", '"', "9" * 5000, "true")


@st.composite
def changed_records(draw: st.DrawFn) -> str:
    """A run record with strange values in some places, of the types that belong there or not."""
    data = json.loads(json.dumps(RECORD))
    for _ in range(draw(st.integers(1, 5))):
        parent, key = data, draw(st.sampled_from(sorted(data)))
        while isinstance(parent[key], dict | list) and parent[key] and draw(st.booleans()):
            parent = parent[key]
            names = sorted(parent) if isinstance(parent, dict) else range(len(parent))
            key = draw(st.sampled_from(list(names)))
        kept = {str: texts, float: st.floats(), int: st.integers()}.get(type(parent[key]), values)
        parent[key] = draw(kept | values if draw(st.integers(0, 3)) == 0 else kept)
        if isinstance(parent, dict) and draw(st.integers(0, 3)) == 0:
            parent[draw(texts)] = parent[key]
    return _line(data | {"checksum": checksum(data)})


records = changed_records() | mutated((json.dumps(RECORD),), _JSON) | values.map(_line)
run_files = st.fixed_dictionaries(
    {},
    optional={
        "record.json": records.map(lambda text: text.encode("utf-8", "surrogatepass")),
        "config.json": jsonl_files,
        "history.jsonl": jsonl_files,
    },
)
