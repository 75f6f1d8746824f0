"""Experiment files, their plan, searches, the schedule and its engines."""
