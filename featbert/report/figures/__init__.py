"""Figures of comparisons, drawn with matplotlib: a file each, found by name in `registry.py`."""
