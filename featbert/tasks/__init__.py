"""What is asked of a text and how answers are scored."""
