"""Extraction of hidden states, and the HDF5 store that holds them."""
