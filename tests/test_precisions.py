"""The main paths where `--precision auto` means fp32, and where it means bf16, on any machine."""

import math

import pytest

from featbert.data.conll import read_conll
from featbert.encoders import device
from featbert.features.store import FeatureStore
from featbert.models import bilstm
from featbert.runs.run import find_runs
from tests.workspace import ok


@pytest.mark.parametrize(("native", "precision"), [(False, "fp32"), (True, "bf16")])
def test_the_main_paths(workspace, monkeypatch, native, precision):
    """Extraction, both ways to train, prediction and evaluation; torch emulates bf16."""
    monkeypatch.setattr(device, "has_native_bf16", lambda kind: native)
    monkeypatch.setattr(bilstm, "has_native_bf16", lambda kind: native)
    assert workspace.extract().exit_code == 0
    (store,) = map(FeatureStore, workspace.cache.glob("*.h5"))
    assert store.manifest.precision == precision
    assert store.verify() == []
    assert workspace.train("--layers", "weighted_all").exit_code == 0
    assert workspace.finetune().exit_code == 0
    runs = list(find_runs(workspace.runs))
    assert len(runs) == 2
    for run in runs:
        assert run.record.signature.encoder_precision.startswith(precision)
        assert run.record.signature.training_precision == precision
        assert all(math.isfinite(epoch.train_loss) for epoch in run.record.history)
        test = workspace.corpus / "test.conll"
        out = workspace.folder / "predicted.conll"
        where = ("--runs-dir", workspace.runs)
        assert workspace.call("predict", run.name, test, "--out", out, *where).exit_code == 0
        predicted = [list(s.tags or ()) for s in read_conll(out).sentences]
        assert predicted == run.predictions("test").predicted
        where = (*where, "--cache-dir", workspace.cache)
        ok(workspace.call("evaluate", run.name, "--data", workspace.corpus, *where))
    ok(workspace.compare())
