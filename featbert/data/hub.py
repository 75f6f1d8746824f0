"""Datasets of the Hugging Face Hub, and folders that `datasets` can load.

    hf:lhoestq/conll2003        a dataset of the Hub: hf:NAME, or hf:NAME:CONFIGURATION
    hf:unimelb-nlp/wikiann:de   if it has several
    hf:./folder                 a folder of `save_to_disk` (also without hf:), or a local copy

Rows are read like JSONL (`rows`), see `docs/how-to/from-the-hub.md`.
"""

import importlib
import importlib.util
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from featbert.data.corpus import LANGUAGES
from featbert.data.files import RawRow
from featbert.data.folder import has_splits, place_of_splits
from featbert.errors import InputError, MissingError
from featbert.io import expanded
from featbert.progress import stage, track

PREFIX = "hf:"
# The branch with the Hub's conversion of every dataset, a folder per configuration.
CONVERTED = "refs/convert/parquet"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?", re.ASCII)
_SAVED = ("dataset_dict.json", "state.json")  # files of `save_to_disk`


@dataclass(frozen=True)
class HubName:
    """A Hub id or a folder's absolute path, and a configuration."""

    name: str
    config: str | None
    is_folder: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses `hf:NAME[:CONFIG]`. InputError for another form, MissingError for no folder."""
        whole = text.removeprefix(PREFIX)
        name, colon, config = whole.rpartition(":")
        for place, configuration in ((whole, None), (name, config)):
            folder = expanded(place)
            if place and folder.is_dir():
                return cls(os.path.abspath(folder), configuration or None, True)
        name, config = (name, config) if colon else (whole, "")
        if _HUB_ID.fullmatch(name) and bool(config) == bool(colon):
            return cls(name, config or None, False)
        if name.startswith((".", "/", "~")):
            raise MissingError(f"{name} is not a folder")
        raise InputError(
            f"{text!r} is not the name of a dataset; give hf:NAME or hf:NAME:CONFIGURATION, such "
            "as hf:lhoestq/conll2003"
        )

    @property
    def source(self) -> str:
        """The name that reads it again."""
        return f"{PREFIX}{self.name}" + (f":{self.config}" if self.config else "")

    @property
    def corpus(self) -> tuple[str, str | None]:
        """Name and language of the corpus: ("wikiann-de", "de") for hf:unimelb-nlp/wikiann:de."""
        name = Path(self.name).name or "corpus"
        language = self.config if LANGUAGES.fullmatch(self.config or "") else None
        return (f"{name}-{self.config}" if self.config else name), language


def dataset_of(path: str) -> HubName | None:
    """The dataset that `datasets` reads at a path, or None for a path of files.

    It reads datasets of the Hub, folders that it saved, and folders with configurations in their
    README. With `hf:` it also reads folders without names of splits. Without `hf:` split files at
    a folder's top come first.
    """
    has_prefix = path.startswith(PREFIX)
    place = Path(os.path.abspath(expanded(path)))
    name = HubName.parse(path) if has_prefix else HubName(str(place), None, place.is_dir())
    folder = Path(name.name)
    if not name.is_folder or name.config or _is_saved(folder):
        is_read = has_prefix or name.is_folder
    elif _has_configurations(folder):
        is_read = has_prefix or not has_splits(folder)
    else:
        is_read = has_prefix and not has_splits(place_of_splits(folder))
    return name if is_read else None


def _is_saved(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _SAVED)


def _has_configurations(folder: Path) -> bool:
    try:
        card = (folder / "README.md").read_text("utf-8", "replace")
    except OSError:
        return False
    head = card.split("\n---", 1)[0] if card.startswith("---") else ""
    return re.search(r"^(configs|dataset_info):", head, re.MULTILINE) is not None


def load_splits(where: HubName) -> Mapping[str, Any]:
    """Splits of a dataset (`datasets.Dataset`), by their names.

    MissingError without such a dataset, a network, or the package `datasets`.
    """
    with _reading(where.source):
        import datasets

        if where.is_folder and _is_saved(Path(where.name)):
            if where.config:
                raise InputError(f"no configuration {where.config!r} in {where.name}: it has none")
            saved: Any = datasets.load_from_disk(where.name)
            is_single = isinstance(saved, datasets.Dataset)
            return {str(saved.split or "train"): saved} if is_single else dict(saved)
        # With the prefix `datasets` does not take a Hub id for one of its packaged readers.
        path = where.name if where.is_folder else f"hf://datasets/{where.name}"
        try:
            return dict(datasets.load_dataset(path, where.config))
        except RuntimeError as error:
            if where.is_folder or "scripts are no longer supported" not in str(error):
                raise
            config = _converted_config(where)
            return dict(datasets.load_dataset(path, data_dir=config, revision=CONVERTED))


def read_table(path: Path) -> Any:
    """The rows of a Parquet or Arrow file (`datasets.Dataset`). Errors are as of `load_splits`."""
    with _reading(str(path)):
        import datasets
        import pyarrow.ipc
        import pyarrow.parquet

        if path.suffix.lower() == ".parquet":
            return datasets.Dataset(pyarrow.parquet.read_table(path))
        with path.open("rb") as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            open_table = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
            return datasets.Dataset(open_table(file).read_all())


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Turns errors of `datasets` into MissingError and InputError."""
    if importlib.util.find_spec("datasets") is None:
        raise MissingError(
            f"the package datasets is not installed and {source} needs it; "
            "pip install 'featbert[hub]'"
        )
    with _quietly(), stage(f"loading {source}", "splits"):
        from datasets.exceptions import DatasetNotFoundError

        try:
            yield
        except (InputError, MemoryError):
            raise
        except Exception as error:  # each file format of a dataset has errors of its own
            cause = error.__cause__ or error
            reason = f"{type(cause).__name__}: {' '.join(str(cause).split())[:300]}"
            is_lost = isinstance(error, DatasetNotFoundError | ConnectionError)
            if is_lost or type(error).__module__.startswith("httpx"):
                raise MissingError(
                    f"{source} not found as a folder or on the Hub ({reason}); check the name "
                    "and the network, or log in if it is gated (hf auth login)"
                ) from error
            raise InputError(f"{source} cannot be read ({reason})") from error


def _converted_config(where: HubName) -> str:
    """The configuration of a script's conversion to Parquet."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        files = HfApi().list_repo_files(where.name, repo_type="dataset", revision=CONVERTED)
    except RevisionNotFoundError:
        files = []
    configs = sorted({file.split("/")[0] for file in files if file.endswith(".parquet")})
    config = where.config or (configs[0] if len(configs) == 1 else None)
    if config is None or config not in configs:
        raise InputError(
            f"no configuration {config or ''!r} of {where.source} (a script, which is not run) in "
            f"its conversion to Parquet; it has {', '.join(configs) or 'none'}"
        )
    return config


@contextmanager
def _quietly() -> Iterator[None]:
    import datasets
    from huggingface_hub import logging as hub_logging

    with ExitStack() as stack:
        for log in (datasets.logging, hub_logging):
            stack.callback(log.set_verbosity, log.get_verbosity())
            log.set_verbosity(logging.ERROR)
        bars: Any  # the exports of huggingface_hub.utils are untyped
        for bars in (datasets, importlib.import_module("huggingface_hub.utils")):
            if not bars.are_progress_bars_disabled():
                stack.callback(bars.enable_progress_bars)
                bars.disable_progress_bars()
        yield


def dataset_rows(dataset: Any, path: Path, *, names: bool = True) -> Iterator[RawRow]:
    """The rows of one split, with classes, also in lists, by name or else by number.

    A number without a name, such as -1 or -100, is no class: None.
    """
    labels = {}
    for column, feature in dataset.features.items() if names else ():
        classes = getattr(getattr(feature, "feature", feature), "names", None)
        if classes is not None:
            labels[column] = dict(enumerate(classes))
    rows = track(dataset.with_format(None), f"reading {path}", "rows")
    for number, values in enumerate(rows, start=1):
        for column, classes in labels.items():
            value = values[column]
            is_list = isinstance(value, list)
            values[column] = [classes.get(v) for v in value] if is_list else classes.get(value)
        yield RawRow(values, f"row {number} of {path}", number, "row")
