"""One run: identity, training, record, folder."""
