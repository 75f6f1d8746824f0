"""Flair with the settings of its documentation.

`tuned` fine-tunes a transformer with a linear layer (5e-5, 10 epochs, batches of 4); words see the
sentences around theirs (FLERT). `frozen` trains a BiLSTM-CRF on the last four layers (SGD, 0.1,
batches of 32, at most 150 epochs, the rate is halved when dev stands still).
"""

import argparse
import tempfile
from typing import Any

import flair
import torch
from flair.data import Corpus, Sentence
from flair.datasets import FlairDatapointDataset
from flair.embeddings import TransformerDocumentEmbeddings, TransformerWordEmbeddings
from flair.models import SequenceTagger, TextClassifier
from flair.trainers import ModelTrainer

from benchmarks.compared.files import Example, run


def spans(tags: list[str]) -> list[tuple[int, int, str]]:
    """Entities of BIO tags: start, end, type."""
    entities: list[tuple[int, int, str]] = []
    for place, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-")
        continues = prefix == "I" and entities and entities[-1][1:] == (place, kind)
        if continues:
            entities[-1] = (entities[-1][0], place + 1, kind)
        elif kind:
            entities.append((place, place + 1, kind))
    return entities


def tagged(examples: list[Example]) -> list[Sentence]:
    """Sentences with entities, with the sentences around them as context."""
    sentences: list[Sentence] = []
    for example in examples:
        sentence = Sentence(example["words"])
        for start, end, kind in spans(example["tags"]):
            sentence[start:end].add_label("ner", kind)
        if example["starts_document"] or not sentences:
            sentence._previous_sentence = None
        else:
            sentence._previous_sentence, sentences[-1]._next_sentence = sentences[-1], sentence
        sentences.append(sentence)
    return sentences


def corpus_of(splits: dict[str, list[Sentence]]) -> Corpus:
    """The splits as a corpus of Flair."""
    datasets = {name: FlairDatapointDataset(sentences) for name, sentences in splits.items()}
    return Corpus(**datasets, sample_missing_splits=False)


def predicted_tags(tagger: SequenceTagger, sentences: list[Sentence]) -> list[list[str]]:
    """BIO tags of the entities that the tagger finds."""
    tagger.predict(sentences, label_name="answer", mini_batch_size=16)
    all_tags = []
    for sentence in sentences:
        tags = ["O"] * len(sentence)
        for span in sentence.get_spans("answer"):
            first, *rest = [token.idx - 1 for token in span.tokens]
            value = span.get_label("answer").value
            tags[first] = f"B-{value}"
            for place in rest:
                tags[place] = f"I-{value}"
        all_tags.append(tags)
    return all_tags


def tuned(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """Fine-tuning, for entities."""
    flair.set_seed(options.seed)
    corpus = corpus_of({name: tagged(examples) for name, examples in splits.items()})
    embeddings = TransformerWordEmbeddings(options.model, fine_tune=True, use_context=True)
    tagger = SequenceTagger(
        embeddings=embeddings,
        tag_dictionary=corpus.make_label_dictionary("ner", add_unk=False),
        tag_type="ner",
        use_crf=False,
        use_rnn=False,
        reproject_embeddings=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        ModelTrainer(tagger, corpus).fine_tune(folder, save_final_model=False)
    return predicted_tags(tagger, tagged(splits["test"]))


def frozen(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """A BiLSTM-CRF on frozen vectors, for entities."""
    flair.set_seed(options.seed)
    corpus = corpus_of({name: tagged(examples) for name, examples in splits.items()})
    embeddings = TransformerWordEmbeddings(
        options.model, layers="-1,-2,-3,-4", layer_mean=False, fine_tune=False
    )
    tagger = SequenceTagger(
        embeddings=embeddings,
        tag_dictionary=corpus.make_label_dictionary("ner", add_unk=False),
        tag_type="ner",
        hidden_size=256,
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = ModelTrainer(tagger, corpus)
        trainer.train(folder, learning_rate=0.1, mini_batch_size=32, max_epochs=150)
        tagger = SequenceTagger.load(f"{folder}/best-model.pt")
    return predicted_tags(tagger, tagged(splits["test"]))


def classifier(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """Fine-tuning, for texts with a class."""
    flair.set_seed(options.seed)
    sentences = {name: [Sentence(e["text"]) for e in examples] for name, examples in splits.items()}
    for name, examples in splits.items():
        for sentence, example in zip(sentences[name], examples, strict=True):
            sentence.add_label("class", example["label"])
    corpus = corpus_of(sentences)
    model = TextClassifier(
        TransformerDocumentEmbeddings(options.model, fine_tune=True),
        label_dictionary=corpus.make_label_dictionary("class"),
        label_type="class",
    )
    with tempfile.TemporaryDirectory() as folder:
        ModelTrainer(model, corpus).fine_tune(folder, save_final_model=False)
    texts = [Sentence(e["text"]) for e in splits["test"]]
    model.predict(texts, label_name="answer", mini_batch_size=16)
    return [text.get_label("answer").value for text in texts]


if __name__ == "__main__":
    flair.device = torch.device("cpu")
    run({"tuned": tuned, "frozen": frozen, "classes": classifier}, flair.__version__)
