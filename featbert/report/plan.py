"""The plan of an experiment as text, with its time and disk space."""

from featbert.analysis.comparison import grouped
from featbert.analysis.labels import run_labels, search_line
from featbert.experiments.candidates import FIRST_SEEDS, LEFT, rungs
from featbert.experiments.estimate import PATIENCE, SHORT, Estimates
from featbert.experiments.minutes import MARGIN, MinutesPlan
from featbert.experiments.plan import ExperimentPlan
from featbert.report.grid import grid
from featbert.tasks.base import get_task
from featbert.text import counted, in_percent, listed, printable
from featbert.units import duration, size


def minutes_text(plan: MinutesPlan, width: int | None = None) -> str:
    """How an experiment spends its minutes: stages and candidates, with their time."""
    assert plan.time_plan is not None
    time_plan, configuration = plan.time_plan, plan.experiment.configurations[0]
    items = get_task(configuration.task).items(plan.resources.corpus(configuration)["train"])
    n_examples = counted(len(items) - 1, "example")
    n_seeds = min(FIRST_SEEDS, len(configuration.seeds)) if time_plan.seconds["seeds"] else 1
    chosen = [c for candidates in plan.candidates.values() for c in candidates]
    whole = plan.renewed(time_plan=None)
    head = [
        f"{plan.experiment.name}: {plan.minutes:g} minutes for the task {configuration.task} with "
        f"{plan.resources.encoder(configuration.model).name}, {n_examples} in train",
        f"they allow {in_percent(time_plan.share)} of train, {counted(n_seeds, 'seed')}, and "
        f"{len(chosen)} of {len(whole.jobs)} candidates, "
        f"with at most {time_plan.most_epochs} epochs if they are tuned",
    ]
    if untried := [method for method in whole.methods if method not in plan.methods]:
        head.append(f"not tried: {listed(untried)}; more minutes try more")
    for error, candidates in grouped((str(e), c) for c, e in whole.impossible).items():
        names = dict.fromkeys(c.method for c in candidates)
        head.append(f"not possible: {listed(names)}: {error}")
    if time_plan.spent:
        head.append(f"resumed: {duration(time_plan.spent)} of the minutes are spent")
    if time_plan.done:
        head.append("nothing is left to train")
    counts = (
        f"{' → '.join(str(n) for n, _ in rungs(len(plan.candidates[kind]), LEFT[kind]))} {noun}"
        for kind, noun in zip(LEFT, ("frozen", "tuned"), strict=True)
        if plan.candidates[kind]
    )
    stored = sum(store.manifest.data_bytes for store in plan.missing_stores(plan.candidates))
    rows = {
        "extraction": f"every text once, {size(stored)}" if stored else "every text once",
        "frozen rows": f"{len(plan.candidates['scan'])} frozen",
        "halving": ", ".join(counts),
        "seeds": f"{n_seeds} of each row that is left" if n_seeds > 1 else "one of each row",
    }
    total = sum(time_plan.seconds.values())
    expected = time_plan.seconds | {"reserve": (MARGIN - 1) * total, "all": MARGIN * total}
    stages = [(name, rows.get(name, ""), duration(s) if s else "") for name, s in expected.items()]
    labels = run_labels(plan.job_of(c).run for c in chosen)
    lines = [(labels[plan.job_of(c).name], str(c.epochs), duration(c.seconds)) for c in chosen]
    tables = (
        grid(["stage", "rows", "at most"], stages, width=width),
        grid(["candidate", "epochs", "a run"], lines, width=width),
    )
    end = (
        "The rest of the minutes goes to more text, epochs and seeds, until dev decides. Trials "
        "are no table rows."
    )
    return "\n".join([*map(printable, head), "", *tables, end])


def plan_text(plan: ExperimentPlan, measure: bool, width: int | None) -> str:
    """Existing and planned stores, encoders and rows, with expected time and disk space."""
    if isinstance(plan, MinutesPlan) and measure:
        return minutes_text(plan.timed(), width)
    estimates, jobs, lines = Estimates(plan, measure=measure), list(plan.jobs.values()), []
    to_train = {job.name for job in plan.missing}
    # A store that is gone is needed again only by runs that are missing.
    stores = {
        job.extraction.path: job
        for job in jobs
        if job.extraction and (job.extraction.finished or job.name in to_train)
    }
    seconds, n_bytes = list[float | None](), 0
    for path, job in stores.items():
        assert job.extraction is not None
        m, state = job.extraction.manifest, "exists"
        if job.extraction.finished is None:
            state = f"to extract, {size(m.data_bytes)}"
            seconds.append(estimates.extraction(job, m.words))
            n_bytes += m.data_bytes
        lines.append(f"store  {state}  {counted(m.words, 'word')}  {path}")
    lines += [f"adapt  to train  {folder}" for folder in plan.adaptations]
    lines += [f"search {search_line(search)}" for search in plan.searches]
    seedless = []
    rows, labels = [], run_labels(job.run for job in jobs)
    for label, alike in grouped((labels[job.name], job) for job in jobs).items():
        planned = [estimates.run(job) for job in alike if job.name in to_train]
        estimated = [estimate for estimate in planned if estimate is not None]
        seconds += [None if estimate is None else estimate[0] for estimate in planned]
        n_bytes += sum(run_bytes for _, run_bytes, _ in estimated)
        time = duration(sum(s for s, *_ in estimated)) if estimated else "?" if planned else ""
        seeds = ", ".join(str(job.run.options.seed) for job in alike)
        if not alike[0].run.options.settings.has_seed:
            seedless.append(label)
        method = estimated[0][2] if estimated else ""
        rows.append((label, seeds, str(len(planned)), time, method))
    unknown, expected = seconds.count(None), sum(filter(None, seconds))
    runs = f"{counted(len(jobs), 'run')}, {len(to_train):,} to train"
    head = [f"{plan.experiment.name}: {runs}{plan.later_runs}"]
    about = "more than" if unknown else "about"
    if expected or not unknown:
        head.append(f"{about} {duration(expected)} here, a run at a time")
    if unknown:
        cause = f"; measuring stopped after {PATIENCE:g} s" if estimates.stopped else ""
        cause = cause if measure else "; leave out --no-measure"
        head.append(f"time not known: {counted(unknown, 'run or store', 'runs or stores')}{cause}")
    if n_bytes or not unknown:
        head.append(f"{about} {size(n_bytes)} of disk")
    header = ["row", "seeds", "to train", "time", "measured by"]
    table = grid(header, rows, width=width).rstrip("\n")
    legend = [SHORT] if estimates.short and measure else []
    if seedless and len({job.run.options.seed for job in jobs}) > 1:
        legend.append(f"one run for all seeds, which give the same numbers: {listed(seedless)}")
    return "\n".join([*map(printable, [*head, *lines]), "", table, *legend])
