"""What other learning rates than the defaults would gain, over all searches behind the defaults."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping

from docs.kept import EXPERIMENTS, RESULTS, kept_runs
from featbert.analysis.comparison import BASELINE
from featbert.config import defaults, rate_at_width
from featbert.encoders.tunings import get_tuning, tuning_title
from featbert.runs.record import RunRecord

# Folders with searches. The last one searched with more text, and with a larger encoder.
SEARCHES = (
    *("defaults-choices", "defaults-pairs", "defaults-questions", "defaults-sentences"),
    *("defaults-words", "frozen-or-tuned-base"),
)
SHOWN = (0.25, 0.5, 2.0, 4.0)
HEAD = "fine-tuning, rate of the head with a CRF"
# Dev scores of one method on one text, with one number of epochs: by rate, as a multiple of the
# default, then by seed and precision.
Scores = dict[float, dict[tuple[int, str], float]]


def multiple(record: RunRecord) -> float:
    """A run's learning rate, divided by the default for its method, task and encoder."""
    body = record.settings["body"] if record.tuning == "none" else None
    default = defaults(record.tuning, record.task, body).learning_rate
    if get_tuning(record.tuning).by_width:
        default = rate_at_width(default, record.signature.encoder_hidden_size)
    return float(f"{record.settings['learning_rate'] / default:.2g}")


def _tried_rates() -> Iterator[tuple[str, float, str, RunRecord]]:
    """Method, rate as a multiple of the default, results file and record of each run."""
    for folder in SEARCHES:
        for run in kept_runs(EXPERIMENTS / folder / RESULTS):
            record, frozen = run.record, run.record.tuning == "none"
            if "learning_rate" in record.settings and not (frozen and folder == SEARCHES[-1]):
                body = record.settings["body"]
                method = f"frozen, {body}" if frozen else tuning_title(record.tuning)
                yield method, multiple(record), folder, record
    usual = defaults(BASELINE)
    for path in sorted((EXPERIMENTS / "defaults-outputs").glob("*.jsonl.xz")):
        for run in kept_runs(path):
            settings = run.record.settings
            if run.record.tuning == BASELINE and settings["output"] == usual.output:
                rate = settings.get("head_learning_rate") or settings["learning_rate"]
                yield HEAD, rate / (usual.head_learning_rate or rate), path.name, run.record


def scores_by_method() -> Mapping[str, list[Scores]]:
    """The searches of each method that has learning rates."""
    searches: dict[str, dict[tuple[object, ...], Scores]] = defaultdict(dict)
    for method, factor, source, record in _tried_rates():
        signature, settings = record.signature, record.settings
        part = settings["epochs"], settings["train_share"]
        scores = searches[method].setdefault((source, signature.corpus, signature.model, *part), {})
        pair = record.seed, signature.training_precision
        scores.setdefault(factor, {})[pair] = record.score("dev") or 0.0
    return {method: [*by_text.values()] for method, by_text in sorted(searches.items())}


def gain(scores: Scores, factor: float) -> float:
    """What `factor` times the default rate gains on dev, by the nearest rates that were tried.

    Rates are compared on the seeds that both have in one precision.
    """
    nearest = (min(scores, key=lambda tried: abs(math.log(tried / m))) for m in (1.0, factor))
    default, other = (scores[m] for m in nearest)
    common = default.keys() & other.keys()
    return statistics.fmean(other[pair] - default[pair] for pair in common)


def rates_over_all_searches() -> Iterator[str]:
    """A table of mean gains in points."""
    yield f"| method | searches | {' | '.join(f'{factor:g} ×' for factor in SHOWN)} |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for method, searches in scores_by_method().items():
        gains = (statistics.fmean(gain(scores, factor) for scores in searches) for factor in SHOWN)
        cells = " | ".join(f"{100 * value:+.1f}" for value in gains)
        yield f"| {method} | {len(searches)} | {cells} |"


TABLES = {"rates over all searches": rates_over_all_searches}
