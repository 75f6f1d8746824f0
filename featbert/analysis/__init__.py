"""From run records to comparisons, statistics and curves."""
