import re

from featbert.analysis.compare import compare
from featbert.report.latex import escape, latex_report
from tests.analysis.records import make_run, usual_runs


def test_a_table_with_booktabs():
    text = latex_report(compare(usual_runs()))
    assert r"\begin{tabular}{@{}lrrrrrrrrrrr@{}}" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    lines = text.split("\n")
    concat = next(line for line in lines if line.startswith("concat"))
    assert concat == (
        r"concat\_last4 & 3 & 63.50 $\pm$ 0.50 & 58.50 $\pm$ 0.50 & $-2.67$ & $-2.67$ & 13.4 M & "
        r"41 s & 12 s & 1,320 & 99.0 MB & 1.3 GB \\"
    )
    tuned = next(line for line in lines if line.startswith("fine"))
    assert r"\textbf{66.17 $\pm$ 0.76}" in tuned
    assert lines[lines.index(tuned) - 1] == r"\midrule"
    rows = [line for line in lines if line.endswith(r" \\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {11}


def test_every_special_character_is_escaped():
    assert escape(r"\{}$&#%_^~") == (
        r"\textbackslash{}\{\}\$\&\#\%\_\textasciicircum{}\textasciitilde{}"
    )
    assert escape("<>|[*") == r"\textless{}\textgreater{}\textbar{}{[}{*}"
    assert escape("a--b±Δ") == r"a-{}-{}b$\pm$$\Delta$"


def test_names_are_escaped_wherever_they_stand():
    hostile = r"\input{x}%&$#_"
    run = make_run(
        "a", layers=hostile, signature={"model": hostile, "corpus": hostile, "scorer": hostile}
    )
    text = latex_report(compare([run]), notes=["100%\n\\end"])
    body, _, comment = text.rpartition("\n% ")
    assert comment == "100%\\x0a\\end\n"
    assert r"\input" not in body
    assert body.count(r"\textbackslash{}input\{x\}\%\&\$\#\_") == 4


def test_a_row_is_no_option_of_the_line_before():
    text = latex_report(compare([make_run("a", layers="[1em]"), make_run("b", layers="*x")]))
    assert re.search(r"\\\\\n[\[*]|rule\n\[", text) is None
    assert "{[}1em]" in text
