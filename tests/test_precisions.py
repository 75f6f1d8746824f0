"""The main paths where `--precision auto` means bf16; elsewhere in the tests it means fp32."""

import math

from featbert.data.conll import read_conll
from featbert.encoders import device
from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from tests.workspace import ok


def test_the_main_paths(workspace, monkeypatch):
    """Extraction, both ways to train, prediction and evaluation; torch emulates bf16."""
    monkeypatch.setattr(device, "has_fast_bf16", lambda kind: True)
    assert workspace.extract().exit_code == 0
    (store,) = map(FeatureStore, workspace.cache.glob("*.h5"))
    assert store.manifest.precision == "bf16"
    assert store.verify() == []
    assert workspace.train("--layers", "weighted_all").exit_code == 0
    assert workspace.finetune().exit_code == 0
    runs = list(find_runs(workspace.runs))
    assert len(runs) == 2
    for run in runs:
        assert run.record.signature.encoder_precision.startswith("bf16")
        assert run.record.signature.training_precision == "bf16"
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
