"""Comparisons as tables, figures and an HTML page."""
