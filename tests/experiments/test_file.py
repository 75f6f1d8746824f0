"""Experiment files: read, checked, changed; every mistake is reported at once."""

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from featbert.config import defaults
from featbert.errors import InputError, MissingError
from featbert.experiments.file import Configuration, Experiment, every, read_experiment


@pytest.fixture
def read(tmp_path) -> Callable[..., Experiment]:
    """Reads an experiment file with this text, with changes."""
    path = tmp_path / "trial.toml"

    def read(text: str, *changes: str) -> Experiment:
        path.write_text(text, "utf-8")
        return read_experiment(path, changes)

    return read


def test_what_a_file_leaves_out_has_the_defaults_of_the_tuning(read):
    experiment = read(
        '[features]\nlayers = ["first", "layer:2"]\nepochs = 3\nlearning_rate = 1\n[finetune]\n'
    )
    (configuration,) = experiment.configurations
    assert (experiment.name, configuration.data, experiment.differing) == ("trial", "sample", ({},))
    assert configuration.settings("finetune") == defaults("full")
    assert configuration.settings("features") == defaults("none").but(epochs=3, learning_rate=1.0)
    assert configuration.features.layers == ["embeddings", "layer:2"]
    (each,) = read('[features]\nlayers = ["each", "layer:2"]\n').configurations
    assert each.features.specs(3) == ["embeddings", "layer:1", "layer:2", "layer:3"]


def test_default_rates_fall_with_the_width_of_the_encoder(read):
    text = '[finetune]\n[variants.finetune]\ntuning = ["full", "top:2", "head-then-full", "lora"]\n'

    def rates(hidden_size: int, *changes: str) -> list[float]:
        settings = (
            c.settings("finetune", 12, hidden_size) for c in read(text, *changes).configurations
        )
        return [one.learning_rate for one in settings]

    assert rates(16) == rates(384) == [2e-4, 8e-4, 2e-4, 2e-3]
    assert rates(768) == [6e-5, 2.4e-4, 6e-5, 2e-3]
    assert rates(1024)[0] < rates(768)[0] < rates(512)[0] < rates(384)[0]
    assert rates(768, 'finetune.learning_rate="0.5x"') == [3e-5, 1.2e-4, 3e-5, 1e-3]
    assert rates(768, "finetune.learning_rate=1e-4") == [1e-4] * 4


@pytest.mark.parametrize("seeds", ["[4,5]", "4,5", "4-5"])
def test_set_overrides_one_key(read, seeds):
    layers = "features.layers=last,concat:1,2"
    changes = [f"seeds={seeds}", "features.epochs=7", layers, "data=a/b", "finetune.epochs=2"]
    (configuration,) = read("seeds = [1]\n[features]\nepochs = 3\n", *changes).configurations
    assert (configuration.seeds, configuration.data) == ([4, 5], "a/b")
    assert configuration.features.specs(2) == ["last", "concat:1,2"]
    assert configuration.settings("features").epochs == 7
    assert configuration.settings("finetune").epochs == 2


def tries(configuration: Configuration, table: str) -> list[Configuration]:
    """What a grid tries for the rows of a table."""
    search = configuration.searched(table)
    return [configuration.at(table, one) for one in every(search.ranges(table))] if search else []


@pytest.mark.parametrize("end", ["", ".toml", "/experiment.toml"])
@pytest.mark.parametrize("above", ["", "experiments/"])
def test_a_shipped_experiment_by_its_names_and_one_of_the_folder(tmp_path, monkeypatch, above, end):
    name = f"{above}quickstart{end}"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()  # of somebody else
    assert read_experiment(name).name == "quickstart"
    own = tmp_path / "experiments" / "quickstart" / "experiment.toml"
    own.parent.mkdir(parents=True)
    own.write_text('data = "sample"\nseeds = [7]\n[finetune]\n', "utf-8")
    assert read_experiment("experiments/quickstart").configurations[0].seeds == [7]
    monkeypatch.chdir(own.parent)
    assert read_experiment("experiment.toml").name == "quickstart"
    for absent in (tmp_path, "other"):
        with pytest.raises(MissingError):
            read_experiment(Path(absent, "experiments", f"decide{end}"))
    with pytest.raises(MissingError):
        read_experiment(tmp_path)


def test_all_mistakes_are_reported_together(read, tmp_path):
    with pytest.raises(InputError, match=r"trial\.toml") as refused:
        read(
            'modell = "x"\nseeds = [1, 1]\ncontext = "page"\n[finetune]\nepochs = 0\n'
            '[features]\nlayers = ["lastt"]\nepoch = 3\nlearning_rate = "fast"\n'
        )
    for name in (
        *("seeds", "context", "features.learning_rate", "features.layers", "finetune.epochs"),
        *("'model'", "'epochs'", "'last'", "'modell'", "'features.epoch'", "'page'", "'fast'"),
    ):
        assert name in str(refused.value), name
    with pytest.raises(MissingError, match=r"trial\.toml'"):
        read_experiment(tmp_path / "tral.toml")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "[finetune]"),
        ("[features\n", "line 1"),
        ("epochs = 2\n[features]\n", "'features.epochs' or 'finetune.epochs'"),
        ('vary = ["colour"]\n[finetune]\n', "colour"),
        ('[features]\nlayers = ["first", "embeddings"]\n', "'embeddings', 'embeddings'"),
        ("[finetune]\n[grid.finetune]\nlearning_rat = [1e-5]\n", "'learning_rate'"),
        ("[finetune]\nlearning_rate = '2 x'\n", "finetune.learning_rate: is '2 x'"),
        ("[finetune]\nlearning_rate = '0x'\n", "learning_rate is 0"),
        ("[finetune]\n[grid]\ncontext = ['sentence']\n", "grid.context"),
        ("[finetune]\n[variants]\ncontext = ['document', 'document']\n", "variants: a value"),
        ("[finetune]\nfreeze_to = 'some'\n", "finetune.freeze_to"),
        ("[finetune]\ntuning = 'none'\n", "'none'"),
        ("[finetune]\n[corpora]\na = 3\n", ": corpora.a is 3"),
        ("published = ['devlin2019-table8x']\n[finetune]\n", "'devlin2019-table8'"),
        ("[finetune]\n[grid.features]\nepochs = [1]\n", "[grid.features]"),
        ("[features]\n[grid.features]\nlayers = [['last']]\n", "'layers'"),
        ("[finetune]\n[grid.finetune]\ntrain_on = ['train', 'train+dev']\n", "train_on"),
        (
            "[finetune]\n[grid.finetune]\nepochs = [1, 2]\n[[variant]]\nfinetune.epochs = 3\n",
            "finetune.epochs is given twice",
        ),
        (
            "[finetune]\n[corpora]\nde = {finetune.epochs = 3}\n[variants]\n"
            "finetune.epochs = [1, 2]\n",
            "finetune.epochs is given twice",
        ),
        ("[finetune]\n[[variant]]\ngrid.finetune.epochs = [1]\nfinetune.epochs = 3\n", "twice"),
        ("[finetune]\n[adapt]\nmask_share = 0.95\n", "mask_share + random_share is 1.05"),
        ("[finetune]\n[train_sizes]\nshares = [0.5, 0.5]\n", "0.5, 0.5"),
        ("train_share = 0.5\n[finetune]\n[train_sizes]\nshares = [1]\n", "[train_sizes]"),
        ("shots = 8\n[finetune]\nshots = 4\n", "shots"),
        ("shots = [8, 8]\n[finetune]\n", "8, 8"),
        ("shots = 8\ntrain_share = 0.5\n[finetune]\n", "train_share"),
        ("[finetune]\ntrain_on='train+dev'\n[grid.finetune]\nepochs=[1]\n", "outside of the table"),
        ("[features]\n[search.features]\ndropout = [0]\n", "no budget"),
        ("[features]\n[grid.features]\nclip_norm = [1, -1]\n", "clip_norm is -1"),
        *(
            (f"[features]\n[search.features]\n{line}\n", f"search.features.{line.split()[0]}")
            for line in (
                *("dropout = {uniform = [0.5, 0.1]}", "learning_rate = {log_uniform = [0, 1]}"),
                *("epochs = {integers = [1, 2.5]}", "batch_size = {integer = [1, 2]}"),
                *("lstm_size = []", "epochs = 3"),
            )
        ),
        ("[finetune]\n[grid.finetune]\nrank=[1]\n[search.finetune]\nrank=[2]\n", "[grid."),
        (
            "[features]\n[finetune]\n[grid.finetune]\nrank=[1]\n"
            "[search]\ntrials=1\nseeds=[1,2]\n[search.features]\nepochs=[2]\n",
            "[grid.finetune] and [search.features]",
        ),
        ("[finetune]\n[grid]\nseeds=[1,2]\n", "[grid.finetune]"),
        (
            "[finetune]\n[grid]\nseeds=[1,2]\n[search]\ntrials=1\n[search.finetune]\nepochs=[1]\n",
            "[grid] without",
        ),
        ("show = ['presision']\n[finetune]\n", "'precision'"),
        ("task = 'classification'\nshow = ['word_f1']\n[finetune]\n", "'word_f1'"),
        ("labels = {PER = 'LOC'}\n[finetune]\n", "transfer"),
        ("train_on = 'train+dev'\ntrain_share = 0.5\n[finetune]\n", "train_on='train+dev'"),
        ("[finetune]\n[[variant]]\ncorpora = 'de'\n", "variant.0.corpora is 'de'"),
        ("[finetune]\nepochs = 2\n[grid.finetune]\nepochs = [1, 3]\n", "finetune.epochs"),
        ("equal_steps = true\n[finetune]\n[train_sizes]\nshares = [1]\n", "equal_steps"),
        ("seed = 1\n[finetune]\n", "'seeds'"),
        ("[features.grid]\nepochs = [1]\n", "[grid.features]"),
        ("[features]\npacking = 'apart'\n", "'packing', outside of [features]"),
        *((f"{table} = 3\n", table) for table in ("finetune", "features", "adapt", "grid")),
        ("[finetune]\n[[variant]]\nfeatures = 3\n", "features is 3"),
        ("[features]\n[grid.features]\ndropout = {uniform = [0, 0.5]}\n", "a grid has lists"),
        ("[finetune]\n[[variant]]\ntasks = ['labels']\n", "no [[variant]]"),
        ("[finetune]\n[corpora]\na = {data = 'sample', name = 'x'}\n", "the top of the file"),
        ("name = ''\n[finetune]\n", "name is ''; it should"),
        *(
            (f"minutes = 3\n{line}\n[finetune]\n", f"if {named}")
            for line, named in (
                ("corpora = {a = 'one', b = 'two'}", "there is one text"),
                ("train_on = 'train+dev'", "runs learn from train"),
                ("grid = {seeds = 2, finetune = {epochs = [1]}}", "no seeds"),
                ("search = {trials = 2, finetune = {learning_rate = [1e-3]}}", "settings are"),
            )
        ),
    ],
)
def test_one_mistake(read, text, named):
    with pytest.raises(InputError, match=rf"trial\.toml.*{re.escape(named)}"):
        read(text)


@pytest.mark.parametrize("change", ["seeds", "=3", "features..epochs=1", "seeds.a=1"])
def test_a_wrong_change(read, change):
    with pytest.raises(InputError, match=re.escape(repr(change))):
        read("seeds = [1]\n[features]\n", change)


def test_variants_make_a_configuration_of_each_combination(read):
    experiment = read(
        "[finetune]\nepochs = 3\n"
        '[variants]\ncontext = ["sentence", "document"]\ntrain_on = ["train", "train+dev"]\n'
        '[variants.finetune]\nfreeze_to = ["none", 0, "all"]\n'
    )
    found = [
        (c.context, c.train_on, c.settings("finetune", num_layers=6).freeze_to)
        for c in experiment.configurations
    ]
    contexts, parts = ("sentence", "document"), ("train", "train+dev")
    assert found == [*itertools.product(contexts, parts, (None, 0, 6))]
    assert {c.settings("finetune").epochs for c in experiment.configurations} == {3}
    assert experiment.vary == ("context",)  # settings need no freeing


def test_corpora_and_alternatives_change_the_files_keys(read, caplog):
    text = """
        model = "cased"
        [corpora]
        en = "conll2003"
        de = { data = "conll2003-de", encoding = "latin-1", finetune.epochs = 3 }
        [finetune]
        epochs = 4
        [[variant]]
        [[variant]]
        finetune.layer_decay = 2.6
        finetune.epochs = 5
    """
    caplog.set_level("INFO")
    experiment = read(text, "corpora.en=else/where", "finetune.epochs=9")
    assert [line.count("finetune.epochs=9") for line in caplog.messages] == [1]
    found = [
        (c.data, c.language, c.encoding, s.epochs, s.layer_decay)
        for c in experiment.configurations
        for s in [c.settings("finetune")]
    ]
    assert found == [
        ("else/where", "en", "utf-8", 9, 1.0),
        ("else/where", "en", "utf-8", 5, 2.6),
        ("conll2003-de", "de", "latin-1", 3, 1.0),
        ("conll2003-de", "de", "latin-1", 5, 2.6),
    ]
    assert experiment.vary == ("corpus",)
    one = read('[corpora]\nen = "conll2003"\n[finetune]\n')
    assert (one.vary, one.differing) == ((), ({},))
    two = '[corpora]\nall = "squad"\nsome = { data = "squad", answerable = true }\n[finetune]\n'
    assert read(two).vary == ("corpus",)  # one folder, two readings
    tasks = '[corpora]\na = "a"\nb = { data = "b", task = "labels" }\n[[variant]]\n[finetune]\n'
    named = f'{tasks}[[variant]]\ncorpora = ["b"]\nfinetune.epochs = 1\n'
    tasks_of = [(c.data, c.task) for c in read(named).configurations]
    assert tasks_of == [("a", "entities"), *2 * [("b", "labels")]]
    assert read("folds = 2\n[variants]\nfold = [1, 2]\n[finetune]\n").vary == ("corpus",)


@pytest.mark.parametrize("change", ["data=x", "language=de", "finetune.epochs=9", "seeds=2"])
def test_a_change_without_effect_is_told(read, caplog, change):
    corpora = '[corpora]\nen = "one"\nde = "two"\n[finetune]\n[[variant]]\n[[variant]]\n'
    caplog.set_level("INFO")
    read(f"{corpora}[variant.grid]\nseeds = [7]\nfinetune.epochs = [1, 2]\n", change)
    assert len(caplog.messages) == (change != "seeds=2")


def test_a_grid_is_tried_for_the_rows_of_its_table(read):
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
    first, second = read(text).configurations
    assert [tries(c, "features") for c in (first, second)] == [[], []]
    assert first.grid.seeds == [7]
    settings = [(c.context, c.settings("finetune")) for c in tries(second, "finetune")]
    tried = [(context, s.batch_size, s.learning_rate) for context, s in settings]
    assert tried == [("document", batch, rate) for batch in (16, 32) for rate in (2e-5, 3e-5, 5e-5)]


def test_train_sizes_are_laid_over_every_configuration(read):
    experiment = read(
        "[features]\n[finetune]\n[train_sizes]\nshares = [0.25, 1]\n"
        '[variants]\ncontext = ["sentence", "document"]\n'
        "[grid.finetune]\nepochs = [2, 3]\n"
    )
    expected = [(c, share) for c in ("sentence", "document") for share in (0.25, 1.0)]
    for table in ("features", "finetune"):
        found = [(c.context, c.settings(table).train_share) for c in experiment.configurations]
        assert found == expected
    # Each share has a search of its own.
    tried = [tries(c, "finetune") for c in experiment.configurations]
    shares = [[one.settings("finetune").train_share for one in point] for point in tried]
    assert shares == [[0.25, 0.25], [1.0, 1.0]] * 2
    assert experiment.vary == ("context",)  # settings need no freeing


def test_shots_are_laid_over_every_configuration(read):
    text = '[features]\nbody = "linear"\n[finetune]\n'
    experiment = read(f"shots = [8, 16]\n{text}")
    assert experiment.differing == ({"shots": 8}, {"shots": 16})
    for table in ("features", "finetune"):
        assert [c.settings(table).shots for c in experiment.configurations] == [8, 16]
    (single,), (whole,) = (read(t).configurations for t in (f"shots = 8\n{text}", text))
    assert single.settings("finetune").shots == 8
    assert whole.settings("finetune").used() == defaults("full").used()


def test_a_key_that_only_one_configuration_has_tells_it_from_the_other(read):
    for key, value in (("context", "document"), ("finetune.layer_decay", 2.6)):
        experiment = read(f"[finetune]\n[[variant]]\n[[variant]]\n{key} = {value!r}\n")
        assert experiment.differing == ({}, {key: value})


def test_a_head_on_a_tuned_encoder_may_have_the_encoder_s_rate(read):
    rows = read("[variants.finetune]\nhead_learning_rate = ['none', 1e-3]\n").configurations
    assert [c.settings("finetune").head_learning_rate for c in rows] == [None, 1e-3]


def test_each_share_has_as_many_steps_or_as_many_epochs(read):
    text = "[features]\nepochs = 5\n[finetune]\n[train_sizes]\nshares = [0.1, 0.3, 1.0]\n"

    def passes(experiment: Experiment, table: str) -> list[int]:
        rows = [c.settings(table) for c in experiment.configurations]
        assert len({settings.epochs for settings in rows}) == 1
        return [settings.passes_until(settings.epochs) for settings in rows]

    assert passes(read(text), "features") == [50, 17, 5]
    default = defaults("full").epochs
    assert passes(read(text), "finetune") == [10 * default, math.ceil(default / 0.3), default]
    assert passes(read(text, 'train_sizes.equal="epochs"'), "features") == [5, 5, 5]
    searched = text.replace("epochs = 5", "") + "[grid.features]\nepochs = [5, 6]\n"
    tried = [c.settings("features") for c in tries(read(searched).configurations[0], "features")]
    assert [settings.passes_until(settings.epochs) for settings in tried] == [50, 60]
    part = "equal_steps = true\n[features]\nepochs = 4\ntrain_share = 0.5\n"
    assert passes(read(part), "features") == [8]
