"""Sentences about a comparison: each says what the numbers say."""

from __future__ import annotations

import dataclasses

import pytest

from featbert.analysis.breakdown import with_breakdowns
from featbert.analysis.compare import compare, compare_runs
from featbert.analysis.cost import with_costs
from featbert.analysis.resampling import Interval, PairedTest
from featbert.analysis.significance import Difference
from featbert.report.summary import findings
from featbert.report.units import duration
from tests.analysis.records import make_record, make_run, make_seeds, usual_runs
from tests.report.html.judged import usual


def lines(comparison) -> dict[str, str]:
    (finding,) = findings(comparison)
    assert finding.about == ""
    return dict(finding.lines)


def paired(p: float) -> PairedTest:
    names = {f.name for f in dataclasses.fields(PairedTest)}
    values = {"difference": 0.02, "p_value": p, "low": 0.0, "high": 0.1, "level": 0.95}
    values |= {"units": 50, "resamples": 100, "exact": False}
    return PairedTest(**{name: values[name] for name in names})


def with_test(comparison, *, p: float, over_seeds: tuple[float, float] | None):
    interval = None
    if over_seeds is not None:
        low, high = over_seeds
        interval = Interval((low + high) / 2, low, high, 0.95, 3)
    seeds = (1, 2, 3) if over_seeds else (1,)
    difference = Difference(
        row="concat_last4",
        baseline="fine-tuning",
        split="test",
        seeds=seeds,
        units="documents",
        over_seeds=interval,
        by_seed=(paired(p),) * len(seeds),
        pooled=paired(p),
        adjusted=p,
    )
    return dataclasses.replace(comparison, differences=(difference,))


def test_quality_is_of_test_for_the_rows_that_dev_chose() -> None:
    (comparison,) = compare(usual_runs())
    assert lines(comparison)["Quality"] == (
        "On test, fine-tuning reaches 61.17 F1 (mean of 3 seeds), and the best features row by "
        "dev, concat_last4, 58.50 (mean of 3 seeds): fine-tuning is 2.67 points ahead of features."
    )


def test_features_may_be_ahead_and_equal_is_neither() -> None:
    tuned = make_seeds("tuned", [0.5], layers=None)
    (ahead,) = compare([*tuned, *make_seeds("concat", [0.6])])
    assert "features are 10.00 points ahead of fine-tuning." in lines(ahead)["Quality"]
    (equal,) = compare([*tuned, *make_seeds("concat", [0.5])])
    assert lines(equal)["Quality"].endswith(": the two are equal.")


def test_without_test_it_says_that_dev_chose() -> None:
    runs = [
        make_run("tuned", dev=0.5, test=None, layers=None),
        make_run("concat", dev=0.6, test=None),
    ]
    (comparison,) = compare(runs)
    assert lines(comparison)["Quality"].startswith("On dev (dev, which also chose the epochs")


@pytest.mark.parametrize(
    ("p", "over_seeds", "said"),
    [
        (
            0.001,
            (0.01, 0.03),
            "It holds over seeds (95% interval of the difference to fine-tuning ",
        ),
        (0.001, (-0.01, 0.03), "Over the text it is clear (p = 0.001 after Holm's correction)"),
        (0.2, (0.01, 0.03), "Over seeds it is clear"),
        (0.2, (-0.01, 0.03), "Neither seeds"),
        (0.0001, None, "The text tells them apart (p <0.001 after Holm's correction); 1 seed says"),
        (0.2, None, "The text does not tell them apart"),
    ],
)
def test_trust_says_what_seeds_and_text_say(p, over_seeds, said) -> None:
    (comparison,) = compare(usual_runs())
    text = lines(with_test(comparison, p=p, over_seeds=over_seeds))["Trust"]
    assert text.startswith(said)
    if over_seeds == (-0.01, 0.03):
        assert "-1.00 to +3.00 points" in text


def test_what_is_not_tested_is_not_said_to_hold() -> None:
    (comparison,) = compare(usual_runs())
    assert lines(comparison)["Trust"].startswith("The difference is not tested")


def test_cost_says_where_features_break_even() -> None:
    (comparison,) = compare(usual_runs())
    text = lines(with_costs(comparison))["Cost"]
    assert text == (
        "A run on features trains 13.4 M parameters in 41 s, after 12 s of extraction, paid once; "
        "a fine-tuned run 22.6 M in 1m 36s. By time features are the cheaper way from the first "
        "run on, by operations at no number of runs."
    )


def test_where_names_the_types_with_the_widest_leads(tmp_path) -> None:
    (comparison,) = compare(usual(tmp_path))
    comparison = with_breakdowns(comparison, ["type"])
    found = next(b for b in comparison.breakdowns if b.split == "test")
    ahead = {
        kind: found.rows["concat_last4"][kind].mean - found.rows["fine-tuning"][kind].mean
        for kind in found.gold
    }
    text = lines(comparison)["Where"]
    kind = min(ahead, key=ahead.get)
    assert ahead[kind] < 0
    assert f"fine-tuning at {kind} by {-100 * ahead[kind]:.2f} points" in text
    assert ("features at" in text) == (max(ahead.values()) > 0)


def test_layers_say_how_far_rows_on_features_lie_apart() -> None:
    (comparison,) = compare(usual_runs())
    assert lines(comparison)["Layers"] == (
        "The 3 rows on features lie 18.50 points apart on dev, from embeddings (45.00) to "
        "concat_last4 (63.50)."
    )


def test_one_approach_alone_is_not_compared() -> None:
    (comparison,) = compare(make_seeds("concat", [0.6]))
    said = lines(comparison)
    assert said["Quality"] == "concat_last4 reaches 55.00 test F1 (one seed)."
    assert said["Missing"].startswith("There are no runs of fine-tuning here")


def test_what_varies_is_told_apart() -> None:
    runs = [
        run
        for context in ("sentence", "document")
        for run in (
            *make_seeds(f"{context}-tuned", [0.6], layers=None, signature={"context": context}),
            *make_seeds(f"{context}-concat", [0.5], signature={"context": context}),
        )
    ]
    comparison = compare_runs(runs, vary=["context"])
    assert [finding.about for finding in findings(comparison)] == ["document", "sentence"]


def test_with_shares_of_train_it_is_of_the_largest_and_says_who_leads_where() -> None:
    def share(value: float) -> dict:
        settings = make_record().settings | {"train_share": value}
        return {"settings": settings, "trained_on": ["train"]}

    runs = [
        *make_seeds("tuned", [0.6], layers=None, **share(1.0)),
        *make_seeds("concat", [0.5], **share(1.0)),
        *make_seeds("small-tuned", [0.3], layers=None, **share(0.1)),
        *make_seeds("small-concat", [0.4], **share(0.1)),
    ]
    (comparison,) = compare(runs)
    said = lines(comparison)
    assert "reaches 55.00 F1" in said["Quality"]
    assert "fine-tuning is 10.00 points ahead" in said["Quality"]
    assert said["Data"] == (
        "Higher mean on dev by share of train: concat_last4 with 10%, fine-tuning with 100%. These "
        "are means; the differences say what holds."
    )


def test_layers_are_of_rows_that_differ_in_nothing_else() -> None:
    other = make_record().settings | {"lstm_layers": 0}
    runs = [*usual_runs(), *make_seeds("probe", [0.1, 0.1, 0.1], layers="last", settings=other)]
    (comparison,) = compare(runs)
    said = lines(comparison)["Layers"]
    assert said.startswith("The 3 rows on features lie 18.50 points apart on dev")
    rates = [
        *make_seeds("one", [0.5], settings=make_record().settings | {"learning_rate": 0.1}),
        *make_seeds("two", [0.6]),
    ]
    assert "Layers" not in lines(compare(rates)[0])


def test_cost_and_quality_of_a_part_of_train_say_so() -> None:
    settings = make_record().settings | {"train_share": 0.25}
    part = {"settings": settings, "trained_on": ["train"], "train_words": 3000}
    runs = [*make_seeds("tuned", [0.6], layers=None, **part), *make_seeds("concat", [0.5], **part)]
    comparison = with_costs(compare(runs)[0])
    said = lines(comparison)
    assert said["Quality"].startswith("With 25% of train, on test, fine-tuning reaches")
    (cost,) = [c for c in comparison.costs if c.against]
    assert cost.seconds.once < 12.5
    assert f"after {duration(cost.seconds.once)} of extraction" in said["Cost"]
    assert "all rows learned from 25% of the training sentences" in comparison.notes


def test_dev_is_told_beside_test() -> None:
    (comparison,) = compare(usual_runs())
    tested = with_test(comparison, p=0.2, over_seeds=(-0.01, 0.03))
    dev = dataclasses.replace(tested.differences[0], split="dev")
    both = dataclasses.replace(tested, differences=(*tested.differences, dev))
    assert lines(both)["Trust"].endswith(
        "On dev the difference is +2.00 (-1.00 to +3.00 over seeds), p = 0.200."
    )
