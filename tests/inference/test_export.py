"""Exported folders answer as their runs did: by transformers alone, and by featbert alone."""

import ast
import contextlib
import dataclasses
import functools
import json
import re
import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file

import featbert
from featbert.config import RowsTable
from featbert.data.load import load_corpus
from featbert.errors import InputError, MissingError
from featbert.inference import onnx_model
from featbert.inference.export import export
from featbert.runs.run import Run, check_usable, find_run
from featbert.tasks.base import get_task
from tests.corpora import CORPORA
from tests.features.support import FP32
from tests.runs import finished_runs
from tests.tiny_encoders import write_encoder
from tests.workspace import command, error_of, finetune, ok, train, write_splits


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A tuned run of a task on an encoder of 128 positions, made when it is asked for."""
    root = tmp_path_factory.mktemp("tuned")
    model = write_encoder(root / "encoder", layers=2, positions=128)

    @functools.cache
    def corpus_of(task: str):
        return load_corpus(CORPORA[task](root / task), targets=get_task(task).targets)

    @functools.cache
    def of(task: str, tuning: str = "full", **given) -> Run:
        return tuned_run(model, corpus_of(task), root / "runs", task, tuning, **given)

    return of


def tuned_run(model, corpus, folder, task="entities", tuning="full", **given) -> Run:
    output = {"output": "softmax"} if task == "entities" else {}  # transformers has no CRF
    table = RowsTable(**{"epochs": 3, "learning_rate": 1e-2} | output | given)
    options = {"task": task, "settings": table.settings_for(tuning, 2, task), "runs_dir": folder}
    return finetune(corpus, str(model), **options, device="cpu", precision="fp32")


def exported(run: Run, folder: Path, *words: str) -> Path:
    ok(command("export", run.folder, folder, "-q", *words))
    return folder


def part(run: Run, name: str = "test"):
    """A part of the text that a run was trained on."""
    return load_corpus(run.record.signature.source, targets=run.task.targets)[name]


def answers_of(folder: Path, run: Run) -> list:
    """Answers on test of what was exported."""
    loaded, split = featbert.load(folder, device="cpu"), part(run)
    return loaded.answers(loaded.inputs(split.sentences), split)


def asked(run: Run):
    """What the run was asked on test, as `predict` takes it."""
    split = part(run)
    if not run.task.of_texts:
        return [sentence.words for sentence in split]
    if run.task.name != "choice":
        return [sentence.texts if sentence.pair else sentence.texts[0] for sentence in split]
    groups: dict[int, list] = {}
    for sentence in split:
        groups.setdefault(sentence.document, []).append(sentence.texts)
    return [(rows[0][0], [choice for _, choice in rows]) for rows in groups.values()]


def by_transformers(run: Run, made: dict, given: list) -> list:
    """Answers as the run's predictions have them, by what the card's code has made."""
    if "classify" not in made:  # a pipeline
        model = made["model"].eval()

        def logits_of(batch: dict, *names: str) -> list:
            with torch.no_grad():
                output = model(**{name: torch.from_numpy(ids) for name, ids in batch.items()})
            return [output[name].numpy() for name in names]

        classes = [*model.config.id2label.values()]
        return by_hand(run, made["tokenizer"], given, logits_of, classes)
    if isinstance(given[0], tuple):
        given = [{"text": first, "text_pair": second} for first, second in given]
    if run.task.name == "multilabel":
        classes = run.record.targets.classes
        limits = dict(zip(classes, np.broadcast_to(run.record.threshold, 3), strict=True))
        rows = made["classify"](given, top_k=None)
        above = [[d["label"] for d in row if d["score"] > limits[d["label"]]] for row in rows]
        return [["|".join(sorted(names))] for names in above]
    key = "label" if run.task.name == "classification" else "score"
    return [[row[key]] for row in made["classify"](given)]


def best_span(start, end, encoded, number, offsets, passage) -> tuple:
    """The best span of words of a row of a batch, by brute force over first pieces."""
    words = encoded.word_ids(number)
    second = [i for i, s in enumerate(encoded.sequence_ids(number)) if s == 1]
    firsts = [i for i in second if words[i] != words[i - 1]]
    ends = {w: offsets[i][1] for i, w in enumerate(words) if i in second}
    spans = [(float(start[i] + end[j]), i, j) for i in firsts for j in firsts if j >= i]
    score, i, j = max(spans)
    begin = offsets[i][0]
    return score - float(start[0] + end[0]), begin, passage[begin : ends[words[j]]]


def by_hand(run: Run, tokenizer, given: list, logits_of, classes) -> list:
    """Answers from logits of padded batches, as the run's predictions have them."""
    task, how = run.task.name, {"return_tensors": "np", "padding": True}
    if task == "choice":
        rows = []
        for context, choices in given:
            batch = tokenizer([context] * len(choices), choices, **how)
            (scores,) = logits_of({name: ids[None] for name, ids in batch.items()}, "logits")
            rows.append([str(int(i == scores[0].argmax())) for i in range(len(choices))])
        return rows
    if not run.task.of_texts:
        words = [list(row) for row in given]
        batch = tokenizer(words, is_split_into_words=True, **how)
        best = logits_of(dict(batch), "logits")[0].argmax(-1)
        firsts = [map(batch.word_ids(n).index, range(len(row))) for n, row in enumerate(words)]
        return [[classes[best[n, i]] for i in row] for n, row in enumerate(firsts)]
    columns = [*map(list, zip(*given, strict=True))] if isinstance(given[0], tuple) else [given]
    batch = tokenizer(*columns, return_offsets_mapping=True, **how)
    offsets = batch.pop("offset_mapping").tolist()
    if task == "spans":
        start, end = logits_of(dict(batch), "start_logits", "end_logits")
        return [
            [best_span(start[n], end[n], batch, n, offsets[n], passage)]
            for n, (_, passage) in enumerate(given)
        ]
    (logits,) = logits_of(dict(batch), "logits")
    if task == "regression":
        return logits.tolist()
    if task == "multilabel":
        above = 1 / (1 + np.exp(-logits)) > np.asarray(run.record.threshold)
        return [["|".join(sorted(np.array(classes)[is_above]))] for is_above in above]
    return [[classes[i]] for i in logits.argmax(-1)]


def by_onnxruntime(run: Run, made: dict, texts: list) -> list:
    """Answers of the card's session and numpy, all texts as one padded batch."""
    inputs = [node.name for node in made["session"].get_inputs()]
    assert inputs == ["input_ids", "attention_mask", "token_type_ids"]  # of BERT

    def logits_of(batch: dict, *names: str) -> list:
        return made["session"].run(names, batch)

    return by_hand(run, made["tokenizer"], texts, logits_of, run.record.targets.classes)


def assert_answers(run: Run, found: list) -> None:
    """What transformers or onnxruntime found is what the run predicted."""
    task, kept = run.task.name, run.predictions("test").predicted
    if task == "regression":
        scores = [[pytest.approx(float(score), abs=1e-4)] for (score,) in kept]
        assert found == scores
    elif task == "spans":
        threshold = run.record.threshold
        texts = [[f"{at}:{text}" if over > threshold else ""] for ((over, at, text),) in found]
        assert texts == kept
    else:
        assert found == kept


def carry_out_card(folder: Path) -> dict:
    """Runs each block of a card's code by itself, next to its folder; the names of all blocks."""
    card, names = (folder / "README.md").read_text("utf-8"), {}
    with contextlib.chdir(folder.parent):
        for code in re.findall(r"^```python\n(.*?)^```", card, re.M | re.S):
            exec(code, block := {})
            names |= block
    return names


@pytest.mark.parametrize("task", CORPORA)
def test_a_tuned_run_answers_by_transformers_onnxruntime_and_featbert(
    tuned, tmp_path, monkeypatch, task, capsys
):
    """The weights of one model are in a file of their own, as for 2 GiB and more."""
    if task == "regression":
        monkeypatch.setattr(onnx_model, "LARGEST_FILE", 0)
    run = tuned(task)
    has_onnx = find_spec("onnxscript") is not None and task != "labels"  # as for entities
    folder = exported(run, tmp_path / "out", *["--onnx"] * has_onnx)
    given, kept, made = asked(run), run.predictions("test").predicted, carry_out_card(folder)
    first, *others = capsys.readouterr().out.splitlines()  # the answers of the card's blocks
    if task in ("spans", "choice"):
        by_featbert = ast.literal_eval(first)
        answer = by_featbert["answer"]
        expected = answer or "(no answer)" if task == "spans" else by_featbert["choices"][answer]
        assert others == [expected] * (1 + has_onnx)
    if task == "multilabel":
        by_pipeline = {row["label"]: row["score"] for row in ast.literal_eval(others[0])}
        assert by_pipeline == pytest.approx(ast.literal_eval(first)["probabilities"], abs=1e-4)
    assert_answers(run, by_transformers(run, made, given))
    if has_onnx:
        assert_answers(run, by_onnxruntime(run, made, given))
        assert (folder / "model.onnx.data").is_file() == (task == "regression")
    again, before = featbert.load(folder, device="cpu"), featbert.load(run, device="cpu")
    assert again.predict(given) == before.predict(given)
    assert again.predict(given[0]) == again.predict(given[:1])[0]
    assert answers_of(folder, run) == kept


def test_the_exporter_of_onnx_gets_calibrated_logits(tuned, tmp_path, monkeypatch):
    """It is replaced by one that keeps them."""
    logits = []
    monkeypatch.setattr("featbert.inference.export.check_installed", lambda: None)
    monkeypatch.setattr(
        "featbert.inference.export.write_onnx",
        lambda model, inputs, *_: logits.append(model(**inputs).logits.detach()),
    )
    run = tuned("classification")
    exported(run, tmp_path / "plain", "--onnx")
    exported(run, tmp_path / "scaled", "--onnx", "--calibrate")
    temperature = featbert.load(run, calibrate=True).record.temperature
    torch.testing.assert_close(logits[1] * temperature, logits[0])


def test_another_model_for_onnxruntime_is_refused(tuned, tmp_path, monkeypatch):
    """With other logits, or none: the exporter is replaced by one that fails."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    names = ("input_ids", "attention_mask", "token_type_ids")
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18]> ids '
        f"({', '.join(f'int64[batch, sequence] {name}' for name in names)})"
        " => (float[batch, sequence] logits) { logits = Cast <to = 1> (input_ids) }"
    )

    def fail(*_args, **_options) -> None:
        raise RuntimeError("no such operator")

    run = check_usable(tuned("classification"))
    for exporter, reason in (
        (lambda _model, _args, path, **_options: onnx.save(model, path), "logits"),
        (lambda _model, _args, path, **_options: path.write_bytes(b"no model"), "onnxruntime"),
        (fail, "no such operator"),
    ):
        monkeypatch.setattr(torch.onnx, "export", exporter)
        with pytest.raises(InputError, match=rf"{run.name}.*{reason}"):
            export(run, tmp_path / "out", "transformers", card="", onnx=True)
        assert list(tmp_path.iterdir()) == []


def test_what_a_format_cannot_hold_is_refused(tuned, both, tmp_path, monkeypatch):
    """Other readings of words, adapters that a run has not, heads that transformers lacks."""
    usable, out = check_usable(tuned("entities")), tmp_path / "out"
    for changed in ({"pooling": "mean"}, {"casing": "truecased"}):
        signature = dataclasses.replace(usable.record.signature, **changed)
        record = dataclasses.replace(usable.record, signature=signature)
        with pytest.raises(InputError, match=r"featbert\.load"):
            export(dataclasses.replace(usable, record=record), out, "transformers", card="")
    monkeypatch.setattr(onnx_model, "find_spec", str)
    frozen_crf = crf_run(tmp_path.with_name("frozen"), both["none"])
    for run, words, part in (
        (usable, "--format peft", "--format transformers"),
        (usable, "--format featbert --onnx", "--onnx"),
        (both["none"], "--format transformers", "featbert.load"),
        (both["none"], "--onnx", "featbert.load"),
        (tuned("entities", output="crf"), "--onnx", "--output softmax"),
        (frozen_crf, "--onnx", "featbert.load"),
    ):
        error = error_of(command("export", run.folder, out, *words.split()))
        assert part in error
        assert ("softmax" in error) == ("softmax" in part)
    monkeypatch.setattr(onnx_model, "find_spec", lambda name: name != "onnxscript" or None)
    error = error_of(command("export", usable.folder, out, "--onnx"))
    assert ("onnxscript" in error, "featbert[onnx]" in error) == (True, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_words_with_inner_signs_have_the_tags_of_predict(tmp_path, capsys, family):
    """By the card's own code: transformers' pipeline would cut these words."""
    sentence = "O'Brien and Jean-Claude saw U.S. ( C++ ) ."
    rows = [(sentence, "B-PER O B-PER O B-LOC O B-MISC O O"), ("Rome is", "B-LOC O")] * 4
    corpus = write_splits(tmp_path / "corpus", rows, rows, rows)
    model = write_encoder(tmp_path / "encoder", family, layers=2, positions=128)
    given = {"epochs": 20, "learning_rate": 3e-3, "batch_size": 4}
    run = tuned_run(model, load_corpus(corpus), tmp_path / "runs", **given)
    folder = exported(run, tmp_path / "out")
    card = folder / "README.md"
    shown, count = re.subn(
        r"^words = .*\.split", f"words = {sentence!r}.split", card.read_text(), flags=re.M
    )
    assert count == 1
    card.write_text(shown)
    capsys.readouterr()
    carry_out_card(folder)
    words = sentence.split()
    printed = capsys.readouterr().out.splitlines()[-len(words) :]
    wanted = featbert.load(run, device="cpu").predict(tuple(words))["tags"]
    assert printed == [f"{word}\t{tag}" for word, tag in zip(words, wanted, strict=True)]
    assert len(set(wanted)) > 2


@pytest.mark.parametrize(
    ("task", "tuning", "given"),
    [("classification", "lora", {"rank": 2, "dora": True}), ("entities", "ia3", {})],
)
def test_adapters_are_merged_or_stay_as_peft_has_them(tuned, tmp_path, task, tuning, given):
    """By peft and transformers alone, as the card says; the encoder's own weights stay out."""
    run = tuned(task, tuning, **given)
    texts, kept = asked(run), run.predictions("test").predicted
    merged = exported(run, tmp_path / "merged")
    assert not [name for name in load_file(merged / "model.safetensors") if tuning in name]
    folder = exported(run, tmp_path / "adapter", "--format", "peft")
    config = json.loads((folder / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == run.record.model_source
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        for place in (merged, folder):
            assert_answers(run, by_transformers(run, carry_out_card(place), texts))
    names = load_file(folder / "adapter_model.safetensors")
    assert all(tuning in n or ".classifier." in n or ".pooler." in n for n in names)
    assert answers_of(merged, run) == answers_of(folder, run) == kept


@pytest.mark.parametrize("with_encoder", [False, True])
def test_a_run_on_features_answers_by_itself(both, tmp_path, with_encoder):
    """With the encoder in the folder, nothing else is needed."""
    run = both["none"]
    folder = exported(run, tmp_path / "out", *["--with-encoder"] * with_encoder)
    weights = {(one / "weights.safetensors").read_bytes() for one in (folder, run.folder)}
    assert len(weights) == 1
    assert (folder / "encoder").is_dir() == with_encoder
    moved = folder.rename(tmp_path / "moved")
    found = find_run(str(moved), "elsewhere")
    source = check_usable(found).source
    assert source.folder == (moved / "encoder" if with_encoder else Path(run.record.model_source))
    again = check_usable(find_run(str(exported(found, tmp_path / "again")), "elsewhere"))
    assert again.source.folder == source.folder
    with pytest.raises(InputError, match="moved"):  # which it is read from
        export(check_usable(found), moved, "featbert", card="", overwrite=True)
    text = "Jordan Smith's of Chelsea."
    row = featbert.load(moved, device="cpu").predict(text)
    assert row == featbert.load(run, device="cpu").predict(text)
    assert [text[a:b] for a, b in row["offsets"]] == list(row["tokens"])
    rows = featbert.load(moved, device="cpu").predict(run.predictions("test").words)
    assert [list(row["tags"]) for row in rows] == run.predictions("test").predicted


NO_TEXTS = {
    "classification": (7, ("a", "b")),
    "regression": ("one text", ["a", {"x": 1}]),
    "choice": (("a", "b"),),
    "spans": (("a", "b", "c"),),
    "entities": (7, [["a", 7]], [["a", "\ud800"]]),
}


@pytest.mark.parametrize("task", NO_TEXTS)
def test_what_is_no_text_of_the_task_is_refused_and_a_dict_is_read_as_a_row(tuned, task):
    loaded = featbert.load(tuned(task), device="cpu")
    for given in NO_TEXTS[task]:
        with pytest.raises(InputError):
            loaded.predict(given)
    assert loaded.predict([]) == []
    if task == "spans":
        row = {"question": "Who jumps ?", "context": "Smith jumps the lazy dog", "id": "q7"}
        found = loaded.predict(row)
        assert found["id"] == "q7"
        assert found["answer"] == loaded.predict((row["question"], row["context"]))["answer"]


def test_a_head_that_transformers_lacks_is_exported_for_featbert(tuned, tmp_path):
    """And it is said. With a format that is named, it is refused (see above).

    The command for an export works when it is pasted.
    """
    run = tuned("entities", output="crf")
    done = ok(command("export", run.folder, tmp_path / "out"))
    assert "CRF" in done.stderr
    text = "Ada Lovelace was born in London."
    rows = [featbert.load(place, device="cpu").predict(text) for place in (tmp_path / "out", run)]
    assert rows[0] == rows[1]
    assert not (tmp_path / "out" / "config.json").exists()
    folder = tmp_path / "my export"
    done = ok(command("export", tuned("entities").folder, folder))
    assert "CRF" not in done.stderr
    assert f"featbert predict {shlex.quote(str(folder))} " in done.stdout
    assert (folder / "config.json").exists()


def test_only_an_export_is_replaced_and_a_damaged_one_is_refused(tuned, tmp_path):
    usable, folder = check_usable(tuned("classification")), tmp_path / "out"
    folder.mkdir()  # an empty one is free
    export(usable, folder, "featbert", card="first")
    with pytest.raises(InputError, match="overwrite"):
        export(usable, folder, "featbert", card="second")
    assert (folder / "README.md").read_text("utf-8") == "first"
    export(usable, folder, "transformers", card="second", overwrite=True)
    assert (folder / "README.md").read_text("utf-8") == "second"
    head = {"output.classifier.weight", "output.classifier.bias"}
    assert {*load_file(folder / "weights.safetensors")} == head
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(InputError, match="out"):
        featbert.load(folder)
    path = folder / "featbert.json"
    path.write_text(path.read_text("utf-8").replace('"seed": 1', '"seed": 9'), "utf-8")
    with pytest.raises(InputError, match=r"featbert\.json"):
        featbert.load(folder)


@pytest.mark.parametrize("task", ["entities", "choice"])
def test_the_card_has_scores_and_no_text(tuned, tmp_path, task):
    run = tuned(task)
    card = ModelCard.load(exported(run, tmp_path / "out") / "README.md")
    assert {one.dataset_split: one.metric_value for one in card.data.eval_results} == {
        split: pytest.approx(run.record.score(split), abs=1e-6) for split in ("dev", "test")
    }
    assert {one.metric_type for one in card.data.eval_results} == {run.task.measure.key}
    line, *_ = (line.split(" | ") for line in card.text.splitlines() if line.startswith("| test"))
    has_interval = task != "entities"  # each sentence has the same score
    assert has_interval == ("[" in line[4])
    if has_interval:
        low, high = map(float, line[4].strip("\\[] ").split(", "))
        assert 100 * run.task.measure.lowest <= low <= float(line[3]) <= high <= 100
    words = {word for row in run.predictions("test").words for word in row}
    assert not {word for word in words if len(word) > 6} & {*card.text.replace("|", " ").split()}
    assert run.record.signature.source not in card.content


@pytest.mark.parametrize("task", ["classification", "multilabel", "choice", "labels"])
def test_calibrated_logits_are_divided_and_no_answer_changes(tuned, tmp_path, task):
    run = tuned(task)
    plain, scaled = featbert.load(run), featbert.load(run, calibrate=True)
    temperature = scaled.record.temperature
    assert abs(temperature - 1) > 0.01
    split = part(run, "dev")
    results = [loaded.shares(loaded.inputs(split.sentences), split) for loaded in (plain, scaled)]
    assert results[0][0] == results[1][0] == run.predictions("dev").predicted
    facts = run.record.targets.classes, run.record.signature.tag_scheme
    before, after = (run.task.forecasts(run.task.gold(split), s, *facts) for _, s, _ in results)
    assert after.loss() == pytest.approx(before.loss(temperature), abs=5e-3)
    assert after.loss() < before.loss()
    given = asked(run)
    folders = [
        exported(run, tmp_path / name, *words)
        for name, words in (("a", ()), ("b", ("--calibrate",)))
    ]
    heads = [load_file(folder / "weights.safetensors") for folder in folders]
    for name, weight in heads[0].items():
        torch.testing.assert_close(heads[1][name] * temperature, weight)
    assert_answers(run, by_transformers(scaled, carry_out_card(folders[1]), given))
    again = featbert.load(folders[1])
    assert again.record.temperature is None
    np.testing.assert_allclose(
        again.shares(again.inputs(split.sentences), split)[1], results[1][1], atol=1e-5
    )
    assert again.predict(given) == scaled.predict(given)
    with pytest.raises(MissingError):
        featbert.load(folders[1], calibrate=True)


@pytest.mark.parametrize("task", ["regression", "spans"])
def test_what_has_no_probabilities_of_classes_cannot_be_calibrated(tuned, task):
    with pytest.raises(InputError, match="calibrate"):
        featbert.load(tuned(task), calibrate=True)


def crf_run(folder: Path, like: Run) -> Run:
    corpus = finished_runs.corpus_of(like)
    store = featbert.extract(corpus, like.record.model_source, cache_dir=folder, **FP32)
    settings = finished_runs.STORED.but(output="crf")
    return train(store, "last", data=corpus, settings=settings, runs_dir=folder / "runs", **FP32)


@pytest.mark.parametrize("output", ["crf", "softmax"])
def test_a_run_on_features_is_calibrated_when_it_predicts_and_in_its_export(both, tmp_path, output):
    run = both["none"] if output == "softmax" else crf_run(tmp_path, both["none"])
    text = tmp_path / "text.txt"
    text.write_text("Jordan Smith beat Washington\n", "utf-8")
    rows = []
    for words in ((), ("--calibrate",)):
        done = command("predict", run.folder, text, "--format", "jsonl", "-q", *words)
        (line,) = ok(done).stdout.splitlines()
        rows.append(json.loads(line))
    assert rows[0]["tags"] == rows[1]["tags"]
    assert rows[0]["probabilities"] != rows[1]["probabilities"]
    loaded = featbert.load(exported(run, tmp_path / "out", "--calibrate"))
    again = loaded.predict(rows[0]["text"])
    assert again["tags"] == rows[1]["tags"]
    assert again["probabilities"] == pytest.approx(rows[1]["probabilities"], abs=1e-5)
