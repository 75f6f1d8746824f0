"""Comparisons as tables, figures and an HTML page."""

from featbert.registry import Entry, Registry

# Imported when they are first used, as the names of `featbert` are.
PUBLIC = Registry(
    "name",
    {
        "plot": Entry("featbert.report.figures.registry:plot"),
        "render": Entry("featbert.report.rendering:render"),
    },
)
__getattr__ = PUBLIC.attribute
