"""Ways to fit a model: a module each, with its `TRAINER`. Parts and tunings name theirs."""

from featbert.registry import Entry, Registry

TRAINERS = Registry(
    "trainer",
    {
        "gradient": Entry("featbert.training.trainers.gradient:TRAINER"),
        "logistic": Entry("featbert.training.trainers.logistic:TRAINER"),
        "contrastive": Entry("featbert.training.trainers.contrastive:TRAINER"),
        "ridge": Entry("featbert.training.trainers.ridge:TRAINER"),
    },
)
