"""The trials of a row's search (Optuna): their settings and scores.

Each search is a study in a journal next to the runs, which optuna-dashboard reads. Settings of
trial n of a random search or a grid depend only on n and the sampler's seed. With TPE they also
depend on the scores that were known when the trial began.
"""

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.errors import InputError
from featbert.experiments.file import Search, ends_of, every
from featbert.io import explaining, json_hash, owning, regular_file, unlinked

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

# Seconds to wait for another process that adds trials to the same experiment.
PATIENCE = 60.0


def _distribution(values: Any) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(values, list):
        return CategoricalDistribution(values)
    low, high = ends_of(values)
    if "integers" in values:
        return IntDistribution(low, high)
    return FloatDistribution(low, high, log="log_uniform" in values)


def _rounded(value: Any, distribution: Any) -> Any:
    """A number from a range with three digits, which labels show and people can type."""
    if not isinstance(value, float) or hasattr(distribution, "choices"):
        return value
    return min(max(float(f"{value:.3g}"), distribution.low), distribution.high)


@dataclass(frozen=True)
class Trials:
    """The trials of one study, by number from 0. `ranges` are the searched settings by name."""

    study: "Study"
    search: Search
    ranges: Mapping[str, Any]

    def settings(self, number: int) -> dict[str, Any] | None:
        """The settings of a trial, which is added if it is new, or None after the end of a grid."""
        from optuna import create_study
        from optuna.samplers import RandomSampler, TPESampler
        from optuna.trial import TrialState, create_trial

        trials = self.study.get_trials(deepcopy=False)
        if number < len(trials):
            return dict(trials[number].params)
        # Sorted by name: the order of keys in a file plays no part.
        ranges = dict(sorted(self.ranges.items()))
        distributions = {name: _distribution(values) for name, values in ranges.items()}
        if self.search.sampler == "grid":
            points = itertools.islice(every(ranges), number, None)
            if (params := next(points, None)) is None:
                return None
        else:
            sampler_class = TPESampler if self.search.sampler == "tpe" else RandomSampler
            seed = int(json_hash([self.search.sampler_seed, number])[:8], 16)
            draft = create_study(direction="maximize", sampler=sampler_class(seed=seed))
            if self.search.sampler == "tpe":
                draft.add_trials(trials)
            params = draft.ask(distributions).params
            params = {n: _rounded(value, distributions[n]) for n, value in params.items()}
        self.study.add_trial(
            create_trial(state=TrialState.RUNNING, params=params, distributions=distributions)
        )
        return self.study.get_trials(deepcopy=False)[number].params

    def tell(self, number: int, dev: float | None) -> None:
        """Records the score of a finished trial, or with None that it was pruned."""
        from optuna.trial import TrialState

        state = TrialState.PRUNED if dev is None else TrialState.COMPLETE
        if not self.study.get_trials(deepcopy=False)[number].state.is_finished():
            self.study.tell(number, dev, state)


@contextlib.contextmanager
def open_trials(
    path: Path, name: str, search: Search, ranges: Mapping[str, Any], *, keep: bool
) -> Iterator[Trials]:
    """The trials of the study of this name in a journal.

    With `keep`, new trials and scores are written to the journal, and no other process adds trials
    within the block. Without `keep`, nothing is written. InputError for a damaged journal.
    """
    import optuna
    from optuna.storages import InMemoryStorage, JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage: Any = InMemoryStorage()
    with owning(path, PATIENCE) if keep else contextlib.nullcontext(), explaining(path):
        if unlinked(path).exists():
            regular_file(path)
        try:
            if keep or path.exists():
                journal = JournalStorage(JournalFileBackend(str(path)))
                if keep:
                    storage = journal
                elif name in optuna.get_all_study_names(journal):
                    optuna.copy_study(
                        from_study_name=name, from_storage=journal, to_storage=storage
                    )
            study = optuna.create_study(
                study_name=name, storage=storage, load_if_exists=True, direction="maximize"
            )
        except (ValueError, KeyError) as error:
            raise InputError(
                f"{path} is damaged ({error}); move it away: finished runs stay as they are"
            ) from None
        yield Trials(study, search, ranges)
