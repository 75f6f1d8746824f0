"""The score by how many lower layers are frozen while the encoder is fine-tuned."""

from matplotlib.figure import Figure

from featbert.analysis.comparison import Comparison, Row
from featbert.analysis.labels import line_names
from featbert.report.figures.lines import line_figure
from featbert.report.figures.registry import figure


@figure(
    caption="From left to right, fewer layers of the encoder are trained.",
    section="layers",
    needs="fine-tuned rows with three numbers of frozen layers",
    settings={"finetune.freeze_to": 2},
)
def freezing(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """Fine-tuning to features (Wu and Dredze 2019, section 4). Features are level lines."""
    scored = [(row, score) for row in comparison.rows if (score := row.score(split))]
    tuned = [(row, score) for row, score in scored if "freeze_to" in row.settings]
    steps = sorted({_frozen(row) for row, _ in tuned})
    if len(steps) < 3:
        return None
    settings = line_names([row for row, _ in tuned], ("freeze_to",), "")
    names = [" · ".join(filter(None, ("fine-tuning", setting))) for setting in settings]
    points = [
        (name, row.tuning, steps.index(_frozen(row)), score)
        for name, (row, score) in zip(names, tuned, strict=True)
    ]
    levels = [
        (row.label, score.mean)
        for row, score in scored
        if row.frozen and not (row.layers or "").startswith("layer:")
    ]
    by = "by how much of the encoder is frozen"
    fig, axes = line_figure(comparison, split, points, by, width, levels=levels)
    whole = {_frozen(row): "all" for row, _ in tuned if _frozen(row) == row.encoder_layers}
    ticks = {-1: "none", 0: "emb.", **whole}
    axes.set_xticks(range(len(steps)), [ticks.get(step, str(step)) for step in steps])
    axes.set(xlim=(-0.35, len(steps) - 0.65), xlabel="frozen up to layer")
    return fig


def _frozen(row: Row) -> int:
    """The highest frozen layer: 0 is the embeddings, -1 nothing."""
    highest = row.settings.get("freeze_to")
    return -1 if highest is None else int(highest)
