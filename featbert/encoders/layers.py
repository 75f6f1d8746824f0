"""Layer combinations by name: what `--layers` understands.

Hidden states of an encoder with L transformer layers are numbered 0..L: 0 is the embedding
output, `embeddings`, and 1..L are the layers. `NAMES` are the combinations of the BERT paper's
Table 7 (Devlin et al. 2019, section 5.3). `FORMS` are more general, with numbers and ranges. A
number or a range without a name means single layers.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from featbert.errors import InputError, nearest
from featbert.text import excerpt

Mode = Literal["single", "concat", "sum", "mean", "weighted"]
MODES: tuple[Mode, ...] = ("concat", "sum", "mean", "weighted")
NAMES = {
    "embeddings": "hidden state 0",
    "second_to_last": "the last layer but one",
    "last": "the last layer",
    "sum_last4": "sum of the last four layers",
    "weighted_last4": "learned mix of the last four layers",
    "concat_last4": "the last four layers side by side",
    "weighted_all": "learned mix of all layers but the embeddings",
}
ALIASES = {"first": "embeddings"}
# Every hidden state by itself, from the embeddings to the last layer.
EACH = "each"
FORMS = ("7", "0-12", "concat:9,10,11,12", "sum:9-12", "mean:1-12", "weighted:0-12")


@dataclass(frozen=True)
class LayerCombination:
    """Hidden states that a tagger reads, and how they become one vector per word.

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


def parse_layers(spec: str | int, num_layers: int | None = None) -> LayerCombination:
    """The combination called `spec` of an encoder with `num_layers` layers. 5 is layer:5.

    Without `num_layers` only the form is checked, and indices counted from the top are negative.
    """
    spec = str(spec)
    name = spec.strip()
    name = f"layer:{name}" if name[:1].isdecimal() else ALIASES.get(name, name)
    if name in NAMES:
        return _named(name, num_layers)
    kind, colon, numbers = name.partition(":")
    if not colon or kind not in ("layer", *MODES):
        raise InputError(
            f"unknown layer combination {excerpt(spec)}{nearest(name, (*NAMES, *ALIASES))}; "
            f"known: {', '.join(NAMES)}; or {', '.join(FORMS)}"
        )
    indices = _layer_numbers(numbers, num_layers, spec)
    if kind != "layer":
        return LayerCombination(f"{kind}:{','.join(map(str, indices))}", indices, cast(Mode, kind))
    if len(indices) > 1:
        raise InputError(f"{excerpt(spec)} names {len(indices)} layers; give one, as in layer:7")
    if indices == (0,):
        return _named("embeddings", num_layers)
    return LayerCombination(f"layer:{indices[0]}", indices, "single")


def fixed_layers(spec: str | int, num_layers: int | None) -> LayerCombination:
    """The combination called `spec` (`parse_layers`). InputError for a learned mix."""
    combination = parse_layers(spec, num_layers)
    if combination.mode == "weighted":
        raise InputError(f"{combination.name} is a learned mix; featbert train reads those")
    return combination


def split_specs(given: Any) -> Any:
    """Combinations as a list. Anything but text, numbers and lists of them stays as it is.

    "last,concat:9,10"     -> last, concat:9,10
    "1,3-5", "layer:1,3-5" -> layer:1, layer:3, layer:4, layer:5
    0                      -> embeddings
    """
    if isinstance(given, list | tuple):
        parts = [split_specs(part) for part in given]
        return [spec for part in parts for spec in (part if isinstance(part, list) else [part])]
    if isinstance(given, bool) or not isinstance(given, str | int):
        return given
    specs: list[str] = []
    for part in str(given).split(","):
        if specs and ":" in specs[-1] and part.strip()[:1].isdecimal():
            specs[-1] += f",{part}"
        else:
            specs.append(part)
    return [layer for spec in specs for layer in _single_layers(spec.strip())]


def each_layer(specs: Sequence[str], num_layers: int) -> list[str]:
    """The combinations, each once, with every hidden state by itself in the place of "each"."""
    single = ["embeddings", *(f"layer:{n}" for n in range(1, num_layers + 1))]
    return list(dict.fromkeys(s for spec in specs for s in (single if spec == EACH else [spec])))


def stored_layers(given: str | int | Sequence[int] | None, num_layers: int) -> tuple[int, ...]:
    """Hidden states that combinations need, in rising order: "last" of 12 layers -> (12,).

    None or "all" needs all. InputError for absent layers, or if there are none.
    """
    if given in (None, "all"):
        return tuple(range(num_layers + 1))
    combinations = [parse_layers(spec, num_layers) for spec in split_specs(given)]
    layers = {index for combination in combinations for index in combination.indices}
    if not layers:
        raise InputError(f"layers are {given}; name at least one, or all")
    return tuple(sorted(layers))


def _single_layers(spec: str) -> list[str]:
    numbers = spec.removeprefix("layer:").strip()
    if not numbers[:1].isdecimal():
        return [spec]
    return [parse_layers(number).name for number in _layer_numbers(numbers, None, spec)]


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


def _layer_numbers(text: str, num_layers: int | None, spec: str) -> tuple[int, ...]:
    """Numbers and ranges: "9,10-12" -> (9, 10, 11, 12). `spec` is the user's text."""
    layers: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,4})\s*(?:-\s*([0-9]{1,4})\s*)?", part)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not numbers:
            raise InputError(
                f"{excerpt(part)} in {excerpt(spec)} is no layer number and no rising range; give "
                "numbers, as in layer:7 or concat:9-12"
            )
        if twice := layers.keys() & numbers:
            raise InputError(f"{excerpt(spec)} names layer {min(twice)} twice")
        layers |= dict.fromkeys(numbers)
    if num_layers is not None:
        check_layers(layers, num_layers, excerpt(spec))
    return tuple(layers)


def check_layers(numbers: Iterable[int], num_layers: int, spec: str = "") -> None:
    """Raises InputError for numbers from `spec` that an encoder with `num_layers` layers lacks."""
    if beyond := [number for number in numbers if not 0 <= number <= num_layers]:
        source = f" ({spec})" if spec.strip("'") not in ("", str(beyond[-1])) else ""
        raise InputError(f"the encoder has layers 0 to {num_layers}, not {beyond[-1]}{source}")
