"""Experiment files: read, checked, changed; every mistake is told at once."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from featbert.errors import MissingError
from featbert.runs.arm import Approach
from featbert.runs.file import Experiment, ExperimentError, read_experiment
from featbert.training.settings import DEFAULTS

ROOT = Path(__file__).parents[2]


def write(folder: Path, text: str) -> Path:
    path = folder / "trial.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "path", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda p: p.name
)
def test_every_shipped_file_reads(path: Path) -> None:
    experiment = read_experiment(path)
    assert experiment.name == path.stem
    assert experiment.description


def test_defaults(tmp_path: Path) -> None:
    experiment = read_experiment(write(tmp_path, "[finetune]\n"))
    assert experiment.name == "trial"
    assert experiment.arms[0].data == "sample"
    assert experiment.arms[0].settings("finetune") == DEFAULTS["finetune"]
    assert experiment.arms[0].features is None


def test_settings_are_the_files(tmp_path: Path) -> None:
    text = '[features]\nlayers = ["first", "layer:2"]\nepochs = 3\nlearning_rate = 0.01\n'
    experiment = read_experiment(write(tmp_path, text))
    assert experiment.arms[0].features is not None
    assert experiment.arms[0].features.layers == ["embeddings", "layer:2"]
    settings = experiment.arms[0].settings("features")
    assert (settings.epochs, settings.learning_rate) == (3, 0.01)
    assert settings.batch_size == DEFAULTS["features"].batch_size


def test_set_overrides_one_key(tmp_path: Path) -> None:
    path = write(tmp_path, "seeds = [1]\n[features]\nepochs = 3\n")
    changes = ["seeds=[4,5]", "features.epochs=7", "data=some/folder", "finetune.epochs=2"]
    experiment = read_experiment(path, changes)
    assert experiment.arms[0].seeds == [4, 5]
    assert experiment.arms[0].settings("features").epochs == 7
    assert experiment.arms[0].data == "some/folder"
    assert experiment.arms[0].settings("finetune").epochs == 2


def test_all_mistakes_are_told_together(tmp_path: Path) -> None:
    text = (
        'modell = "x"\nseeds = [1, 1]\ncontext = "page"\n'
        '[features]\nlayers = ["lastt"]\nepoch = 3\nlearning_rate = "fast"\n'
    )
    with pytest.raises(ExperimentError) as caught:
        read_experiment(write(tmp_path, text))
    message = str(caught.value)
    assert message.startswith("6 mistakes in ")
    assert "'modell' (did you mean 'model'?)" in message
    assert "'features.epoch' (did you mean 'epochs'?)" in message
    assert "did you mean 'last'?" in message
    for place in ("seeds: ", "context: ", "features.learning_rate: "):
        assert place in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "[features] or [finetune]"),
        ("[features]\nepochs = 0\n", "epochs of at least 1"),
        ("[features\n", "TOML expected"),
        ('vary = ["colour"]\n[finetune]\n', "colour"),
        ("[features]\nlayers = []\n", "features.layers"),
        ('[features]\nlayers = ["first", "embeddings"]\n', "once expected"),
        ("[features]\nepochs = true\n", "features.epochs"),
    ],
)
def test_one_mistake(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ExperimentError, match=r"mistake|TOML") as caught:
        read_experiment(write(tmp_path, text))
    assert told in str(caught.value)


@pytest.mark.parametrize("change", ["seeds", "=3", "features..epochs=1", "seeds.a=1"])
def test_a_wrong_change(tmp_path: Path, change: str) -> None:
    with pytest.raises(ExperimentError):
        read_experiment(write(tmp_path, "seeds = [1]\n[features]\n"), [change])


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, "")
    with pytest.raises(MissingError, match=r"did you mean 'trial.toml'"):
        read_experiment(tmp_path / "tral.toml")


def test_train_sizes_are_laid_over_every_arm(tmp_path: Path) -> None:
    text = (
        "[features]\n[finetune]\n[train_sizes]\nshares = [0.25, 1]\n"
        '[variants]\ncontext = ["sentence", "document"]\n'
        "[grid.finetune]\nepochs = [2, 3]\n"
    )
    experiment = read_experiment(write(tmp_path, text))
    expected = [(c, share) for c in ("sentence", "document") for share in (0.25, 1.0)]
    for approach in ("features", "finetune"):
        found = [(a.context, a.settings(approach).train_share) for a in experiment.arms]
        assert found == expected
    assert experiment.arm_names[0] == "context=sentence, train_share=0.25"
    # Each share has a search of its own.
    assert {
        (number, tuple(arm.settings("finetune").train_share for arm in tried))
        for (number, approach), tried in experiment.grids.items()
    } == {(0, (0.25, 0.25)), (1, (1.0, 1.0)), (2, (0.25, 0.25)), (3, (1.0, 1.0))}
    assert experiment.vary == ("context",)  # settings need no freeing


def test_each_share_is_trained_for_as_many_steps_unless_for_as_many_epochs(tmp_path: Path) -> None:
    text = (
        "[features]\nepochs = 5\n[finetune]\n[train_sizes]\nshares = [0.1, 0.3, 1.0]\n"
        "[grid.features]\nepochs = [5, 6]\n"
    )

    def epochs(experiment: Experiment, approach: Approach) -> list[int]:
        return [arm.settings(approach).epochs for arm in experiment.arms]

    path = write(tmp_path, text)
    steps = read_experiment(path)
    assert epochs(steps, "features") == [50, 17, 5]
    default = DEFAULTS["finetune"].epochs
    assert epochs(steps, "finetune") == [10 * default, math.ceil(default / 0.3), default]
    assert [a.settings("features").epochs for a in steps.grids[0, "features"]] == [50, 60]
    assert epochs(read_experiment(path, ['train_sizes.equal="epochs"']), "features") == [5, 5, 5]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[train_sizes]\n", "train_sizes.shares: different shares above 0"),
        ("[train_sizes]\nshares = [0.5, 0.5]\n", "found [0.5, 0.5]"),
        ("[train_sizes]\nshares = [0.0, 1.0]\n", "found [0.0, 1.0]"),
        ("[train_sizes]\nshares = [50, 100]\n", "found [50.0, 100.0]"),
        ('[train_sizes]\nshares = ["half"]\n', "train_sizes.shares.0: "),
        ("[train_sizes]\nsizes = [1]\n", "unknown key 'train_sizes.sizes'"),
        ('[train_sizes]\nshares = [1]\nequal = "words"\n', "train_sizes.equal: "),
        ("train_share = 1.5\n", "train_share: a number of at most 1"),
        (
            "train_share = 0.5\n[train_sizes]\nshares = [1]\n",
            "train_share stands elsewhere in the file too",
        ),
        (
            'train_on = "train+dev"\n[train_sizes]\nshares = [0.5]\n',
            "train_share: 1 expected with train_on train+dev, found 0.5",
        ),
    ],
)
def test_mistakes_in_train_sizes_are_told_with_the_others(
    tmp_path: Path, text: str, told: str
) -> None:
    text += "[features]\nepochs = 0\n[finetune]\n"
    with pytest.raises(ExperimentError) as caught:
        read_experiment(write(tmp_path, text))
    assert told in str(caught.value)
    assert "epochs of at least 1" in str(caught.value)


def test_variants_make_an_arm_of_each_combination(tmp_path: Path) -> None:
    text = (
        "[finetune]\nepochs = 3\n"
        '[variants]\ncontext = ["sentence", "document"]\ntrain_on = ["train", "train+dev"]\n'
        '[variants.finetune]\nfreeze_to = ["none", 0, "all"]\n'
    )
    experiment = read_experiment(write(tmp_path, text))
    found = [
        (a.context, a.train_on, a.settings("finetune", num_layers=6).freeze_to)
        for a in experiment.arms
    ]
    assert found == [
        (context, train_on, freeze_to)
        for context in ("sentence", "document")
        for train_on in ("train", "train+dev")
        for freeze_to in (None, 0, 6)
    ]
    assert {a.settings("finetune").epochs for a in experiment.arms} == {3}
    assert experiment.vary == ("context",)  # settings need no freeing


def test_corpora_and_ways_are_laid_over_the_file(tmp_path: Path) -> None:
    text = """
        model = "cased"
        [corpora]
        en = "conll2003"
        de = { data = "conll2003-de", encoding = "latin-1", finetune.epochs = 3 }
        [finetune]
        epochs = 4
        [[variant]]
        [[variant]]
        finetune.discriminative = 2.6
        finetune.epochs = 5
    """
    experiment = read_experiment(write(tmp_path, text), ["corpora.en=else/where"])
    found = [
        (a.data, a.language, a.encoding, s.epochs, s.discriminative)
        for a in experiment.arms
        for s in [a.settings("finetune")]
    ]
    assert found == [
        ("else/where", "en", "utf-8", 4, 1.0),
        ("else/where", "en", "utf-8", 5, 2.6),
        ("conll2003-de", "de", "latin-1", 3, 1.0),
        ("conll2003-de", "de", "latin-1", 5, 2.6),
    ]
    assert experiment.vary == ("corpus",)


def test_a_grid_is_tried_for_its_own_approach(tmp_path: Path) -> None:
    text = """
        [features]
        layers = ["last"]
        [finetune]
        [variants]
        context = ["sentence", "document"]
        [grid]
        seeds = [7]
        [grid.finetune]
        batch_size = [16, 32]
        learning_rate = [2e-5, 3e-5, 5e-5]
    """
    experiment = read_experiment(write(tmp_path, text))
    assert set(experiment.grids) == {(0, "finetune"), (1, "finetune")}
    assert experiment.grid_seeds == (7,)
    tried = [
        (a.context, s.batch_size, s.learning_rate)
        for a in experiment.grids[1, "finetune"]
        for s in [a.settings("finetune")]
    ]
    assert tried == [("document", batch, rate) for batch in (16, 32) for rate in (2e-5, 3e-5, 5e-5)]


def test_each_single_layer(tmp_path: Path) -> None:
    experiment = read_experiment(write(tmp_path, '[features]\nlayers = ["each", "layer:2"]\n'))
    features = experiment.arms[0].features
    assert features is not None
    assert features.specs(3) == ["embeddings", "layer:1", "layer:2", "layer:3"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[finetune]\n[grid.finetune]\nlearning_rat = [1e-5]\n", "did you mean 'learning_rate'?"),
        ("[finetune]\n[grid.finetune]\nepochs = 3\n", "a list of values to try expected, found 3"),
        ("[finetune]\n[grid]\ncontext = ['sentence']\n", "[variants] compares other keys"),
        ("[finetune]\n[grid.finetune]\nepochs = [0, 1]\n", "epochs of at least 1"),
        ("[finetune]\n[variants]\ncontxt = ['a']\n", "did you mean 'context'?"),
        ("[finetune]\n[variants]\ncontext = ['document', 'document']\n", "each value once"),
        ("[finetune]\nfreeze_to = 'some'\n", "finetune.freeze_to"),
        ("[features]\nfreeze_to = 3\n", "unknown key 'features.freeze_to'"),
        ("published = ['devlin2019-table8x']\n[finetune]\n", "did you mean 'devlin2019-table8'?"),
        ("[finetune]\nunfreeze = 0\n", "unfreeze of at least 1"),
        ("[finetune]\n[grid.features]\nepochs = [1]\n", "a [features] table expected"),
        ("[features]\n[grid.features]\nlayers = [['last']]\n", "list them in [features]"),
    ],
)
def test_mistakes_in_what_a_file_varies(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        read_experiment(write(tmp_path, text))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_range_and_type_mistakes_are_told_in_one_round(tmp_path: Path) -> None:
    text = '[finetune]\nepochs = 0\nlearning_rate = "fast"\n'
    with pytest.raises(ExperimentError, match=r"^2 mistakes") as caught:
        read_experiment(write(tmp_path, text))
    assert "epochs of at least 1" in str(caught.value)
    assert "finetune.learning_rate" in str(caught.value)


def test_one_corpus_varies_nothing(tmp_path: Path) -> None:
    experiment = read_experiment(write(tmp_path, '[corpora]\nen = "conll2003"\n[finetune]\n'))
    assert experiment.vary == ()
    assert experiment.arm_names == ("",)


def test_the_papers_values_are_in_the_papers_file() -> None:
    """Devlin et al. 2019, section 5.3 and appendix A.3."""
    experiment = read_experiment(ROOT / "experiments" / "bert-table7.toml")
    (arm,) = experiment.arms
    assert (arm.model, arm.context, arm.seeds) == ("bert-base-cased", "document", [1, 2, 3, 4, 5])
    settings = arm.settings("finetune")
    assert (settings.warmup, settings.weight_decay, settings.bias_correction) == (0.1, 0.01, False)
    tried = [a.settings("finetune") for a in experiment.grids[0, "finetune"]]
    assert {s.batch_size for s in tried} == {16, 32}
    assert {s.learning_rate for s in tried} == {5e-5, 3e-5, 2e-5}
    assert {s.epochs for s in tried} == {2, 3, 4}
    assert len(tried) == 18
    assert (arm.settings("features").lstm_size, arm.settings("features").lstm_layers) == (768, 2)
