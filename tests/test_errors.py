"""One error is spelled as its user gives settings: in Python, commands and experiment files."""

import pickle
import re

import pytest

from featbert.config import Settings, validated
from featbert.errors import OPTIONS, InputError, MissingError, as_key, spelling
from featbert.experiments.file import read_experiment
from featbert.progress import set_within
from tests.workspace import command

COMMAND = {"rank": "--rank", "mapping": "--map"}
SHARE = "train_share is 0.5 with train_on='train+dev'"


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (None, ["rank", "rank=8", "missing='-1'", "mapping='a b'"]),
        (COMMAND, ["--rank", "--rank 8", "--missing=-1", "--map 'a b'"]),
        (
            {"rank": "--rank", "changes": "--set"},
            ["--rank", "--rank 8", "--set missing=-1", "--set 'mapping=a b'"],
        ),
    ],
)
def test_notations(options, texts):
    with set_within(OPTIONS, options):
        settings = (("rank",), ("rank", 8), ("missing", "-1"), ("mapping", "a b"))
        assert [spelling(*setting) for setting in settings] == texts
        assert spelling("delimiter") == ("--delimiter" if options == COMMAND else "delimiter")
        for kind in (InputError, MissingError):
            error = kind("is 17; write rank or --rank, not 'dev_share is'", setting="rank")
            message = f"{texts[0]} is 17; write rank or --rank, not 'dev_share is'"
            assert (str(error), error.setting) == (message, "rank")
            copy = pickle.loads(pickle.dumps(error))
            assert (type(copy), str(copy), copy.setting) == (kind, message, "rank")
    assert spelling("rank") == "rank"


def test_keys_are_written_so_that_run_reads_them():
    values = {"answerable": True, "limit": 8, "text": "a b"}
    options = [as_key(name, value) for name, value in values.items()]
    assert options == ["--set answerable=true", "--set limit=8", "--set 'text=a b'"]


def shown(*arguments: object) -> str:
    result = command(*arguments)
    assert result.exit_code
    return result.stderr


def test_the_same_error_has_the_notation_of_its_place(tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text("train_share = 0.5\n[finetune]\ntrain_on = 'train+dev'\n", "utf-8")
    with pytest.raises(InputError, match=re.escape(SHARE)):
        validated(Settings, {"train_share": 0.5, "train_on": "train+dev"})
    options = "--train-share", "0.5", "--train-on", "train+dev"
    assert "--train-share is 0.5 with --train-on train+dev" in shown("train", *options)
    with pytest.raises(InputError, match=re.escape(f"[finetune]: {SHARE}")):
        read_experiment(file)
    assert SHARE in shown("run", file, "--dry-run")
