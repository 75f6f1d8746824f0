"""Fine-tuning, against a plain transformers loop; LoRA, against peft in such a loop.

    python -m benchmarks.finetune --data wikigold --epochs 3 --rounds 3
    python -m benchmarks.finetune --data polarity --task classification --epochs 1 --rounds 2
    python -m benchmarks.finetune --data squad2-half --task spans --sentences 500 --rounds 2
    python -m benchmarks.finetune --data wikigold --tuning lora --epochs 1 --rounds 2

Both take shuffled batches of 32, the same optimiser settings and epochs, score dev after each epoch
and keep the best weights. Words per second are words trained on, over everything from loading the
encoder.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.baselines import answer_plainly, classify_plainly, finetune_plainly
from benchmarks.contestants import Ours, Plain, finetune, training_contest
from benchmarks.harness import Options, Record, add_text_options, count, parser_of, run
from benchmarks.machine import PIECES, Product, feed_forward
from featbert import Corpus
from featbert.encoders.source import find_encoder

PLAIN = {
    "entities": finetune_plainly,
    "classification": classify_plainly,
    "spans": answer_plainly,
}


def measure(options: Options) -> Record:
    """Both sides in turn."""
    source = find_encoder(options.model)

    def sides(text: Corpus, folder: Path) -> tuple[Plain, Ours]:
        return (
            partial(PLAIN[options.task], text, source.folder),
            partial(
                finetune,
                text,
                options.model,
                folder,
                device="cpu",
                batch_size=options.batch_size,
                task=options.task,
                tuning=options.tuning,
            ),
        )

    def products(settings: Mapping[str, Any]) -> list[Product]:
        return [feed_forward(PIECES * settings["batch_size"], source.hidden_size or 0)]

    loop = "transformers loop fp32" if options.tuning == "full" else "peft in a loop fp32"
    return training_contest(options, "finetune", loop, sides, products)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("finetune", __doc__)
    add_text_options(parser, sentences=500)
    parser.add_argument("--epochs", type=count, default=2)
    parser.add_argument("--batch-size", type=count, default=32)
    parser.add_argument("--task", choices=PLAIN, default="entities")
    parser.add_argument("--tuning", choices=("full", "lora"), default="full")
    run(parser, measure, arguments)


if __name__ == "__main__":
    main()
