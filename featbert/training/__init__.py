"""Inputs, the sampler, the training loop, optimiser, checkpoints."""
