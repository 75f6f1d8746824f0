"""The task that a text suits, by its first examples."""

import contextlib
import dataclasses
import math
import re
from itertools import chain

from featbert.data.answers import number_of
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.data.notation import OUTSIDE
from featbert.data.options import ReadingOptions
from featbert.errors import FormError, InputError, spelling
from featbert.progress import notice, silent
from featbert.tasks.base import TASKS, get_task

_PLACE = re.compile(r"\b(?:line|row|question) \d+ of ")
# Examples of each part that show it.
SHOWN = 200


def suited_task(data: str, reading: ReadingOptions) -> str:
    """The task that the first examples of a text fit. InputError if none fits.

    Texts with a separator in a class have several. What the trials notice is not shown.
    """
    suited, reasons = _tried(data, reading)
    if not suited:
        # Tasks that found their columns say what is wrong: a part, or else a value.
        specific = (str(e) for e in reasons.values() if not isinstance(e, FormError))
        reason = min(specific, key=lambda text: bool(_PLACE.search(text)), default=None)
        forms = [reasons["classification"], *reasons.values()]
        form = min(forms, key=lambda error: bool(error.setting))  # not an option of another task
        option_errors = [e for e in reasons.values() if e.setting and isinstance(e, FormError)]
        options = {str(error.setting) for error in option_errors}
        usual = {name: getattr(ReadingOptions(), name) for name in options}
        if options and not reason and _tried(data, dataclasses.replace(reading, **usual))[0]:
            form = option_errors[0]  # without the option the text fits a task
        raise InputError(f"{data} fits no task: {reason or form}")
    of_texts = {name: corpus for name, corpus in suited.items() if get_task(name).of_texts}
    suited = of_texts or suited  # a column of texts has no words
    task = next(iter(suited))
    labels = {name: get_task(name).classes_of(corpus) for name, corpus in suited.items()}
    if task == "entities" and "labels" in suited:
        sentences = chain.from_iterable(suited[task].splits.values())
        if not any("O" in (sentence.tags or ()) for sentence in sentences):
            return "labels"  # every word has one, such as its part of speech
        if {*OUTSIDE}.isdisjoint(map(str.lower, labels["labels"])):  # of another column
            notice(f"{data} fits labels, too: {spelling('task', 'labels')}")
        return task
    classes = labels.get("classification", ())
    are_several = any(reading.class_separator in name for name in classes)
    if task == "classification" and "multilabel" in suited and are_several:
        task, other_task = "multilabel", "classification"
    elif {"classification", "regression"} <= suited.keys():
        if _are_scores(suited["classification"]):
            with silent(), contextlib.suppress(InputError):
                # Whole numbers that repeat later, if not within the first examples, are classes.
                if all(number_of(name).is_integer() for name in classes):
                    suited["classification"] = load_corpus(
                        data, reading, targets=get_task(task).targets
                    )
            task = "regression" if _are_scores(suited["classification"]) else task
        other_task = "regression" if task == "classification" else "classification"
    else:
        return task
    notice(f"{data} fits {other_task}, too: {spelling('task', other_task)}")
    return task


def _tried(data: str, reading: ReadingOptions) -> tuple[dict[str, Corpus], dict[str, InputError]]:
    """The first examples by task that they fit, and for each other task the reason."""
    suited, reasons = dict[str, Corpus](), dict[str, InputError]()
    part = dataclasses.replace(reading, limit=min(SHOWN, reading.limit or SHOWN))
    for name in TASKS:
        try:
            with silent():
                suited[name] = load_corpus(data, part, targets=get_task(name).targets)
        except InputError as error:
            reasons[name] = error
    return suited, reasons


def _are_scores(corpus: Corpus) -> bool:
    """Whether the classes of a corpus are numbers, with decimals or most of them once."""
    classes = get_task("classification").classes_of(corpus)
    n_examples = max(map(len, corpus.splits.values()))
    numbers = [number_of(name) for name in classes]
    are_varied = 2 * len(classes) > n_examples or not all(n.is_integer() for n in numbers)
    return are_varied and not any(map(math.isnan, numbers))
