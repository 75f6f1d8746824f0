"""Datasets of the Hugging Face Hub, and folders that `datasets` can load.

    hf:lhoestq/conll2003        a dataset of the Hub: hf:NAME, or hf:NAME:CONFIGURATION
    hf:unimelb-nlp/wikiann:de   where it has several
    hf:./folder                 what `save_to_disk` wrote (also without hf:), or a local copy

Rows are read as those of JSONL are (`rows`); see `docs/how-to/from-the-hub.md`.
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

from featbert.data.files import RawRow
from featbert.data.folder import has_splits, place_of_splits
from featbert.errors import InputError, MissingError
from featbert.progress import stage, track

PREFIX = "hf:"
# The branch to which the Hub converts every dataset; a folder a configuration.
CONVERTED = "refs/convert/parquet"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?", re.ASCII)
_SAVED = ("dataset_dict.json", "state.json")  # of a folder that `save_to_disk` wrote


@dataclass(frozen=True)
class HubName:
    """A Hub id or a folder's absolute path, and a configuration."""

    name: str
    config: str | None
    is_folder: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `hf:NAME[:CONFIG]`; InputError for another form, MissingError for no folder."""
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
            raise MissingError(f"{name} is not a folder")
        raise InputError(
            f"{text!r} is not the name of a dataset; give hf:NAME or hf:NAME:CONFIGURATION, such "
            "as hf:lhoestq/conll2003"
        )

    @property
    def source(self) -> str:
        """The name by which it is read again."""
        return f"{PREFIX}{self.name}" + (f":{self.config}" if self.config else "")

    @property
    def corpus(self) -> tuple[str, str | None]:
        """Name and language of the corpus: ("wikiann-de", "de") for hf:unimelb-nlp/wikiann:de."""
        name = Path(self.name).name or "corpus"
        language = self.config if re.fullmatch(r"[a-z]{2}", self.config or "") else None
        return (f"{name}-{self.config}" if self.config else name), language


def dataset_of(path: str) -> HubName | None:
    """What `datasets` reads of a path that a caller names; None where files are read.

    It reads datasets of the Hub, folders that it saved, and folders whose README has configurations
    or, with `hf:`, whose names say nothing. Without `hf:` split files at a folder's top come first.
    """
    named = path.startswith(PREFIX)
    place = Path(os.path.abspath(Path(path).expanduser()))
    where = HubName.parse(path) if named else HubName(str(place), None, is_folder=place.is_dir())
    folder = Path(where.name)
    if not where.is_folder or where.config or _is_saved(folder):
        return where if named or where.is_folder else None
    if _has_configurations(folder):
        return where if named or not has_splits(folder) else None
    return where if named and not has_splits(place_of_splits(folder)) else None


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

    MissingError where there is no such dataset or no network, or `datasets` is not installed.
    """
    with _reading(where.source):
        return _load(where)


def read_table(path: Path) -> Any:
    """The rows of a Parquet or Arrow file as a `datasets.Dataset`; errors as of `load_splits`."""
    with _reading(str(path)):
        import datasets
        import pyarrow.ipc
        import pyarrow.parquet

        if path.suffix.lower() == ".parquet":
            return datasets.Dataset(pyarrow.parquet.read_table(path))
        with path.open("rb") as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            read = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
            return datasets.Dataset(read(file).read_all())


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Raises MissingError and InputError for what `datasets` raises."""
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
            said = f"{type(cause).__name__}: {' '.join(str(cause).split())[:300]}"
            lost = isinstance(error, DatasetNotFoundError | ConnectionError)
            if lost or type(error).__module__.startswith("httpx"):
                raise MissingError(
                    f"{source} not found as a folder or on the Hub ({said}); check the name "
                    "and the network, or log in where it is gated (hf auth login)"
                ) from error
            raise InputError(f"{source} cannot be read ({said})") from error


def _load(where: HubName) -> Mapping[str, Any]:
    import datasets

    if where.is_folder and _is_saved(Path(where.name)):
        if where.config:
            raise InputError(f"no configuration {where.config!r} in {where.name}: it has none")
        found: Any = datasets.load_from_disk(where.name)
        single = isinstance(found, datasets.Dataset)
        return {str(found.split or "train"): found} if single else dict(found)
    # With the prefix `datasets` does not take a Hub id for one of its packaged readers.
    path = where.name if where.is_folder else f"hf://datasets/{where.name}"
    try:
        return dict(datasets.load_dataset(path, where.config))
    except RuntimeError as error:
        if where.is_folder or "scripts are no longer supported" not in str(error):
            raise
        config = _converted_config(where)
        return dict(datasets.load_dataset(path, data_dir=config, revision=CONVERTED))


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
    """The rows of one split; classes by name, also those in lists, or else by number.

    A number without a name, such as -1 or -100, is no class: None.
    """
    labels = {}
    for column, feature in dataset.features.items() if names else ():
        found = getattr(getattr(feature, "feature", feature), "names", None)
        if found is not None:
            labels[column] = dict(enumerate(found))
    rows = track(dataset.with_format(None), f"reading {path}", "rows")
    for number, values in enumerate(rows, start=1):
        for column, known in labels.items():
            value = values[column]
            listed = isinstance(value, list)
            values[column] = [known.get(v) for v in value] if listed else known.get(value)
        yield RawRow(values, f"row {number} of {path}", number, "row")
