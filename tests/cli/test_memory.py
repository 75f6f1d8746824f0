"""Memory that does not suffice."""

from __future__ import annotations

import pytest
import torch

from featbert.encoders import memory
from featbert.encoders.encoder import Encoder
from featbert.encoders.source import find_encoder
from featbert.training import loop
from tests.workspace import Workspace


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("extract", "use --precision bf16, or a smaller encoder"),
        ("finetune", "train on its frozen features (featbert train), or use a smaller encoder"),
        ("train", "give a smaller --hidden-size, or a combination of fewer layers"),
        ("adapt", "use a smaller encoder"),
    ],
)
def test_what_is_hopeless_is_refused_before_the_start(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, command: str, advice: str
) -> None:
    if command == "train":
        assert workspace.extract("--quiet").exit_code == 0
    before = sorted(workspace.folder.rglob("*"))
    monkeypatch.setattr(memory, "_free", lambda device: 10_000)
    result = {
        "extract": workspace.extract,
        "finetune": workspace.finetune,
        "train": lambda: workspace.train("--layers", "last"),
        "adapt": lambda: workspace.call(
            *("adapt", "--data", workspace.corpus, "--model", workspace.model),
            *("--models-dir", workspace.folder / "models"),
        ),
    }[command]()
    assert result.exit_code == 1
    line = result.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    assert line.endswith(advice)
    left = [p for p in sorted(workspace.folder.rglob("*")) if p not in before]
    assert not [p for p in left if p.is_file()]


def test_parameters_are_counted_without_loading(workspace: Workspace) -> None:
    from featbert.encoders.encoder import load_encoder

    source = find_encoder(str(workspace.model))
    encoder = load_encoder(source)
    assert source.parameters == sum(p.numel() for p in encoder.parameters())


def test_training_that_does_not_fit_names_the_option(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Encoder.forward

    def small(encoder: Encoder, batch):
        if batch.ids.numel() > 60:
            raise torch.OutOfMemoryError("out of memory. Tried to allocate 2.00 GiB")
        return plain(encoder, batch)

    monkeypatch.setattr(Encoder, "forward", small)
    result = workspace.finetune("--epochs", "1", "--token-budget", "100")
    assert result.exit_code == 1
    assert "--token-budget" in result.stderr.splitlines()[-1]
    monkeypatch.setitem(loop.PREDICTION_FACTOR["cpu"], "encoder", 4)
    result = workspace.finetune("--epochs", "1", "--token-budget", "50")
    assert result.exit_code == 0, result.output
