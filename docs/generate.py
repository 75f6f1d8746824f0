"""Renews the tables and the example report of the documentation from kept records.

    python -m docs.generate

A generated table is between two comments of a page; the first one says how to make it:

    <!-- table: featbert compare --runs-dir experiments/layers/results.jsonl.xz; columns: row -->
    <!-- end -->

A line that begins with `featbert` is carried out with `--format markdown`; its first table is
taken, or the one whose number is given (`; number: 2`), with all columns or those that are named.
Any other word names a function of `TABLES`, with its arguments (`; folder: NAME`). One test checks
that this leaves no difference.
"""

import functools
import json
import re
import shlex
import statistics
from collections.abc import Callable, Sequence
from itertools import groupby

from typer.testing import CliRunner

from benchmarks.compared.contests import CONTESTS
from docs.kept import RESULTS, ROOT, kept_runs
from docs.rates import TABLES as RATES
from docs.reference_tables import TABLES as REFERENCE
from docs.sizes import TABLES as SIZES
from docs.verdicts import TABLES as VERDICTS
from featbert.cli.main import app
from featbert.config import defaults
from featbert.data.corpus import SPLITS
from featbert.encoders.tunings import tuning_title
from featbert.runs.record import SplitIdentity
from featbert.tasks.base import TASKS

WITH_RESULTS = sorted(path.parent.name for path in ROOT.glob(f"experiments/*/{RESULTS}"))
PAGES = (
    *(f"docs/tasks/{name}.md" for name in TASKS),
    *("docs/tutorial.md", "docs/reliability.md", "docs/explanation/cost.md"),
    *("docs/how-to/free-corpora.md", "docs/how-to/share-results.md", "docs/explanation/sizes.md"),
    *("docs/explanation/compared.md", "docs/explanation/verdicts.md"),
    *(f"experiments/{name}/README.md" for name in WITH_RESULTS),
    "experiments/README.md",
    "benchmarks/README.md",
    *("docs/reference/commands.md", "docs/reference/experiment-files.md"),
    *("docs/reference/store-format.md", "docs/reference/run-records.md"),
    *("docs/reference/encoders.md", "docs/reference/python.md"),
)
REPORT = "docs/example/report.html"
REPORT_RUNS = ("experiments/quickstart/results.jsonl.xz", "docs/example/results.jsonl.xz")
_PLACE = re.compile(r"(<!-- table: ([^>]+?) -->\n).*?(<!-- end -->)", re.S)
Table = list[list[str]]  # rows of cells, the first row is the head


def renewed(text: str) -> str:
    """A page with its tables as they are now."""
    return _PLACE.sub(lambda m: f"{m[1]}{table(m[2])}\n{m[3]}", text)


def table(how: str) -> str:
    """The table that a comment asks for, as Markdown."""
    source, *choices = (part.strip() for part in how.split(";"))
    chosen = dict(choice.split(": ", 1) for choice in choices)
    if source in TABLES:
        return TABLES[source](**chosen)
    found = tables(command_output(source))[int(chosen.get("number", 1)) - 1]
    columns = chosen.get("columns")
    return markdown(found if columns is None else with_columns(found, columns.split(", ")))


def printed_by(words: Sequence[str]) -> str:
    """What a featbert command in this process prints."""
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    if result.exit_code:
        raise SystemExit(result.stderr)
    return result.stdout


@functools.cache
def command_output(line: str) -> str:
    """What a featbert command on a results file prints with `--format markdown`."""
    words = shlex.split(line)[1:]
    runs = ROOT / words[words.index("--runs-dir") + 1]
    return printed_by([*words, "--runs-dir", str(runs), "--format", "markdown", "--quiet"])


def tables(text: str) -> list[Table]:
    """The tables of a Markdown text."""
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        for block in re.findall(r"(?:^\|.*(?:\n|$))+", text, re.M)
    ]


def with_columns(found: Table, columns: Sequence[str]) -> Table:
    """These columns alone, in this order; a number counts columns from 1."""
    head = found[0]
    places = [int(c) - 1 if c.isdecimal() else head.index(c) for c in columns]
    return [[row[place] for place in places] for row in found]


def markdown(rows: Table) -> str:
    """The table as Markdown, without a final newline."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def learning_rates(folder: str) -> str:
    """Each seed's scores in percent, of a search behind default rates, by task, method and rate."""
    scores: dict[tuple[str, str, int, float], list[tuple[float, float]]] = {}
    defaults_shown = set()
    runs = kept_runs(ROOT / folder / RESULTS)
    for record in sorted((run.record for run in runs), key=lambda record: record.seed):
        settings = record.settings
        frozen = record.tuning == "none"
        body = settings["body"] if frozen else None
        method = f"frozen, {body}" if frozen else tuning_title(record.tuning)
        key = (record.task, method, settings["epochs"], settings["learning_rate"])
        if settings["learning_rate"] == defaults(record.tuning, record.task, body).learning_rate:
            defaults_shown.add(key)
        pair = 100 * (record.score("dev") or 0), 100 * (record.score("test") or 0)
        scores.setdefault(key, []).append(pair)
    rows = [
        ["task", "method", "epochs", "learning rate", "dev", "test"],
        ["---"] * 2 + ["---:"] * 4,
    ]
    for key, pairs in sorted(scores.items()):
        task, method, epochs, rate = key
        sides = (", ".join(f"{score:.2f}" for score in side) for side in zip(*pairs, strict=True))
        shown_rate = f"**{rate:g}**" if key in defaults_shown else f"{rate:g}"
        rows.append([task, method, str(epochs), shown_rate, *sides])
    return markdown(rows)


def solvers_and_gradients() -> str:
    """Mean scores in percent of linear heads by gradient steps and by solvers."""
    scores: dict[tuple[str, str, str], dict[str, list[tuple[float, float]]]] = {}
    for run in kept_runs(ROOT / "experiments" / "defaults-solvers" / RESULTS):
        record = run.record
        corpus = record.signature.corpus.partition("-first-")[0].removeprefix("corpora-")
        key = (record.task, corpus, record.layers or "")
        body = "linear" if record.settings["body"] == "linear" else "solver"
        pair = 100 * (record.score("dev") or 0), 100 * (record.score("test") or 0)
        scores.setdefault(key, {}).setdefault(body, []).append(pair)
    rows = [["task", "corpus", "layers", "linear: dev", "test", "solver: dev", "test", "Δ test"]]
    rows.append(["---"] * 3 + ["---:"] * 5)
    means = []
    for key, by_body in sorted(scores.items()):
        means.append(
            [
                statistics.mean(v)
                for b in ("linear", "solver")
                for v in zip(*by_body[b], strict=True)
            ]
        )
        rows.append([*key, *_shown(means[-1])])
    rows.append(
        ["mean", "", "", *_shown([statistics.mean(values) for values in zip(*means, strict=True)])]
    )
    return markdown(rows)


def _shown(means: list[float]) -> list[str]:
    """Dev and test of both sides, and the difference on test."""
    return [*(f"{mean:.2f}" for mean in means), f"{means[3] - means[1]:+.2f}"]


def signature(runs: str, row: str) -> str:
    """The line that a paper can quote, of a row's best run on dev, as a quotation."""
    words = ["runs", "show", row, "--best", "--signature", "--runs-dir", str(ROOT / runs)]
    return f"> `{printed_by(words).strip()}`"


def corpora() -> str:
    """Sizes and fingerprints of the corpora behind kept results, from their records."""
    parts: dict[str, dict[str, SplitIdentity]] = {}
    folders = [ROOT / "experiments" / name for name in WITH_RESULTS]
    for path in (path for folder in folders for path in sorted(folder.glob("*.jsonl.xz"))):
        for run in kept_runs(path):
            signature = run.record.signature
            if "-first-" not in signature.corpus:
                parts.setdefault(signature.corpus, {}).update(signature.splits)
    head = ["corpus", "train", "dev", "test", "words", "fingerprints of train, dev, test"]
    rows = [head, ["---", *["---:"] * 4, "---"]]
    for corpus, by_split in sorted(parts.items()):
        identities = [by_split[split] for split in SPLITS]
        sizes = [f"{identity.sentences:,}" for identity in identities]
        words = sum(identity.words for identity in identities)
        rows.append(
            [corpus, *sizes, f"{words:,}", ", ".join(f"`{i.text[:8]}`" for i in identities)]
        )
    return markdown(rows)


def tolerances() -> str:
    """What batches, order and threads change in hidden states, of the kept measurement."""
    path = ROOT / "benchmarks" / "records" / "tolerance.json"
    rows = [["changed", "mean", "highest", "float16 numbers that differ"], ["---", *["---:"] * 3]]
    for name, row in json.loads(path.read_text("utf-8"))["measured"].items():
        differing = f"{100 * row['float16 numbers that differ']:.2g}%"
        rows.append([name, f"{row['mean']:.3g}", f"{row['highest']:.3g}", differing])
    return markdown(rows)


def compared(contest: str) -> str:
    """Scores, processor time relative to the first method, and memory, of `benchmarks.compared`.

    Times are relative to the first method on the same machine, if that ran there.
    """
    path = ROOT / "benchmarks" / "records" / "compared.jsonl"
    machine, lines = 0, []
    for line in map(json.loads, path.read_text("utf-8").splitlines()):
        machine += "machine" in line
        if line.get("contest") == contest:
            lines.append(line | {"machine": machine})
    rows = [["method", "version", "test", "time", "memory"], ["---"] * 2 + ["---:"] * 3]
    first: dict[int, float] = {}  # seconds of the first method, by machine
    for program, method, title in CONTESTS[contest].entrants:
        found = [line for line in lines if (line["program"], line["method"]) == (program, method)]
        if not found:
            continue
        by_machine = {n: [*part] for n, part in groupby(found, lambda line: line["machine"])}
        seconds = {
            n: statistics.mean(line["seconds"] for line in part) for n, part in by_machine.items()
        }
        first = first or seconds
        machine, shown = next(iter(by_machine.items()))
        tests = [line["test"] for line in shown]
        spread = f" ± {statistics.stdev(tests):.2f}" if len(tests) > 1 else ""
        score = f"{statistics.mean(tests):.2f}{spread} ({len(tests)})"
        ratio = seconds[machine] / first.get(machine, next(iter(first.values())))
        memory = max(line["memory_gb"] for line in shown)
        rows.append([title, found[0]["version"], score, f"{ratio:.2f}", f"{memory:.1f} GB"])
    return markdown(rows)


TABLES: dict[str, Callable[..., str]] = {
    **{
        name: lambda make=make: "\n".join(make()).rstrip()
        for name, make in (RATES | REFERENCE | SIZES | VERDICTS).items()
    },
    "corpora": corpora,
    "compared": compared,
    "gradient steps and solvers": solvers_and_gradients,
    "learning rates": learning_rates,
    "signature": signature,
    "tolerances": tolerances,
}


def write_report() -> None:
    """Writes the example report from the runs in two results files."""
    runs = [str(run.folder) for file in REPORT_RUNS for run in kept_runs(ROOT / file)]
    printed_by(["compare", *runs, "--report", str(ROOT / REPORT), "--quiet"])


def main() -> None:
    """Renews every page, and the example report."""
    write_report()
    for name in PAGES:
        page = ROOT / name
        page.write_text(renewed(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
