"""Layer combinations by name: what `--layers` understands.

Hidden states of an encoder with L transformer layers are numbered 0..L: 0 is the embedding
output, `embeddings`, and 1..L are the layers. `NAMES` are those of the BERT paper's Table 7
(Devlin et al. 2019, section 5.3); `FORMS` are more general, with numbers and ranges.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from featbert.data.files import excerpt
from featbert.errors import InputError, nearest

Mode = Literal["single", "concat", "sum", "mean", "weighted"]
MODES: tuple[Mode, ...] = ("concat", "sum", "mean", "weighted")
NAMES = {
    "embeddings": "hidden state 0",
    "second_to_last": "the last but one",
    "last": "the last",
    "sum_last4": "sum of the last four",
    "weighted_last4": "learned mix of the last four",
    "concat_last4": "the last four side by side",
    "weighted_all": "learned mix of all but the embeddings",
}
ALIASES = {"first": "embeddings"}
FORMS = ("layer:7", "concat:9,10,11,12", "sum:9-12", "mean:1-12", "weighted:0-12")


@dataclass(frozen=True)
class LayerCombination:
    """Which hidden states a tagger reads, and how they become one vector a word.

    Attributes:
        name: canonical name, such as "concat_last4".
        indices: (k,) hidden states, 0 being the embeddings, in the order of combination.
        mode: "single", "concat", "sum", "mean" or "weighted" (`models/combination.py`).
    """

    name: str
    indices: tuple[int, ...]
    mode: Mode

    def width(self, hidden_size: int) -> int:
        """Width of the combined vector of a word for hidden states of `hidden_size`."""
        return hidden_size * (len(self.indices) if self.mode == "concat" else 1)


def parse_layers(spec: str, num_layers: int | None = None) -> LayerCombination:
    """The combination that `spec` names, for an encoder with `num_layers` layers.

    Without `num_layers` only the form is checked, and indices counted from the top are negative.
    """
    name = ALIASES.get(spec.strip(), spec.strip())
    if name in NAMES:
        return _named(name, num_layers)
    kind, colon, numbers = name.partition(":")
    if not colon or kind not in ("layer", *MODES):
        raise InputError(
            f"unknown layer combination {excerpt(spec)}{nearest(name, (*NAMES, *ALIASES))}; "
            f"known: {', '.join(NAMES)}; or {', '.join(FORMS)}"
        )
    indices = layer_numbers(numbers, num_layers, spec, one=kind == "layer")
    mode: Mode = "single" if kind == "layer" else cast(Mode, kind)
    return LayerCombination(f"{kind}:{','.join(map(str, indices))}", indices, mode)


def split_specs(given: Any) -> Any:
    """ "last,concat:9,10" -> last and concat:9,10; anything else as it is."""
    return re.split(r",(?=\s*[a-z])", given) if isinstance(given, str) else given


def _named(name: str, num_layers: int | None) -> LayerCombination:
    needed = 4 if "last4" in name else int(name != "embeddings")
    if num_layers is not None and num_layers < needed:
        raise InputError(
            f"{name!r} needs an encoder with at least {needed} layers, this one has "
            f"{num_layers}; name some of them, as in mean:1-{num_layers}"
        )
    top = -1 if num_layers is None else num_layers
    indices = {
        "embeddings": range(1),
        "last": range(top, top + 1),
        "second_to_last": range(top - 1, top),
        "weighted_all": range(1, (num_layers or 1) + 1),
    }.get(name, range(top - 3, top + 1))
    mode = name.partition("_")[0]
    return LayerCombination(name, tuple(indices), mode if mode in MODES else "single")


def layer_numbers(
    text: str, num_layers: int | None, spec: str, *, one: bool = False
) -> tuple[int, ...]:
    """Numbers and ranges of a general form: "9,10-12" -> (9, 10, 11, 12); `spec` was typed."""
    form = "one layer number, as in layer:7" if one else "layer numbers, as in 9,10,11 or 9-12"
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,4})\s*(?:-\s*([0-9]{1,4})\s*)?", part)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not numbers:
            raise InputError(f"{excerpt(part)} in {excerpt(spec)} is no layer number; give {form}")
        if twice := found.keys() & numbers:
            raise InputError(f"{excerpt(spec)} names layer {min(twice)} twice")
        found |= dict.fromkeys(numbers)
    if one and len(found) != 1:
        raise InputError(f"{excerpt(spec)} names {len(found)} layers; give {form}")
    if num_layers is not None and max(found) > num_layers:
        raise InputError(
            f"{excerpt(spec)} names layer {max(found)} of an encoder with layers 0 to {num_layers}"
        )
    return tuple(found)
