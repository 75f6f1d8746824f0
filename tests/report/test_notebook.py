"""What notebooks show: HTML read back by a parser, so that what is not escaped would be a tag."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from featbert.analysis.compare import Comparisons, compare
from featbert.analysis.cost import with_costs
from featbert.analysis.scorers import with_scorers
from featbert.report.table import tables
from featbert.runs.record import write_record
from featbert.runs.run import find_runs
from tests.analysis.records import make_record, make_run, usual_runs
from tests.processes import loaded

TAGS = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "b", "br"}
TAGS |= {"details", "summary", "ul", "li", "p"}


class Page(HTMLParser):
    """Tables as rows of texts; every tag must be known, and closed in turn."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self.captions: list[str] = []
        self.bold: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= {"style", "scope"}
        if tag == "br":
            return
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
        elif tag == "caption":
            self.captions.append("")

    def handle_endtag(self, tag) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data
        if {"th", "td"} & set(self._open):
            self.tables[-1][-1][-1] += data
        if "caption" in self._open:
            self.captions[-1] += data
        elif "b" in self._open:
            self.bold.append(data)

    def handle_decl(self, decl) -> None:
        raise AssertionError(decl)

    handle_comment = handle_pi = unknown_decl = handle_decl


def test_a_comparison_shows_the_cells_of_its_tables() -> None:
    (comparison,) = compare(usual_runs())
    comparison = with_costs(with_scorers(comparison))
    page = Page(comparison._repr_html_())
    drawn = tables([comparison])
    assert len(drawn) == 3
    for (head, *rows), table in zip(page.tables, drawn, strict=True):
        columns, cells = table.select()
        assert head == [column.head for column in columns]
        assert rows == [[cell.text for cell in row] for row in cells]
    for table, caption in zip(drawn, page.captions, strict=True):
        assert caption == table.title + table.subtitle
        assert all(line in page.text for line in (*table.legend, *table.notes))
    best = [c.text for table in drawn for row in table.select()[1] for c in row if c.best]
    assert page.bold == best


def test_a_table_tells_quality_and_cost() -> None:
    (comparison,) = compare(usual_runs())
    head, *rows = Page(comparison._repr_html_()).tables[0]
    concat = dict(zip(head, rows[2], strict=True))
    assert concat["approach"] == "concat_last4"
    assert (concat["dev F1"], concat["Δ dev"]) == ("63.50 ± 0.50", "-2.67")
    assert (concat["trained"], concat["training"]) == ("13.4 M", "41 s")


def test_a_list_of_comparisons_shows_all_of_them() -> None:
    runs = [make_run("a"), make_run("b", signature={"context": "document"})]
    found = compare(runs)
    assert isinstance(found, Comparisons)
    assert isinstance(found, list)
    page = Page(found._repr_html_())
    assert [caption[:6] for caption in page.captions] == ["1 of 2", "2 of 2"]
    assert "no finished runs" in Page(compare([])._repr_html_()).text


def test_a_run_shows_scores_facts_and_its_signature() -> None:
    page = Page(make_run("concat-1")._repr_html_())
    scores, facts, epochs, signature = page.tables
    assert scores[1] == ["dev all", "60.00", "60.00", "60.00", "10,000"]
    assert [row[0] for row in scores[1:]] == ["dev all", "dev PER", "test all", "test PER"]
    told = dict(facts)
    assert told["settings"] == "epochs=15, learning_rate=0.001"
    assert told["training"] == "41 s, peak memory 1.3 GB"
    assert epochs[1] == ["1 best", "0.7000", "60.00", "2.5 s"]
    known = dict(signature)
    assert known["splits.dev.text"] == "b" * 64
    assert known["versions.torch"] == "2.13.0"
    assert known["entity_types"] == "PER"
    html = make_run("concat-1")._repr_html_()
    assert html.index("<summary>signature") < html.index("splits.dev.text")


def test_found_runs_show_state_scores_and_time(tmp_path: Path) -> None:
    (tmp_path / "concat-1").mkdir()
    write_record(tmp_path / "concat-1", make_record("concat-1"))
    (tmp_path / "going-1").mkdir()
    (tmp_path / "going-1" / "history.jsonl").write_text('{"dev_f1": 0.5, "seconds": 61.0}\n')
    (tmp_path / "broken-1").mkdir()
    (tmp_path / "broken-1" / "record.json").write_text("{", "utf-8")
    page = Page(find_runs(tmp_path)._repr_html_())
    assert page.tables[0][1:] == [
        ["broken-1", "damaged", "–", "–", "–", "–", "–"],
        ["concat-1", "finished", "concat_last4", "1", "60.00", "55.00", "41 s"],
        ["going-1", "epoch 1 of –", "–", "–", "50.00", "–", "1m 01s"],
    ]
    assert "is not JSON" in page.text
    assert repr(find_runs(tmp_path)) == "<FoundRuns: 1 finished, 1 not, 1 damaged>"
    assert "no runs" in Page(find_runs(tmp_path / "going-1")._repr_html_()).text


@given(st.text(st.characters()), st.sampled_from(["corpus", "model", "context", "scorer"]))
def test_no_name_becomes_markup(name, field) -> None:
    run = make_run("a", layers=f"<script>{name}", signature={field: f"</td><b>{name}"})
    for html in (compare([run])._repr_html_(), run._repr_html_()):
        assert "<script" not in html
        Page(html)  # refuses tags that are not ours
        html.encode()


def test_a_name_is_shown_as_it_is() -> None:
    run = make_run("a", signature={"corpus": '<script>alert("1 & 2")</script>'})
    page = Page(compare([run])._repr_html_())
    assert '<script>alert("1 & 2")</script> · all-MiniLM-L6-v2' in page.captions[0]


def test_reprs_are_one_short_line() -> None:
    (comparison,) = compare(usual_runs())
    assert repr(comparison) == (
        "<Comparison: wikigold · all-MiniLM-L6-v2 · context: sentence · 4 rows of 12 runs>"
    )
    assert repr(make_run("a")) == "<Run: a · dev F1 60.00 · test F1 55.00>"


def test_showing_tables_loads_nothing_heavy() -> None:
    code = (
        "from tests.analysis.records import usual_runs\n"
        "from featbert.analysis.compare import compare\n"
        "compare(usual_runs())._repr_html_()\n"
        "usual_runs()[0]._repr_html_()"
    )
    assert loaded(code) == ()
