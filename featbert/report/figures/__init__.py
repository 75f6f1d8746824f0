"""Figures, drawn with matplotlib: functions that return a `Figure` and compute nothing."""
