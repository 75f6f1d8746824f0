"""How a checkpoint of sentence-transformers makes one vector of a text.

`modules.json` lists what follows the encoder: pooling, and perhaps normalisation. Nothing here
imports torch. Other checkpoints get the mean of all subwords, as in sentence-transformers.
"""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from featbert.encoders.source import SENTENCE_FILES, EncoderSource, read_json
from featbert.errors import InputError, spelling
from featbert.io import regular_file

MODULES, TRANSFORMER, PROMPTS, _ = SENTENCE_FILES


@dataclass(frozen=True)
class TextPooling:
    """How hidden states become the vector of a text.

    Attributes:
        pooling: a name of `models.registry.KEPT_POOLINGS`.
        normalize: whether vectors are divided by their Euclidean length.
        prompt: characters before each text.
        lowercase: whether texts are lowercased before they are read.
    """

    pooling: str = "mean"
    normalize: bool = False
    prompt: str = ""
    lowercase: bool = False


def text_pooling(source: EncoderSource, pooling: str = "auto") -> TextPooling:
    """The pooling that a checkpoint's own modules say, or the given one with their other settings.

    InputError for modules and poolings that featbert does not compute, unless `pooling` is given.
    """
    if not (source.folder / MODULES).exists():
        return TextPooling("mean" if pooling == "auto" else pooling)
    modules = _modules(source.folder)
    kinds = [kind for kind, _ in modules]
    settings = _optional(source.folder / PROMPTS)
    prompt = (settings.get("prompts") or {}).get(settings.get("default_prompt_name")) or ""
    lowercase = bool(_optional(source.folder / TRANSFORMER).get("do_lower_case"))
    method = TextPooling(pooling, "Normalize" in kinds, prompt, lowercase)
    if pooling != "auto":
        return method
    unknown = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if unknown or kinds.count("Pooling") != 1:
        raise InputError(
            f"{source.folder / MODULES} has {unknown[0] if unknown else 'no single Pooling'}, "
            f"which featbert does not compute; give {spelling('pooling')} to leave it out"
        )
    place = source.folder / modules[kinds.index("Pooling")][1] / "config.json"
    config = read_json(place)
    # Older configs have a key per mode. Their vectors follow one another in alphabetical order.
    modes = config.get("pooling_mode") or sorted(
        re.sub("^pooling_mode_|_tokens?$", "", key)
        for key, used in config.items()
        if used and key.startswith("pooling_mode_")
    )
    modes = [modes] if isinstance(modes, str) else [*modes]
    names: dict[Any, str] = {("mean",): "mean", ("max",): "max", ("max", "mean"): "max_mean"}
    # A decoder's last piece is read in place of its first one.
    names[("lasttoken",) if source.causal else ("cls",)] = "cls"
    name = names.get(tuple(modes or ["mean"]))
    if name is None or (prompt and config.get("include_prompt") is False):
        shown = " and ".join(map(str, modes)) if name is None else "mean without the prompt"
        raise InputError(
            f"{place} has the pooling {shown}, which featbert does not compute; give "
            f"{spelling('pooling')} to use another one"
        )
    return replace(method, pooling=name)


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Class and path of each module. InputError for a file of another form."""
    path = folder / MODULES
    try:
        entries = json.loads(regular_file(path).read_text("utf-8"))
        return [(str(e["type"]).rpartition(".")[2], str(e["path"])) for e in entries]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        raise InputError(f"{path} is no list of modules with a type and a path each") from None


def _optional(path: Path) -> dict[str, Any]:
    return read_json(path) if path.exists() else {}
