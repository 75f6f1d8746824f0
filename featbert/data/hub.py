"""Datasets of the Hugging Face Hub, and folders that `datasets` can load, as split files are.

    hf:lhoestq/conll2003        a dataset of the Hub: hf:NAME, or hf:NAME:CONFIGURATION
    hf:unimelb-nlp/wikiann:de   where it has several
    hf:./folder                 a local copy, or what `save_to_disk` wrote

A folder of that name goes before the Hub. Splits are known by the usual words (train, validation,
dev, test); others are passed over. No code of a dataset is ever run: where the Hub keeps one as a
script, its own conversion to Parquet is read. What a row holds is in `hub_rows`.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featbert.data.files import RawFile
from featbert.data.hub_rows import read_rows
from featbert.data.split_files import split_called
from featbert.errors import FeatbertError, InputError, MissingError, MissingPackageError, nearest
from featbert.progress import stage

PREFIX = "hf:"
# The branch to which the Hub converts every dataset; a folder a configuration.
CONVERTED = "refs/convert/parquet"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?", re.ASCII)
_SAVED = ("dataset_dict.json", "state.json")  # of a folder that `save_to_disk` wrote
_MOST_NAMES = 8


@dataclass(frozen=True)
class HubName:
    """What follows `hf:`.

    Attributes:
        name: a Hub id, or a folder's absolute path.
        config: configuration, None where none is named.
        is_folder: whether `name` is a folder.
    """

    name: str
    config: str | None
    is_folder: bool

    @classmethod
    def parse(cls, text: str) -> HubName:
        """Of `hf:NAME[:CONFIG]`.

        Raises:
            InputError: no such form.
            MissingError: a path that is no folder.
        """
        rest = text.removeprefix(PREFIX)
        name, colon, config = rest.rpartition(":")
        for place, named in ((rest, None), (name, config)):
            folder = Path(place).expanduser()
            if place and folder.is_dir():
                return cls(os.path.abspath(folder), named or None, True)
        name, config = (name, config) if colon else (rest, "")
        if _HUB_ID.fullmatch(name) and bool(config) == bool(colon):
            return cls(name, config or None, False)
        if name.startswith((".", "/", "~")):
            raise MissingError(f"a dataset folder expected, {name} is no folder")
        raise InputError(
            f"hf:NAME or hf:NAME:CONFIG expected, such as hf:lhoestq/conll2003, found {text!r}"
        )

    @property
    def source(self) -> str:
        """The same as text, from wherever it is read again."""
        return f"{PREFIX}{self.name}" + (f":{self.config}" if self.config else "")

    @property
    def corpus(self) -> tuple[str, str | None]:
        """Name and language of the corpus: ("wikiann-de", "de") for hf:unimelb-nlp/wikiann:de."""
        name = Path(self.name).name or "corpus"
        language = self.config if re.fullmatch(r"[a-z]{2}", self.config or "") else None
        return (f"{name}-{self.config}" if self.config else name), language

    @property
    def path(self) -> str:
        """What `datasets` is told: its own packaged names and folders stand for nothing here."""
        return self.name if self.is_folder else f"hf://datasets/{self.name}"


def read_hub(
    where: HubName, *, token_column: str | None, tag_column: str | None, tagged: bool
) -> dict[str, RawFile]:
    """The splits train, dev and test that the dataset has, their tags as they are.

    Args:
        token_column, tag_column: by name; by default those called as usual (`hub_rows`).
        tagged: False reads words alone.

    Raises:
        MissingPackageError: `datasets` is not installed.
        MissingError: no such dataset, or no network.
        InputError: no such configuration or column, no usual split, or rows that are no
            sentences; names the row.
    """
    loaded = _load(where)
    called: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for name in loaded:
        if split := split_called(name):
            called[split].append(name)
    for split, names in called.items():
        if len(names) > 1:
            raise InputError(
                f"one {split} split expected in {where.source}, found {', '.join(names)}"
            )
    if not any(called.values()):
        raise InputError(
            f"a split train, validation or test expected in {where.source}, it has "
            f"{_listed(loaded)}"
        )
    return {
        split: read_rows(
            loaded[name],
            Path(where.source, name),
            token_column=token_column,
            tag_column=tag_column,
            tagged=tagged,
        )
        for split, names in called.items()
        for name in names
    }


def _load(where: HubName) -> Mapping[str, Any]:
    """Datasets by the name of their split; all that `datasets` refuses as one line."""
    if importlib.util.find_spec("datasets") is None:
        raise MissingPackageError(
            f"the package datasets expected to read {where.source}, not installed; "
            "pip install 'featbert[hub]'"
        )
    with _quietly(), stage(f"loading {where.source}", "splits"):
        try:
            return _read(where)
        except (FeatbertError, MemoryError):
            raise
        except Exception as error:  # each file format of a dataset has errors of its own
            raise _told(where, error) from error


def _read(where: HubName) -> Mapping[str, Any]:
    """The same; raises whatever `datasets` raises."""
    import datasets

    loaded: Mapping[str, Any]
    if where.is_folder and any(Path(where.name, name).is_file() for name in _SAVED):
        if where.config:
            raise _no_config(where, [])
        found = datasets.load_from_disk(where.name)
        single = isinstance(found, datasets.Dataset)
        loaded = {str(found.split or "test"): found} if single else found
        return loaded
    try:
        loaded = datasets.load_dataset(where.path, where.config)
    except RuntimeError as error:
        if where.is_folder or "scripts are no longer supported" not in str(error):
            raise
        return _converted(where)
    return loaded


def _converted(where: HubName) -> Mapping[str, Any]:
    """The Parquet files that the Hub made of a dataset which is kept as a script."""
    import datasets
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        files = HfApi().list_repo_files(where.name, repo_type="dataset", revision=CONVERTED)
    except RevisionNotFoundError:
        files = []
    configs = sorted({file.split("/")[0] for file in files if file.endswith(".parquet")})
    if not configs:
        raise InputError(
            f"data files expected in {where.source}, it is a script, which is not run, and has no "
            "conversion to Parquet; name another copy of it, or a folder"
        )
    config = where.config or (configs[0] if len(configs) == 1 else None)
    if config not in configs:
        raise _no_config(where, configs)
    loaded: Mapping[str, Any] = datasets.load_dataset(
        where.path, data_dir=config, revision=CONVERTED
    )
    return loaded


def _told(where: HubName, error: Exception) -> FeatbertError:
    """What went wrong in `datasets`, in one line."""
    from datasets.exceptions import DatasetNotFoundError

    if isinstance(error, DatasetNotFoundError):
        return MissingError(
            f"a dataset expected, {where.name!r} is no folder here, and not to be had from the "
            "Hub; check the name, or log in (hf auth login) where it is private or gated"
        )
    said = next(iter(str(error.__cause__ or error).strip().splitlines()), "")
    if isinstance(error, ConnectionError) or type(error).__module__.startswith("httpx"):
        return MissingError(
            f"the Hugging Face Hub expected to answer, {where.name!r} is no folder here and was "
            f"not read before ({said}); check the network, or name a folder as in hf:./folder"
        )
    if isinstance(error, ValueError) and (refused := _wrong_config(where)):
        return refused
    return InputError(
        f"a dataset of sentences expected, {where.source} cannot be read "
        f"({type(error.__cause__ or error).__name__}: {said})"
    )


def _wrong_config(where: HubName) -> InputError | None:
    """What is wrong with the configuration, if that is what is."""
    import datasets

    try:
        known = datasets.get_dataset_config_names(where.path)
        default = datasets.get_dataset_default_config_name(where.path)
    except Exception:  # then it is not the configuration
        return None
    wrong = default is None if where.config is None else where.config not in known
    return _no_config(where, known) if wrong else None


def _no_config(where: HubName, known: list[str]) -> InputError:
    if where.config is None:
        return InputError(
            f"a configuration expected of {where.source}, it has {_listed(known)}; as in "
            f"{where.source}:{known[0]}"
        )
    hint = nearest(where.config, known)
    has = _listed(known) if set(known) - {"default"} else "none"
    return InputError(
        f"a configuration of {PREFIX}{where.name} expected, found {where.config!r}{hint}; "
        f"it has {has}"
    )


def _listed(names: Mapping[str, Any] | list[str]) -> str:
    first = list(names)[:_MOST_NAMES]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return (", ".join(first) or "none") + more


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the bars and remarks of `datasets`: what is told is told in errors."""
    import datasets
    from huggingface_hub import logging as hub_logging

    hub: Any = importlib.import_module("huggingface_hub.utils")  # its exports are untyped
    levels = datasets.logging.get_verbosity(), hub_logging.get_verbosity()
    bars = not datasets.are_progress_bars_disabled(), not hub.are_progress_bars_disabled()
    datasets.logging.set_verbosity(logging.ERROR)
    hub_logging.set_verbosity(logging.ERROR)
    datasets.disable_progress_bars()
    hub.disable_progress_bars()
    try:
        yield
    finally:
        datasets.logging.set_verbosity(levels[0])
        hub_logging.set_verbosity(levels[1])
        if bars[0]:
            datasets.enable_progress_bars()
        if bars[1]:
            hub.enable_progress_bars()
