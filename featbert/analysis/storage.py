"""Feature stores and adapted encoders of a cache folder, with the runs that use them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from featbert.encoders.source import ADAPTATION_RECORD, read_json
from featbert.errors import FeatbertError, MissingError
from featbert.features.index import shards_folder
from featbert.features.store import FeatureStore
from featbert.io import disk
from featbert.runs.run import Run


def items_of_cache(folder: Path) -> list[str]:
    """Feature stores and adapted encoders in the cache, by their paths in it."""
    encoders = [path.parent for path in folder.glob("models/*/adaptation.json")]
    return sorted(str(path.relative_to(folder)) for path in (*folder.glob("*.h5"), *encoders))


def cache_lines(cache_dir: Path, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Facts about each item of a cache, with the names of the runs that use it."""
    return [_item(cache_dir, name, runs) for name in items_of_cache(cache_dir)]


def _item(cache_dir: Path, name: str, runs: Sequence[Run]) -> dict[str, Any]:
    path = cache_dir / name
    facts: dict[str, Any] = {"name": name, "bytes": disk(path) + disk(shards_folder(path))}
    try:
        if path.is_dir():
            about = read_json(path / ADAPTATION_RECORD)
            made = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
            signed = {"encoder_weights": about["weights"]}
        else:
            about = vars(manifest := FeatureStore(path).manifest)
            made = about["created"]
            facts |= {"keep": manifest.keep, "kinds": list(manifest.kinds)}
            keys = ("encoder_weights", "encoder_files", "context", "casing", "pooling", "packing")
            signed = {key: about[key] for key in keys} | {
                "encoder_precision": about["precision"],
                "store_dtype": about["dtype"],
                "texts": {split: stored.text for split, stored in about["splits"].items()},
            }
    except (ValueError, LookupError, TypeError, MissingError) as error:
        return facts | {"made": "damaged", "runs": [], "reason": str(error)}
    except (FeatbertError, OSError) as error:  # an error of the system may pass
        return facts | {"made": "unreadable", "runs": [], "reason": str(error)}
    users = []
    for run in runs:
        signature = run.record.signature
        texts = {split: identity.text for split, identity in signature.splits.items()}
        if signed.items() <= (vars(signature) | {"texts": texts}).items():
            users.append(run.name)
    return facts | {"corpus": about["corpus"], "model": about["model"], "made": made, "runs": users}
