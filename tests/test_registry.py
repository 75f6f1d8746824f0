"""The registries: what is listed exists, and names that are not listed are errors."""

import pytest

import featbert
from featbert.cli.main import COMMANDS
from featbert.encoders.tunings import TUNINGS
from featbert.errors import InputError
from featbert.models.registry import BODIES, OUTPUTS, TRAINERS
from featbert.registry import Entry, Registry
from featbert.report.figures.registry import FIGURES
from featbert.tasks.base import TASKS, Task, get_task
from featbert.tasks.entities import Entities


@pytest.mark.parametrize(
    "registry", [TASKS, TUNINGS, BODIES, OUTPUTS, TRAINERS, FIGURES, COMMANDS, featbert.PUBLIC]
)
def test_every_name_has_an_object(registry: Registry[Entry]) -> None:
    for name in registry:
        assert registry.load(name) is not None
    unknown = [*registry][-1] + "x"
    with pytest.raises(InputError, match=f"'{unknown}'.*'{unknown[:-1]}'"):
        registry.load(unknown)


def test_tasks_have_their_name_and_their_measure_first() -> None:
    for name in TASKS:
        task = get_task(name)
        assert (task.name, next(iter(task.columns))) == (name, task.measure.key)


def test_a_task_without_an_answer_to_what_all_must_answer_cannot_be_made() -> None:
    methods = {**vars(Entities), "score": Task.score}
    with pytest.raises(TypeError, match="score"):
        type("Unscored", (Entities,), methods)()
