import threading

import numpy as np
import pytest
import torch

from featbert import extract, load_corpus
from featbert.encoders.device import computing_threads
from featbert.encoders.encoder import load_encoder
from featbert.encoders.parallel import map_batches
from featbert.encoders.source import find_encoder


@pytest.fixture(scope="module")
def encoder(tiny_bert):
    return load_encoder(find_encoder(str(tiny_bert)))


def test_batches_are_computed_side_by_side_and_returned_in_order(encoder):
    met = threading.Barrier(3, timeout=20)
    used = set()

    def compute(one, batch):
        used.add(one)
        met.wait()  # passes once three batches are computed at a time
        assert torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 1
        return batch * batch

    with computing_threads(3):
        assert list(map_batches(compute, encoder, range(12))) == [n * n for n in range(12)]
        assert torch.get_num_threads() == 3
    assert len(used) == 3
    for one in used:  # the same memory
        for mine, yours in zip(one.parameters(), encoder.parameters(), strict=True):
            assert mine is yours


def test_one_batch_needs_no_copy_and_has_the_threads_of_one_of_many(encoder):
    with computing_threads(3):
        ((one, threads),) = map_batches(lambda e, _: (e, torch.get_num_threads()), encoder, [0])
    assert one is encoder
    assert threads == 1


def test_what_a_batch_raises_is_raised(encoder):
    def compute(_, batch):
        if batch == 2:
            raise MemoryError("batch 2")
        return batch

    with computing_threads(2), pytest.raises(MemoryError, match="batch 2"):
        list(map_batches(compute, encoder, range(100)))


@pytest.mark.parametrize(
    ("family", "precision"),
    [("bert", "fp32"), ("bert", "bf16"), ("deberta-v3", "fp32"), ("qwen3", "fp32")],
)
def test_threads_change_no_byte_of_a_store(workspace, tmp_path, encoder_folder, family, precision):
    corpus, stores, folder = load_corpus(workspace.corpus), [], str(encoder_folder(family))
    for threads in (1, 4):
        with computing_threads(threads):
            cache = tmp_path / str(threads)
            stores.append(
                extract(corpus, folder, cache_dir=cache, precision=precision, device="cpu")
            )
    for split in stores[0].splits:
        np.testing.assert_array_equal(*(store.read(split) for store in stores))
