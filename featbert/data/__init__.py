"""Corpora: sentences, readers and writers, tag schemes, the corpus check, the sample."""
