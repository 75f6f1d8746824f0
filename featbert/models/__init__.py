"""What stands between hidden states and answers."""
