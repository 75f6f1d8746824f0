"""Language-model training on task text, before the task."""
