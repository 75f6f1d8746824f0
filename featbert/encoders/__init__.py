"""Checkpoints: source, tokenizer, windows, alignment, hidden states, layer names, device."""
