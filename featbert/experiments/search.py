"""The trials of a row's search (Optuna): which settings come next, and what became of the others.

Each search is a study in a journal next to the runs, which optuna-dashboard reads. Settings of
trial n of a random search or a grid depend on the sampler's seed and n alone; those of TPE also on
the scores that were known when it was asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.errors import InputError
from featbert.io import explaining, json_hash, owning, regular_file, unlinked

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

RANGES = ("uniform", "log_uniform", "integers")
# Seconds to wait for another process that asks for trials of the same experiment.
PATIENCE = 60.0


def distinct(values: list[Any]) -> list[Any]:
    """The values; ValueError where one occurs twice."""
    if len({repr(v) for v in values}) != len(values):
        raise ValueError(f"a value occurs twice in {values!r:.80}")
    return values


def ends_of(values: Any) -> list[Any]:
    """The choices in a list, or the lowest and the highest value of `{uniform = [0, 0.5]}`.

    ValueError for what is neither.
    """
    if isinstance(values, list) and values:
        return distinct(values)
    kind, ends = next(iter(values.items())) if isinstance(values, Mapping) and values else ("", [])
    if kind not in RANGES or len(values) > 1:
        raise ValueError(
            f"{values!r:.80} is no list of choices and no range; write [16, 32] or "
            f"{{ uniform = [0, 0.5] }}; ranges are {', '.join(RANGES)}"
        )
    numbers = (int,) if kind == "integers" else (int, float)
    two = isinstance(ends, list) and [type(end) in numbers for end in ends] == [True, True]
    if not two or not ends[0] < ends[1] or (kind == "log_uniform" and ends[0] <= 0):
        what = "integers" if kind == "integers" else "numbers"
        above = " above 0" if kind == "log_uniform" else ""
        raise ValueError(f"{kind} is {ends!r:.80}; write two {what}{above}, [lowest, highest]")
    return ends


def _distribution(values: Any) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(values, list):
        return CategoricalDistribution(values)
    low, high = ends_of(values)
    if "integers" in values:
        return IntDistribution(low, high)
    return FloatDistribution(low, high, log="log_uniform" in values)


def _rounded(value: Any, kind: Any) -> Any:
    """A number drawn from a range with three digits, which labels show and people can type."""
    if not isinstance(value, float) or hasattr(kind, "choices"):
        return value
    return min(max(float(f"{value:.3g}"), kind.low), kind.high)


@dataclass(frozen=True)
class Trials:
    """The trials of one study, by number from 0.

    Attributes:
        journal: where they are kept too; None for a plan alone.
        points: settings that the sampler "grid" tries, in order.
    """

    study: Study
    journal: Study | None
    ranges: Mapping[str, Any]
    sampler: str
    seed: int
    points: Sequence[Mapping[str, Any]] = ()

    def settings(self, number: int) -> dict[str, Any] | None:
        """Those of a trial that was asked for before, or of the next one; None after a grid."""
        from optuna import create_study
        from optuna.samplers import RandomSampler, TPESampler

        known = self.study.get_trials(deepcopy=False)
        if number < len(known):
            return dict(known[number].params)
        # By name: the order of keys in a file plays no part.
        kinds = {name: _distribution(self.ranges[name]) for name in sorted(self.ranges)}
        if self.sampler == "grid":
            if number == len(self.points):
                return None
            wanted = dict(self.points[number])
        else:
            kind = TPESampler if self.sampler == "tpe" else RandomSampler
            sampler = kind(seed=int(json_hash([self.seed, number])[:8], 16))
            draft = create_study(direction="maximize", sampler=sampler)
            if kind is TPESampler:
                draft.add_trials(known)
            wanted = {n: _rounded(v, kinds[n]) for n, v in draft.ask(kinds).params.items()}
        self.study.enqueue_trial(wanted)
        self.study.ask(kinds)
        asked = self.study.get_trials(deepcopy=False)[number]
        if self.journal is not None:
            self.journal.add_trial(asked)
        return asked.params

    def tell(self, number: int, dev: float | None) -> None:
        """Notes the score of a finished trial, or with None that it was pruned."""
        from optuna.trial import TrialState

        state = TrialState.PRUNED if dev is None else TrialState.COMPLETE
        if not self.study.get_trials(deepcopy=False)[number].state.is_finished():
            for study in filter(None, (self.study, self.journal)):
                study.tell(number, dev, state)


@contextlib.contextmanager
def open_trials(path: Path, name: str, *, keep: bool, **options: Any) -> Iterator[Trials]:
    """The trials of the study of this name in a journal; `options` are further ones of `Trials`.

    With `keep`, new trials and scores are written to the journal, and no other process asks for
    trials within the block; without, nothing is written. InputError for a damaged journal.
    """
    import optuna
    from optuna.storages import InMemoryStorage, JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    memory, journal = InMemoryStorage(), None
    how: dict[str, Any] = {"study_name": name, "load_if_exists": True, "direction": "maximize"}
    with owning(path, PATIENCE) if keep else contextlib.nullcontext(), explaining(path):
        if keep or path.exists():
            if unlinked(path).exists():
                regular_file(path)
            try:
                storage = JournalStorage(JournalFileBackend(str(path)))
                journal = optuna.create_study(storage=storage, **how) if keep else None
                if name in optuna.get_all_study_names(storage):
                    optuna.copy_study(from_study_name=name, from_storage=storage, to_storage=memory)
            except (ValueError, KeyError) as error:
                raise InputError(
                    f"{path} is damaged ({error}); move it away: finished runs stay as they are"
                ) from None
        yield Trials(optuna.create_study(storage=memory, **how), journal, **options)
