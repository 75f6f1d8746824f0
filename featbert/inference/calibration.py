"""Temperature scaling of a finished run: its logits are divided by a number chosen on dev.

The temperature has the highest likelihood of dev's gold answers, given the probabilities that the
run kept. Answers do not change. A CRF's scores of sequences are divided, by the temperature of its
marginal probabilities.

Source: Guo et al. 2017.
"""

import dataclasses

import numpy as np

from featbert.errors import InputError
from featbert.runs.run import UsableRun


def calibrated(run: UsableRun) -> UsableRun:
    """The run with a temperature in its record, by which `load` divides its logits.

    InputError if the task has no probabilities of a few possible answers, MissingError if the run
    kept no probabilities of dev.
    """
    task, record = run.task, run.record
    if not task.probability_columns:
        raise InputError(
            f"needs probabilities of classes, which {task.title} have not", setting="calibrate"
        )
    shares, predictions = run.probabilities("dev").astype(float), run.predictions("dev")
    if task.of_texts and task.groups(()) is None:  # the file of probabilities has all texts
        shares = shares[np.array(predictions.numbers) - 1]
    elif sum(map(len, predictions.gold)) != len(shares):
        raise InputError(f"some examples of dev have no answer to calibrate {run.name} on")
    forecasts = task.forecasts(
        predictions.gold, shares, record.targets.classes, record.signature.tag_scheme
    )
    temperature = forecasts.temperature()
    threshold = task.scaled_threshold(record.threshold, temperature)
    changed = dataclasses.replace(record, temperature=temperature, threshold=threshold)
    return dataclasses.replace(run, record=changed)
