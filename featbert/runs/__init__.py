"""One run from configuration to record; experiment files."""
