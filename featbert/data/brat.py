"""brat's standoff files: a text (`.txt`) and its annotations (`.ann`), one a line.

    T1<TAB>LOC 0 4<TAB>Rome
    T2<TAB>LOC 6 11;22 28<TAB>North Africa

Each text is a document, and each of its lines that is not blank a sentence. Entities (T) become
spans of their line, which `rows` reads. Offsets are places in the file: they count line ends, and a
byte order mark as one character. Entities that are no sequence of words in a sentence are counted:

    in several parts    read from the first to the last character, with the words between
    beyond a line end   read to the end of their first line

Relations, events, attributes, normalisations and notes are counted and not read. A text without a
file of annotations is unlabelled. An empty one says that the text has no entity.
"""

import io
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from featbert.data.annotations import trimmed_place
from featbert.data.files import BOM, RawRow, opened, read_file, read_lines
from featbert.data.offsets import Part, Place, folded, notice_parts, places_of, unit_of
from featbert.errors import InputError
from featbert.progress import track
from featbert.text import excerpt

_PLACES = "[0-9]{1,12} [0-9]{1,12}"
_ENTITY = re.compile(rf"(T\S*)\t(\S+) ({_PLACES}(?:;{_PLACES})*)(?:\t(.*))?")
_OTHER = re.compile(r"(?:[REAMN#]\S*|\*)\t")
# Messages by field of `ReadingNotes`.
_FAULTS = {
    "misplaced_answers": "are left out, as their parts are not at their offsets",
    "discontinuous_entities": "are in several parts and are read with the words between",
    "cut_entities": "go beyond a line end and are read to the end of their first line",
}


@dataclass(frozen=True)
class _Entity:
    """An entity as its file has it.

    Attributes:
        row: for messages.
        parts: one, or several of a discontinuous entity.
        own: its text in the file, or None.
    """

    row: RawRow
    type: str
    parts: list[Part]
    own: str | None

    def places(self, places: Sequence[Place | None]) -> list[Place] | None:
        """The places of its parts without white space around them, or None if its text differs.

        InputError if it has no text and a part is at no place.
        """
        if self.own is not None:
            text = " ".join(self.parts[0].text[slice(*place)] for place in places if place)
            if None in places or folded(text) != folded(self.own):
                return None
        pairs = zip(self.parts, places, strict=True)
        return sorted(trimmed_place(self.row, part, place) for part, place in pairs)


@dataclass(frozen=True)
class _Document:
    """A text, its lines that are not blank, and its entities.

    Attributes:
        lines: number, first character and text of each.
        entities: None for a text without annotations.
    """

    path: Path
    text: str
    lines: list[tuple[int, int, str]]
    entities: list[_Entity] | None

    def first(self, n: int) -> Self:
        """The document's first n lines, with the entities that begin in them."""
        if n == len(self.lines):
            return self
        _, start, line = self.lines[n - 1]
        parts = [part for entity in self.entities or () for part in entity.parts]
        unit = unit_of([part for part in parts if part.own is not None], Part.is_at)

        def begins(part: Part) -> bool:
            return (unit.place(part) or (part.start,))[0] < start + len(line)

        entities = self.entities and [e for e in self.entities if any(map(begins, e.parts))]
        return replace(self, lines=self.lines[:n], entities=entities)


@dataclass
class BratReader:
    """Reads the texts of a folder.

    Attributes:
        with_entities: whether annotations are read.
        notes: counts of `ReadingNotes`.
    """

    folder: Path
    encoding: str
    with_entities: bool
    notes: dict[str, Any] = field(default_factory=Counter)
    _faults: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    _empty: list[tuple[str, str]] = field(default_factory=list)

    def rows(self, texts: Sequence[Path], limit: int | None) -> list[RawRow]:
        """A row with a text and its spans for each sentence.

        After `limit` sentences no further file is read.
        """
        documents: list[_Document] = []
        n_lines = 0
        for path in track(texts, f"reading {self.folder.name}", "files"):
            documents.append(self._document(path))
            n_lines += len(documents[-1].lines)
            if limit is not None and n_lines >= limit:
                documents[-1] = documents[-1].first(len(documents[-1].lines) - n_lines + limit)
                break
        entities = [entity for document in documents for entity in document.entities or ()]
        parts = [part for entity in entities for part in entity.parts]
        places = iter(places_of(parts, self.folder, "entities", self.notes))
        rows: list[RawRow] = []
        for number, document in enumerate(documents):
            spans = self._spans(document, places)
            # As Label Studio writes a text without an annotation.
            is_unlabelled = document.entities is None
            unlabelled: dict[str, Any] = {"annotations": [], "data": {}} if is_unlabelled else {}
            for line_number, start, line in document.lines:
                location = f"line {line_number} of {document.path}"
                values = {"text": line, "spans": spans[start], "document": number, **unlabelled}
                rows.append(RawRow(values, location, len(rows) + 1, "sentence"))
        fault = "are empty, so their texts are read as texts without entities"
        notice_parts(self._empty, self.folder, "annotations", fault)
        for name, fault in _FAULTS.items():
            notice_parts(self._faults[name], self.folder, "entities", fault)
            self.notes[name] += len(self._faults[name])
        return rows

    def _spans(
        self, document: _Document, places: Iterator[Place | None]
    ) -> dict[int, list[dict[str, Any]]]:
        """Spans of lines by the line's first character. Takes the places of the entities' parts."""
        spans: dict[int, list[dict[str, Any]]] = defaultdict(list)
        starts = [start for _, start, _ in document.lines]
        for entity in document.entities or ():
            entity_places = entity.places([next(places) for _ in entity.parts])
            if entity_places is None:
                if len(entity.parts) > 1:  # `places_of` counts others
                    self._add_fault("misplaced_answers", entity, entity.own)
                continue
            start, end = entity_places[0][0], max(end for _, end in entity_places)
            text = document.text[start:end]
            if any(document.text[a:b].strip() for (_, a), (b, _) in pairwise(entity_places)):
                self._add_fault("discontinuous_entities", entity, text)
            _, first, line = document.lines[bisect_right(starts, start) - 1]
            if end > first + len(line):
                self._add_fault("cut_entities", entity, text)
                text = text.partition("\n")[0].rstrip()
            start -= first
            span = {"start": start, "end": start + len(text), "label": entity.type, "text": text}
            spans[first].append(span)
        return spans

    def _add_fault(self, name: str, entity: _Entity, text: str | None) -> None:
        self._faults[name].append((text or "", entity.row.where))

    def _document(self, path: Path) -> _Document:
        with opened(path) as stream:
            data = stream.read()
        for _ in read_lines(io.BytesIO(data), self.encoding, str(path), returns=True):
            pass  # an error names the line
        text = data.decode(self.encoding)
        text = " " * text.startswith(BOM) + text.removeprefix(BOM)
        lines, start = [], 0
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                lines.append((number, start, line))
            start += len(line) + 1
        annotations = path.with_suffix(".ann")
        has_entities = self.with_entities and annotations.exists()
        entities = self._entities(annotations, text) if has_entities else None
        return _Document(path, text, lines, entities)

    def _entities(self, path: Path, text: str) -> list[_Entity]:
        lines = read_file(path, self.encoding, returns=True)
        if not lines and text.strip():
            self._empty.append((path.name, f"in {path.parent}"))
        entities = []
        for number, line in enumerate(lines, 1):
            location = f"line {number} of {path}"
            if match := _ENTITY.fullmatch(line):
                name, kind, places, surface = match.groups()
                ends = [[*map(int, place.split())] for place in places.split(";")]
                part_surface = surface if len(ends) == 1 and surface else None
                parts = [Part(text, start, end, part_surface, location) for start, end in ends]
                row = RawRow({name: line.partition("\t")[2]}, location, number)
                entities.append(_Entity(row, kind, parts, surface or None))
            elif _OTHER.match(line):
                self.notes["other_annotations"] += 1
            elif line.strip():
                expected = "T1<TAB>LOC 0 4<TAB>Rome"
                raise InputError(f"no annotation of brat ({expected}), {location}: {excerpt(line)}")
        return entities
