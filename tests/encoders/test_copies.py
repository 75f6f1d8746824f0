import pytest
import torch

from featbert.encoders.copies import Leaving, to_device


def test_on_a_processor_nothing_is_copied() -> None:
    tensor = torch.arange(6.0)
    assert to_device(tensor, torch.device("cpu")) is tensor
    assert Leaving(tensor).on_host() is tensor


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_one_value_that_is_not_finite_is_seen(value, dtype) -> None:
    highest = torch.finfo(dtype).max
    states = torch.tensor([highest, -highest, 0.0, -0.0] * 6, dtype=dtype).reshape(2, 3, 4)
    assert Leaving(states).is_finite()
    states[1, 2, 0] = value
    assert not Leaving(states).is_finite()
    assert Leaving(states[:, :0]).is_finite()


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_what_leaves_is_what_was_computed() -> None:
    made = to_device(torch.arange(1 << 20, dtype=torch.float32), torch.device("cuda"))
    leaving = Leaving(made * 2)
    assert torch.equal(leaving.on_host(), torch.arange(1 << 20) * 2.0)
