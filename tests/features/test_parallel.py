import threading

import numpy as np
import pytest
import torch

from featbert import extract
from featbert.api import load_corpus
from featbert.encoders.device import computing_threads
from featbert.features.blocks import map_batches

CPU = torch.device("cpu")


def test_batches_are_computed_side_by_side_and_returned_in_order():
    met = threading.Barrier(3, timeout=20)

    def compute(batch):
        met.wait()  # passes once three batches are computed at a time
        assert torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 1
        return batch * batch

    with computing_threads(3):
        assert list(map_batches(compute, range(12), CPU)) == [n * n for n in range(12)]
        assert torch.get_num_threads() == 3


def test_one_batch_has_the_threads_of_one_of_many():
    with computing_threads(3):
        assert [*map_batches(lambda _: torch.get_num_threads(), [0], CPU)] == [1]


def test_what_a_batch_raises_is_raised():
    def compute(batch):
        if batch == 2:
            raise MemoryError("batch 2")
        return batch

    with computing_threads(2), pytest.raises(MemoryError, match="batch 2"):
        list(map_batches(compute, range(100), CPU))


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
