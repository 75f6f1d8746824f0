"""Tasks: the questions that are asked of a text, and how answers are scored."""
