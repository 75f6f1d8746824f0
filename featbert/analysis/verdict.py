"""The answer of a comparison in up to four lines: best row, cheapest good row, unsettled pairs.

Rows are chosen on dev and compared on the last split. Rows that did not learn and trials of a
search are left out. Further sentences give the costs of rows and their largest differences.
"""

import dataclasses
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from featbert import units
from featbert.analysis.comparison import (
    AS_CHEAP,
    BASELINE,
    Breakdown,
    Comparison,
    Contest,
    Difference,
    Row,
    best_by_dev,
    best_of_two_contests,
    best_on_features,
    best_tuned,
    grouped,
    leader_and_rival,
    rivals,
)
from featbert.analysis.cost import CURRENCIES, machines_of
from featbert.analysis.interval import FEWEST, needed
from featbert.analysis.labels import base_name, head_parts, needed_settings, with_settings
from featbert.analysis.notes import side_by_side
from featbert.analysis.rows import Members
from featbert.config import Analyses, Settings, unchecked
from featbert.encoders.tunings import get_tuning
from featbert.runs.record import SearchRecord
from featbert.runs.run import Run
from featbert.text import counted, enumerated

# Pairs and rows that a line names at most.
_NAMED = 2
# No more seeds are advised, nor more text than this times the text.
_MOST = 100
# Times within this factor are alike.
_AS_QUICK = 1.1
# Gain of the last epoch on dev from which on more epochs are advised.
_RISING = 0.005
# If the largest class has this share of a split, accuracy says little of the others.
_UNEQUAL = 0.75
MACRO_F1 = "macro_f1"
# With fewer gradient steps a row that did not learn may only need more.
_FEW_STEPS = 100
# Settings with a best value that should be inside the searched range.
_SEARCHED_RATES = ("learning_rate", "head_learning_rate")
# Options that draw a split from train.
_DRAWN_BY = {"dev": "dev_share", "test": "folds"}
# Costs as a ratio of the best row's, by unit.
_RATIOS = {"operations": "the operations", "seconds": "the time to label"}
# The least of a cost.
_LEAST = {
    "operations": "Fewest operations",
    "kept": "Fewest bytes to keep",
    "one_by_one": "Least time to label texts one by one",
    "batched": "Least time to label texts in batches",
}
_STATS = "--stats, or the notes of a report"
_NO_SEEDS = ": other seeds are not covered"
_WOULD_SETTLE = "would settle a difference of this size"
# Weights are kept in fp32. A run that keeps fewer of them than it predicts with needs the encoder.
_BYTES_OF_PARAMETER = 4


@dataclass(frozen=True)
class _Case:
    """The rows of a contest, for sentences.

    Attributes:
        rows: without trials of a search.
        with_trials: the same rows and trials.
        competing: rows that learned.
        leader: the best row by dev among those that learned, or of all if none did.
        rival: see `leader_and_rival`.
        features, tuned: see `Contest`.
    """

    comparison: Comparison
    members: Members
    request: Analyses
    rows: list[Row]
    with_trials: list[Row]
    competing: list[Row]
    leader: Row
    rival: Row | None
    features: Row | None
    tuned: Row | None
    split: str
    searches: Sequence[SearchRecord]
    untrained: Sequence[str]

    def runs(self, rows: Iterable[Row]) -> list[Run]:
        return [run for row in rows for run in self.members[row.name]]


def with_contests(
    comparison: Comparison,
    members: Members,
    request: Analyses,
    searches: Sequence[SearchRecord],
    untrained: Sequence[str] = (),
) -> Comparison:
    """The comparison with a contest for each freed part of it, in the order of its rows.

    `untrained`: see `TimePlan`.
    """
    cases = []
    for group in rivals(comparison.rows):
        rows = [row for row in group if not row.is_trial]
        competing = [row for row in rows if row.competes]
        leader, rival = leader_and_rival(rows)
        leader = leader or best_by_dev(rows)
        assert leader is not None  # each run has a score
        features, tuned = best_on_features(rows), best_tuned(rows)
        of_rows = rows, group, competing, leader, rival, features, tuned, leader.splits[-1]
        cases.append(_Case(comparison, members, request, *of_rows, searches, untrained))
    contests, overall = map(_contest, cases), map(units.visible, _overall(cases))
    return dataclasses.replace(comparison, contests=tuple(contests), overall=tuple(overall))


def _contest(case: _Case) -> Contest:
    features, tuned, difference, ahead = case.features, case.tuned, None, None
    if features is not None and tuned is not None:
        in_both = [s for s in case.comparison.splits if s in features.splits and s in tuned.splits]
        if in_both:
            difference = case.comparison.difference(features, tuned, in_both[-1])
        if difference is not None:
            ahead = {1: features.name, -1: tuned.name}.get(difference.sign)
    cheapest, row = _cheapest(case), case.rows[0]
    apart = [*row.varied.values()]
    if len({peer.trained_on for peer in case.comparison.rows}) > 1:
        apart.append(f"trained on {' and '.join(row.trained_on)}")
    text_and_encoder = row.cell, row.trained_on
    peers = [p for p in case.comparison.rows if (p.cell, p.trained_on) == text_and_encoder]
    if len({peer.conditions["train"] for peer in peers}) > 1:
        apart.append(_train_label(row))
    peers = [peer for peer in peers if peer.conditions["train"] == row.conditions["train"]]
    if len({peer.train_part for peer in peers}) > 1:
        apart.append(row.part_name or "all of train")
    return Contest(
        about=units.visible(" · ".join(apart)),
        split=case.split,
        leader=case.leader.name if case.competing else None,
        features=features.name if features else None,
        tuned=tuned.name if tuned else None,
        difference=difference,
        ahead=ahead,
        cheapest=cheapest.name if cheapest else None,
        findings=tuple((topic, units.visible(line)) for topic, line in _lines(case, cheapest)),
    )


def _lines(case: _Case, cheapest: Row | None) -> Iterator[tuple[str, str]]:
    yield "Answer", _answer(case)
    if cheapest is not None:
        yield "Cheapest", _cheapest_line(case, cheapest)
    if not_settled := _not_settled(case):
        yield "Not settled", not_settled
    if cautions := [*_cautions(case, cheapest)]:
        yield "Check first", f"{'; '.join(cautions)}."
    features, tuned = case.features, case.tuned
    if features is None or tuned is None:
        if case.competing and not _search_without_choice(case):
            yield (
                "Missing",
                f"There are no runs {_missing_side(case)} that learned, to compare with.",
            )
        return
    yield "Cost", _cost(case, features, tuned)
    for b in case.comparison.breakdowns:
        has_both = {features.name, tuned.name} <= b.rows.keys()
        if b.split == case.split and len(b.gold) > 1 and has_both:
            yield "Where", _where(case, b, features, tuned)
            break


def _called(case: _Case, row: Row) -> str:
    """A row by its name, its head if it is frozen, and the settings that others need, too."""
    settings: dict[str, str] = {}
    if row.frozen and row.settings:  # frozen rows differ most in their heads
        settings = head_parts(row.tuning, row.settings, row.task_name)
    settings |= {name: text for name, text in row.differing.items() if name == "output"}
    settings |= needed_settings(case.rows, {*row.varied})[case.rows.index(row)]
    return with_settings(base_name(row.tuning, row.layers), settings)


# The answer ---------------------------------------------------------------------------------------


def _answer(case: _Case) -> str:
    """The lead of the best row by dev over the best row of the other side."""
    leader, rival, split = case.leader, case.rival, case.split
    name = _called(case, leader)
    if rival is None:
        reached = f"reaches {_score(leader, split)} on {split}.{_floor(leader, split)}"
        if case.competing:
            return f"{name} {reached}"
        return f"No row learned: {name}, the best by {leader.splits[0]}, {reached}"
    difference = case.comparison.difference(leader, rival, split)
    if difference is None:
        return (
            f"{name} is the best row by {leader.splits[0]}, {_score(leader, split)} on {split}. "
            f"Its lead over {_called(case, rival)} has no interval (reason: {_STATS})."
        )
    answer = _result(difference, leader, rival, name, _as_rival(case, leader, rival))
    if (behind := _behind_and_rising(case)) is not None:
        name, n_epochs = _called(case, behind), max(len(run.dev_scores) for run in behind.runs)
        answer += f" {name} did best in the last of its {n_epochs} epochs: more may change this."
    return answer


def _behind_and_rising(case: _Case) -> Row | None:
    """The rival, if it is clearly behind and its training ended too early to be judged."""
    rival = case.rival
    if rival is None or not (_settings(rival).trainer.passes and _still_rising(rival)):
        return None
    difference = case.comparison.difference(case.leader, rival, case.split)
    return rival if difference is not None and difference.sign > 0 else None


def _result(difference: Difference, leader: Row, rival: Row, name: str, opponent: str) -> str:
    """The lead of a row that was chosen by dev over another row, and both scores."""
    lead = _lead(difference, leader.task.measure.name)
    scores = (_percent(row.mean(difference.split)) for row in (leader, rival))
    basis = f"{' against '.join(scores)}, {_basis(difference, leader, rival)}"
    if difference.sign > 0:
        return f"{name}: {lead} over {opponent}, {basis}."
    chosen = f"{name}, the best by {leader.splits[0]}, is"
    on_split = f" on {difference.split}" if difference.split != leader.splits[0] else ""
    if difference.sign:
        disagree = f"{leader.splits[0]} and {difference.split} disagree: ".capitalize()
        return f"{disagree}{chosen} worse{on_split} than {opponent}: {lead}, {basis}."
    return f"{chosen} not clearly better{on_split} than {opponent}: {lead}, {basis}."


def _overall(cases: Sequence[_Case]) -> Iterator[str]:
    """For each text, the lead of the best row of all contests over the best row of another one."""
    comparison = cases[0].comparison
    for leader, rival in best_of_two_contests(comparison.rows):
        difference = comparison.difference(leader, rival, leader.splits[-1])
        if difference is None:
            continue
        alike = {n for n, value in leader.varied.items() if rival.varied.get(n) == value}
        differing = {*leader.varied} - alike
        one_text = leader.conditions["train"] == rival.conditions["train"]
        name, opponent = (
            f"{_conditions(row, differing, one_text)} ({_as_setting(_called(case, row))})"
            for row in (leader, rival)
            for case in cases
            if row in case.rows
        )
        about = f"{_conditions(leader, alike, True)}: " if alike else ""
        yield about + _result(difference, leader, rival, name, f"the best of {opponent}")


def _conditions(row: Row, names: Collection[str], one_text: bool) -> str:
    """`polarity, all-mpnet-base-v2`, `context=document`: values in which rows may differ.

    With the training text, unless rows have `one_text`.
    """
    values = {name: value for name, value in row.varied.items() if name in names}
    parts = [v if n in ("corpus", "model") else f"{n}={v}" for n, v in values.items()]
    return ", ".join(parts if one_text else [*parts, _train_label(row)])


def _train_label(row: Row) -> str:
    """`train=120 sentences`"""
    return f"train={row.differing.get('train', row.conditions['train'])}"


def _as_setting(name: str) -> str:
    """`weighted_all, BiLSTM` for `weighted_all (BiLSTM)`"""
    return name.replace(" (", ", ").replace(")", "")


def _as_rival(case: _Case, leader: Row, rival: Row) -> str:
    """`the best frozen row (weighted_all, BiLSTM)`"""
    name = _as_setting(_called(case, rival))
    if rival.frozen == leader.frozen:
        return f"the next row ({name})"
    side = "frozen" if rival.frozen else "tuned"
    if sum(row.frozen == rival.frozen for row in case.with_trials) == 1:
        first, *settings = name.split(", ", 1)
        return f"{first} ({', '.join([*settings, f'the only {side} row'])})"
    return f"the best {side} row ({name})"


def _basis(difference: Difference, *rows: Row) -> str:
    """`5 seeds, 2,000 test examples`, and the limits of an interval."""
    estimate = difference.estimate
    numbers = [len(row.runs) for row in rows if row.has_seed]
    seeds = counted(numbers[0], "seed") if len({*numbers}) == 1 else ""
    if len({*numbers}) > 1:
        seeds = f"{numbers[0]} against {counted(numbers[1], 'seed')}"
    seeds += "" if estimate.covers_seeds else _NO_SEEDS
    if not estimate.covers_text:
        return f"{seeds}: other text is not covered (reason: {_STATS})"
    text = f"{estimate.units:,} {difference.split} {difference.units}"
    return f"{seeds}, {text}" if seeds else text


# At least cost ------------------------------------------------------------------------------------


def _cheapest(case: _Case) -> Row | None:
    """The row with the least cost within the margin of the best row, both by dev.

    None if fewer than two rows have a cost, or if it was timed on several machines.
    """
    currency, leader = CURRENCIES[case.request.cheapest], case.leader
    if len(machines_of(case.comparison, case.request.cheapest)) > 1:
        return None
    costs = {row.name: cost for row in case.competing if (cost := currency.of(row))}
    if len(costs) < 2 or leader.name not in costs:
        return None
    chosen_on = leader.splits[0]
    worst = leader.mean(chosen_on) - case.request.within / 100
    close = [
        row
        for row in case.competing
        if row.name in costs and {chosen_on, case.split} <= {*row.splits}
        if row.mean(chosen_on) >= worst
    ]
    least = min(costs[row.name] for row in close)
    limit = least * (_AS_QUICK if currency.timed else AS_CHEAP)
    alike = [row for row in close if costs[row.name] <= limit]
    return leader if leader in alike else best_by_dev(alike)


def _cheapest_line(case: _Case, row: Row) -> str:
    """`Fewest operations within 1 point of the best on dev: LoRA (80.0 on test; keeps ...)`"""
    leader, split = case.leader, case.split
    within = f"{case.request.within:g} point{'s' * (case.request.within != 1)}"
    score = f"{_percent(row.mean(split))} {row.task.measure.name} on {split}"
    storage = f"keeps {_kept(row)}"
    least = f"{_LEAST[case.request.cheapest]} within {within} of the best on {leader.splits[0]}"
    has_trials = len(case.with_trials) > len(case.rows)
    lacks_costs = not all(map(CURRENCIES[case.request.cheapest].of, case.competing))
    if has_trials or lacks_costs:
        least += f", among {'chosen ' * has_trials}rows{' of known cost' * lacks_costs}"
    name = _called(case, row)
    if row is leader:
        return f"{least}: {name} itself ({score}; {storage})."
    if _kept(leader) != _kept(row):
        storage += f" instead of {_kept(leader)}"
    difference = case.comparison.difference(row, leader, split)
    if difference is not None and (row is not case.rival or difference.sign):
        score += f", {_lead(difference)} against {_called(case, leader)}"
        score += "" if difference.estimate.covers_seeds else _NO_SEEDS
    # Storage is shown already.
    shown = "operations" if case.request.cheapest == "kept" else case.request.cheapest
    row_cost, best_cost = (CURRENCIES[shown].of(priced) for priced in (row, leader))
    facts = [score, storage]
    if row_cost and best_cost:
        times = f"{row_cost / best_cost:.2g}× {_RATIOS[CURRENCIES[shown].unit]}"
        facts.append(f"{times} of {_called(case, leader)}")
    return f"{least}: {name} ({'; '.join(facts)})."


def _kept(row: Row) -> str:
    """`151 MB`, or `1.2 MB besides the encoder`"""
    size = units.size(row.cost.run_bytes)
    needs_encoder = row.cost.run_bytes < _BYTES_OF_PARAMETER * row.cost.total_parameters
    return f"{size} besides the encoder" if needs_encoder else size


# Not settled --------------------------------------------------------------------------------------


def _not_settled(case: _Case) -> str:
    """`A, B (-1.4 [-6.8, +4.1]) against C: about 12 more seeds of each would settle it.`

    The rival comes first, then the nearest rows. Empty if each difference is settled.
    """
    rows = [row for row in case.competing if row is not case.leader]
    pairs = [(row, case.comparison.difference(row, case.leader, case.split)) for row in rows]
    unsettled = [(row, d) for row, d in pairs if d is not None and d.sign == 0]
    unsettled.sort(key=lambda pair: (pair[0] is not case.rival, -pair[1].value))
    advised_rows = []
    for row, difference in unsettled[:_NAMED]:
        lead = "" if row is case.rival else f" ({_lead(difference)})"  # which the answer shows
        advised_rows.append((_advice(case, row, difference), f"{_called(case, row)}{lead}"))
    best = _called(case, case.leader)
    parts = [
        f"{', '.join(names)} against {best}: {a}" for a, names in grouped(advised_rows).items()
    ]
    if len(unsettled) > _NAMED:
        parts.append(f"and {counted(len(unsettled) - _NAMED, 'further row')}")
    return f"{'; '.join(parts)}." if parts else ""


def _advice(case: _Case, row: Row, difference: Difference) -> str:
    """How many seeds, or how much text, would settle a difference from the best row."""
    estimate, seeded = difference.estimate, [r for r in (row, case.leader) if r.has_seed]
    if estimate.value == 0:
        return "their means are equal"
    of_rows = "each" if len(seeded) > 1 else "".join(_called(case, r) for r in seeded)
    if not estimate.covers_seeds:
        return f"an interval over seeds takes at least {FEWEST} of {of_rows}"
    advised = needed(estimate, level=difference.level)
    if advised.seeds and advised.seeds <= _MOST:
        return f"about {counted(advised.seeds, 'more seed')} of {of_rows} {_WOULD_SETTLE}"
    seeds = "more seeds will not settle it"
    if advised.seeds:
        seeds = f"it takes more than {_MOST} more seeds of {of_rows}"
    if advised.units and advised.units <= _MOST * estimate.units:
        n_units = f"{float(f'{advised.units:.2g}'):,.0f}"  # it is an estimate
        text = f"about {n_units} more {difference.split} {difference.units}"
        if not seeded:
            return f"{text} {_WOULD_SETTLE}"
        return f"{seeds}, or {text}" if advised.seeds else f"{seeds}, {text} would"
    if advised.seeds or not estimate.covers_text:
        return seeds
    if not seeded:
        return f"only far more {difference.split} text would settle it"
    return f"only more seeds and more {difference.split} text together would settle it"


# Check first --------------------------------------------------------------------------------------


def _cautions(case: _Case, cheapest: Row | None) -> Iterator[str]:
    """Possible problems of the answer, one phrase each."""
    leader, named_rows = case.leader, (case.leader, case.rival, cheapest)
    shown = {row.name: row for row in named_rows if row and row.competes}.values()
    still_rising = grouped(
        ((_settings(row).trainer.passes, row.settings["epochs"]), row)
        for row in shown
        if _still_rising(row) and row is not _behind_and_rising(case)
    )
    for (passes, epochs), rows in still_rising.items():
        advice = f"train longer, such as epochs={2 * epochs}"
        last = f"last epoch ({advice})" if passes else "last penalty (more epochs try others)"
        pronoun = "its" if len(rows) == 1 else "their"
        yield f"{enumerated([_called(case, row) for row in rows])} did best in {pronoun} {last}"
    # Searches of several experiments may have found the same row.
    at_edge = [(e, row) for row in shown for e in dict.fromkeys(_edges(case.searches, row))]
    for edge, rows in grouped(at_edge).items():
        yield f"{enumerated([_called(case, row) for row in rows])}: {edge} (search further)"
    yield from _unlearned(case)
    if caution := _search_without_choice(case):
        yield caution
    yield from _equals(case)
    if case.untrained:
        yield f"no time was left to train {enumerated(case.untrained)}; more minutes would"
    yield from _little_text(case, shown)
    if any(run.record.reading.get("dev_share") for run in case.runs(case.rows)):
        yield "dev was drawn from train"
    if leader.splits[0] == "test" and case.rival is not None:
        yield "there are no scores on dev, so test chose the rows: leads are too large"
    if case.competing and case.split == "dev":
        yield "there is no test text, and dev also chose epochs and settings: leads are too large"
    yield from _unequal(case)


def _unlearned(case: _Case) -> Iterator[str]:
    """Phrases about the rows that did not learn, in any run or in all."""
    split, in_some, in_none = case.leader.splits[0], list[str](), list[str]()
    for row in case.rows if case.competing else ():
        if not row.competes:
            scores = [run.record.scores[split] for run in case.members[row.name]]
            names = in_some if any(score.exceeds_floor for score in scores) else in_none
            names.append(f"{_called(case, row)}{_few_steps(row)}")
    if in_none:
        yield f"{_first_of(in_none)} did not learn"
    if in_some:
        yield f"{_first_of(in_some)} did not learn with every seed, or not clearly"


def _first_of(names: Sequence[str]) -> str:
    """`A, B and 5 more`, or all names if no more than one would follow."""
    n_more = len(names) - _NAMED
    return enumerated([*names[:_NAMED], f"{n_more} more"] if n_more > 1 else names)


def _little_text(case: _Case, shown: Collection[Row]) -> Iterator[str]:
    """Phrases about rows that learned from a part of the text, or in few steps."""
    parts = {row.train_part for row in case.comparison.rows}
    is_part = len(parts) == 1 and any(row.part_name for row in shown)
    if shown and (is_part or any(map(_may_be_cut, case.runs(shown)))):
        n_texts = round(max(row.train_sentences.mean for row in shown))
        learned = counted(n_texts, f"training {next(iter(shown)).task.unit}")
        yield f"all rows learned from {learned}, a part of the text: with more the order may change"
    few_steps = [
        row for row in shown if row.competes and row.mean(row.splits[0]) < 1 and _few_steps(row)
    ]
    if few_steps:
        names = enumerated([f"{_called(case, row)}{_few_steps(row)}" for row in few_steps])
        yield f"{names} may need more steps"


def _may_be_cut(run: Run) -> bool:
    """Whether a limit may have cut train, of which dev and test may have been drawn."""
    reading, splits = run.original.record.reading, run.original.record.signature.splits
    parts = ["train", *(name for name, option in _DRAWN_BY.items() if reading.get(option))]
    n_read = sum(splits[name].sentences for name in parts if name in splits)
    return bool(reading.get("limit")) and n_read >= reading["limit"]


def _equals(case: _Case) -> Iterator[str]:
    """A phrase about rows that are as good as the best one by dev."""
    leader, split = case.leader, case.leader.splits[0]
    scored = [row for row in case.competing if split in row.splits and row is not leader]
    names = [_called(case, row) for row in scored if row.mean(split) == leader.mean(split)]
    if names:
        verb = "is" if len(names) == 1 else "are"
        yield (
            f"by {split} {_first_of(names)} {verb} as good as {_called(case, leader)}, which has "
            "about the fewest operations"
        )


def _missing_side(case: _Case) -> str:
    """`on features` or `of fine-tuning`, if a contest has no such row, else nothing."""
    if case.features is None:
        return "on features"
    return f"of {get_tuning(BASELINE).title}" if case.tuned is None else ""


def _search_without_choice(case: _Case) -> str:
    """A phrase about the search for rows of the missing side, if it chose none."""
    frozen, corpus = case.features is None, case.rows[0].corpus
    searches = [
        search
        for search in case.searches
        if search.corpus == corpus
        and (get_tuning(search.tuning).frozen if frozen else search.tuning == BASELINE)
    ]
    names = {run.name for row in case.with_trials for run in row.runs}
    # Rows of an experiment are compared without its trials.
    searches = [s for s in searches if not names.isdisjoint(s.trials)] or searches
    side = _missing_side(case)
    if not side or not searches or any(search.chosen is not None for search in searches):
        return ""
    if any(search.floor is None for search in searches):
        return f"the search for runs {side} is not finished"
    n_tried = counted(sum(len(search.tried) for search in searches), "setting")
    return f"the search among {n_tried} found no run {side} that learned"


def _settings(row: Row) -> Settings:
    return unchecked(row.settings, row.tuning)


def _few_steps(row: Row) -> str:
    """` (15 steps)`, if a row had so few gradient steps that it could hardly learn."""
    settings = _settings(row)
    epochs, batch_size = (row.settings.get(name) for name in ("epochs", "batch_size"))
    if not (epochs and batch_size and settings.trainer.passes):
        return ""
    passes = settings.passes_until(epochs)
    n_steps = passes * math.ceil(row.train_sentences.mean / batch_size)
    return f" ({counted(n_steps, 'step')})" if n_steps < _FEW_STEPS else ""


def _edges(searches: Sequence[SearchRecord], row: Row) -> Iterator[str]:
    """Phrases about rates at the edge of the search that found the row."""
    runs = {run.name for run in row.runs}
    for search in searches:
        if search.chosen is None or runs.isdisjoint(search.rows):
            continue
        choice = search.tried[search.chosen].settings
        # Tunings and bodies have rates of their own.
        alike = [
            trial.settings
            for trial in search.tried
            if trial.state != "waiting"
            if all(trial.settings.get(name) == choice.get(name) for name in ("tuning", "body"))
        ]
        for setting in _SEARCHED_RATES:
            values = {settings.get(setting) for settings in alike}
            numbers = sorted(value for value in values if isinstance(value, float))
            chosen = choice.get(setting)
            if len(numbers) > 1 and chosen in (numbers[0], numbers[-1]):
                end = "lowest" if chosen == numbers[0] else "highest"
                yield f"{setting.replace('_', ' ')} {chosen:g} is the {end} of the search"


def _still_rising(row: Row) -> bool:
    """Whether the last epoch was much better on dev than all before it, and more are possible."""
    if _settings(row).epochs == _settings(row).trainer.most_epochs:
        return False
    gains = []
    for run in row.runs:
        *before, last = [score for score in run.dev_scores if score is not None] or [0.0]
        gains.append(last - max(before, default=last))
    return statistics.fmean(gains) > _RISING


def unequal(row: Row, split: str) -> bool:
    """Whether classes are so unequal that accuracy hides the small ones."""
    by_accuracy = row.task.measure.key == "accuracy" and MACRO_F1 in row.scores.get(split, {})
    return by_accuracy and row.floors.get(split, 0.0) >= _UNEQUAL


def _unequal(case: _Case) -> Iterator[str]:
    leader, split = case.leader, case.split
    if not case.competing or not unequal(leader, split):
        return
    text = f"the largest class is {_percent(leader.floors[split])}% of {split}"
    scored = [row for row in case.competing if row.score(split, MACRO_F1)]
    best = max(scored, key=lambda row: row.mean(split, MACRO_F1))
    scores = [_percent(row.mean(split, MACRO_F1)) for row in (best, leader)]
    if best is leader:
        yield f"{text}, macro F1 is {scores[0]}"
    else:
        yield (
            f"{text}, and by macro F1 {_called(case, best)} ({scores[0]}) is above "
            f"{_called(case, leader)} ({scores[1]})"
        )


# Further sentences --------------------------------------------------------------------------------


def _floor(row: Row, split: str) -> str:
    """The score without skill on a row's text, if known."""
    value = row.floors.get(split)
    if value is None:
        return ""
    return f" {row.task.floor.capitalize()} gives {_percent(value)}."


def _cost(case: _Case, features: Row, tuned: Row) -> str:
    comparison = case.comparison
    ours, theirs = features.cost, tuned.cost
    price = comparison.prices.get(features.name)
    once = ours.extraction_seconds
    paid = f", after {units.duration(once)} of extraction, paid once" if once else ""
    text = (
        f"A run on features trains {units.parameters(ours.trained_parameters)} parameters in "
        f"{units.duration(ours.training_seconds.mean)}{paid}. A tuned run trains "
        f"{units.parameters(theirs.trained_parameters)} in "
        f"{units.duration(theirs.training_seconds.mean)}."
    )
    if price is None or price.tuned_row != tuned.name:
        return text
    words = {math.inf: "at no number of runs", 1: "from the first run on"}
    runs = case.runs((features, tuned))
    timed = len(machines_of(comparison)) < 2 and not side_by_side(runs)
    since = {
        "less time": price.seconds_cheaper_from if timed else None,
        "fewer operations": price.flops_cheaper_from,
    }
    savings: dict[float, list[str]] = {}
    for what, number in since.items():
        if number:
            savings.setdefault(number, []).append(what)
    parts = [
        f"{' and '.join(saved)} {words.get(number, f'from run {number:.0f} on')}"
        for number, saved in savings.items()
    ]
    return f"{text} Features take {', and '.join(parts)}." if parts else text


def _where(case: _Case, breakdown: Breakdown, features: Row, tuned: Row) -> str:
    """The buckets of a facet at which each is ahead most."""
    ours, theirs = breakdown.rows[features.name], breakdown.rows[tuned.name]
    ahead = {bucket: ours[bucket].mean - theirs[bucket].mean for bucket in breakdown.gold}
    best, worst = max(ahead, key=ahead.__getitem__), min(ahead, key=ahead.__getitem__)
    leading = ((features, best, ahead[best] > 0), (tuned, worst, ahead[worst] < 0))
    parts = [
        f"{_called(case, row)} at {bucket} by {units.percent(abs(ahead[bucket]))} points "
        f"({breakdown.gold[bucket]:,} in gold)"
        for row, bucket, is_ahead in leading
        if is_ahead
    ]
    leads = f"the widest leads: {' and '.join(parts)}" if parts else "neither row leads anywhere"
    return f"By {breakdown.meaning} on {breakdown.split}, {leads}."


def _lead(difference: Difference, measure: str = "") -> str:
    """`+0.5 [-1.2, +2.2]`, or with a measure `+0.5 F1 [-1.2, +2.2]`"""
    ends = units.interval(difference.low, difference.high)
    return " ".join(filter(None, (units.short_points(difference.value), measure, ends)))


def _score(row: Row, split: str) -> str:
    """`84.1 accuracy [82.0, 86.2] (5 seeds)`"""
    parts = [_percent(row.mean(split)), row.task.measure.name]
    basis = counted(len(row.runs), "seed") if row.has_seed else ""
    if estimate := row.estimates.get(split):
        ends = estimate.possible_ends(row.task.measure.lowest)
        parts.append(f"[{', '.join(map(_percent, ends))}]")
        basis += "" if estimate.covers_seeds else _NO_SEEDS
        basis += "" if estimate.covers_text else ": other text is not covered"
    return " ".join([*parts, f"({basis})"] if basis else parts)


def _percent(share: float) -> str:
    return units.percent(share, 1)
