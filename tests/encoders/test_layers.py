"""What `--layers` understands: every name, alias, form and range, and how the rest is refused."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.encoders.layers import NAMES, each_layer, parse_layers, split_specs, stored_layers
from featbert.errors import InputError

# Devlin et al. 2019, Table 7, for the 12 layers of BERT base.
PAPER = {
    "embeddings": ((0,), "single", 768),
    "second_to_last": ((11,), "single", 768),
    "last": ((12,), "single", 768),
    "sum_last4": ((9, 10, 11, 12), "sum", 768),
    "weighted_last4": ((9, 10, 11, 12), "weighted", 768),
    "concat_last4": ((9, 10, 11, 12), "concat", 3072),
    "weighted_all": (tuple(range(1, 13)), "weighted", 768),
}
GENERAL = {
    "layer:7": ((7,), "single", 768),
    "7": ((7,), "single", 768),
    "concat:12,9": ((12, 9), "concat", 1536),
    "mean:1-3, 7 , 11 - 12": ((1, 2, 3, 7, 11, 12), "mean", 768),
    "weighted:0-12": (tuple(range(13)), "weighted", 768),
    "sum:4": ((4,), "sum", 768),
}


def test_names_and_general_forms():
    assert PAPER.keys() == NAMES.keys()
    for spec, expected in (PAPER | GENERAL).items():
        found = parse_layers(spec, 12)
        assert (found.indices, found.mode, found.width(768)) == expected
        numbers = ",".join(map(str, found.indices))
        assert found.name == spec if spec in NAMES else found.name.endswith(f":{numbers}")


@pytest.mark.parametrize(
    ("spec", "num_layers", "names"),
    [
        ("concat_last4", 3, "'concat_last4'"),
        ("layer:13", 12, "not 13"),
        ("last", 0, "'last'"),
        ("lastt", 12, "did you mean 'last'?"),
        ("last4", 12, "did you mean 'concat_last4'?"),
        ("firs", 12, "did you mean 'first'?"),
        ("", 12, "''"),
        ("max:1-3", 12, "'max:1-3'"),
        ("layer:1,2", 12, "'layer:1,2'"),
        ("layer:6-1", 12, "layer:6-1"),
        ("sum:1-3,2", 12, "layer 2"),
        ("sum:-1", 12, "'-1'"),
        ("sum:1,,2", 12, "''"),
        ("layer:²", 12, "'²'"),
        ("layer:x", None, "'x'"),
    ],
)
def test_refused(spec, num_layers, names):
    with pytest.raises(InputError, match=re.escape(names)):
        parse_layers(spec, num_layers)


def test_each_is_every_hidden_state_once():
    layers = ["last", "embeddings", "layer:1", "layer:2"]
    assert each_layer(["last", "each", "layer:1"], 2) == layers


@pytest.mark.parametrize(
    ("given", "specs"),
    [
        (5, ["layer:5"]),
        ("layer:1-3", ["layer:1", "layer:2", "layer:3"]),
        ("1, 3-5", ["layer:1", "layer:3", "layer:4", "layer:5"]),
        ("layer:2,4", ["layer:2", "layer:4"]),
        ("0-1", ["embeddings", "layer:1"]),
        ("last,5,concat:9,10-12,first", ["last", "layer:5", "concat:9,10-12", "first"]),
        ("2,mean:1-3", ["layer:2", "mean:1-3"]),
        (["last", 0, "1-2"], ["last", "embeddings", "layer:1", "layer:2"]),
        ([1.5, None], [1.5, None]),
        (True, True),
    ],
)
def test_numbers_and_ranges_are_single_layers(given, specs):
    assert split_specs(given) == specs


def test_layers_that_a_store_needs():
    assert stored_layers("all", 6) == (0, 1, 2, 3, 4, 5, 6)
    assert stored_layers("concat_last4,first", 6) == (0, 3, 4, 5, 6)
    assert stored_layers([6, 2], 6) == (2, 6)
    assert stored_layers(4, 6) == (4,)


def test_without_a_model_the_form_is_checked_and_tops_are_negative():
    for spec in ("0", "layer:0", "layer:00", " first "):  # layer 0 has one name
        assert parse_layers(spec) == parse_layers("embeddings")
    assert parse_layers("second_to_last").indices == (-2,)
    assert parse_layers("concat_last4").indices == (-4, -3, -2, -1)
    assert parse_layers("layer:99").indices == (99,)


@pytest.mark.parametrize("spec", ["99", "layer:99", "concat:1,99"])
def test_a_layer_that_the_encoder_lacks_is_named_with_the_text_that_asked_for_it(spec):
    with pytest.raises(InputError) as caught:
        stored_layers(spec, 6)
    text = str(caught.value)
    assert "99" in text
    assert text.count("99") == 1 or spec in text.split("(")[1]


PARTS = st.lists(
    st.sampled_from(["layer", "sum", "concat", ":", ",", "-", " ", "0", "1", "12", "last", "4"]),
    max_size=8,
).map("".join)


@given(st.text(max_size=30) | PARTS, st.none() | st.integers(0, 24))
@example("weighted:0-9999", None)
@example("first", 3)
def test_any_text_parses_to_a_fixed_point_or_is_refused(text, num_layers):
    try:
        found = parse_layers(text, num_layers)
    except InputError:
        return
    assert parse_layers(found.name, num_layers) == found
    assert len(found.indices) >= 1
    if num_layers is not None:
        assert all(0 <= i <= num_layers for i in found.indices)
    assert len(found.indices) == 1 or found.mode != "single"
