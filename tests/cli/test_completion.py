"""What a shell is offered for a value, asked as a shell asks."""

from pathlib import Path

from featbert.encoders.layers import NAMES
from featbert.experiments.published import published_tables
from featbert.report.figures.registry import FIGURES
from featbert.runs.run import find_runs
from featbert.tasks.base import TASKS, get_task
from tests.processes import HEAVY, python

# As the script of `featbert --show-completion` calls it, in one process for all questions.
ASK = f"""
import io, os, sys, contextlib
from featbert.cli.main import app
for question in sys.argv[1:]:
    words = question.split(" ")
    os.environ |= {{
        "_FEATBERT_COMPLETE": "complete_bash",
        "COMP_WORDS": "\\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }}
    with contextlib.suppress(SystemExit):
        app(prog_name="featbert")
    print("--")
print(*(name for name in {HEAVY} if name in sys.modules))
"""


def offered(*questions: str, cwd: Path) -> tuple[list[list[str]], list[str]]:
    """The answers to what was typed so far, and the heavy libraries that were loaded."""
    *answers, loaded = python(ASK, *questions, cwd=cwd).stdout.split("--\n")
    return [answer.split() for answer in answers], loaded.split()


def test_values_that_exist_here(finished, tmp_path):
    (tmp_path / "cache").symlink_to(finished.cache)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.toml").touch()
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "trial.experiment.json").touch()
    names = [run.name for run in find_runs(finished.runs)]
    (store,) = (f"cache/{path.name}" for path in finished.cache.glob("*.h5"))
    asked = {
        "featbert tra": ["train"],
        "featbert train --model all": ["all-MiniLM-L6-v2"],
        "featbert train --schedule ": ["linear", "constant"],
        "featbert train --layers ": list(NAMES),
        "featbert inspect ": [store],
        f"featbert predict --runs-dir {finished.runs} {names[0][:-3]}": [names[0]],
        "featbert compare --runs-dir records --experiment ": ["trial"],
        "featbert compare --published devlin": [
            table.id for table in published_tables() if table.id.startswith("devlin")
        ],
        "featbert compare --by ": list(
            dict.fromkeys(f for task in map(get_task, TASKS) for f in task.facets)
        ),
        "featbert compare --figure ": list(FIGURES),
        "featbert run ": ["experiments/mine.toml"],
    }
    answers, loaded = offered(*asked, cwd=tmp_path)
    assert dict(zip(asked, answers, strict=True)) == asked
    assert not {"torch", "transformers"} & set(loaded)
