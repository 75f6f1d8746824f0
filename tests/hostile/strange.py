"""Texts that files of others may hold: escape sequences, odd characters, paths, markup."""

from hypothesis import strategies as st

STRANGE = (
    *("\x1b[31m", "\x1b]0;x\x07", "\x9b2J", "\x08", "\x7f", "\x00", "\r", "\x85", "\u2028", "\x0b"),
    *("\u202e", "\u200b", "\u200d", "\ufeff", "e\u0301\u0301", "שלום", "سلام", "\U0001f9d1"),
    *("\ud800", "=1+1", "\\input{x}", "}", "<b>", "../", "'", '"', "\u00a0", "…"),
)
texts = st.text(max_size=6) | st.sampled_from(STRANGE)
