"""Scores of predictions, as records keep them."""

import dataclasses

from featbert.progress import notice
from featbert.tasks.base import Rows, Scores, Task


def scores_of(task: Task, gold: Rows, predicted: Rows, words: int) -> Scores:
    """Scores of a split with so many words. A notice names undefined values."""
    answered, predictions = task.scored(gold, predicted)
    for doubt in task.doubts(answered, predictions):
        notice(doubt)
    return dataclasses.replace(task.score(answered, predictions), words=words)
