"""featbert and other programs on the same files, each with the settings that it recommends.

    python -m benchmarks.compared wikigold polarity shots --model FOLDER --corpora corpora \
        --python flair=VENV/bin/python --python setfit=VENV/bin/python

Each program runs in a process and an environment of its own. It reads the same JSON files and
writes its predictions of test, which are scored here: entity F1 by seqeval, accuracy for classes.
Seconds are those of the processor (user and system) of the whole process, with one thread, from
start to predictions. Memory is the largest that the process held.
"""
