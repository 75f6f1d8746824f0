"""Entities by the rules of the conlleval script (Tjong Kim Sang and De Meulder 2003), an oracle."""

from collections.abc import Sequence


def chunks(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Type, first word and end of each; startOfChunk and endOfChunk, rule by rule."""
    chunks, start = [], None
    prev_tag, prev_type = "O", ""
    for i, full in enumerate([*tags, "O"]):
        tag, _, type_ = full.partition("-")
        end = (
            (prev_tag == "B" and tag in ("B", "S", "O"))
            or (prev_tag == "I" and tag in ("B", "S", "O"))
            or prev_tag in ("E", "S")
            or (prev_tag != "O" and prev_type != type_)
        )
        if end and start is not None:
            chunks.append((prev_type, start, i))
            start = None
        begin = (
            tag in ("B", "S")
            or (prev_tag in ("E", "S", "O") and tag in ("E", "I"))
            or (tag != "O" and prev_type != type_)
        )
        if begin:
            start = i
        prev_tag, prev_type = tag, type_
    return chunks
