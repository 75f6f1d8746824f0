"""Finished runs at work: loading, prediction, evaluation, export, speed."""
