"""16-bit recurrent networks round where the CPU's do: padded, packed, projected, both ways."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence

from tests.conformance.comparison import check_equal

KINDS = {
    "lstm": lambda **given: torch.nn.LSTM(5, 6, **given),
    "lstm_projected": lambda **given: torch.nn.LSTM(5, 6, proj_size=3, **given),
    "gru": lambda **given: torch.nn.GRU(5, 6, **given),
    "tanh": lambda **given: torch.nn.RNN(5, 6, **given),
    "relu": lambda **given: torch.nn.RNN(5, 6, nonlinearity="relu", **given),
}


def outputs_and_gradients(module: Any, data: torch.Tensor, packed: bool) -> list[Any]:
    given = data.detach().requires_grad_()
    lengths = torch.tensor([4, 3, 1])
    result, hidden = module(
        pack_padded_sequence(given, lengths, batch_first=True) if packed else given
    )
    result = result.data if packed else result
    states = hidden if isinstance(hidden, tuple) else (hidden,)
    loss = result.float().square().sum() + sum(s.float().sum() for s in states)
    loss.backward()
    return [result, *states, given.grad, *(p.grad for p in module.parameters())]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_two_layers_both_directions(
    kind: str, packed: bool, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    module = KINDS[kind](num_layers=2, bidirectional=True, batch_first=True).to(dtype)
    data = torch.randn(3, 4, 5).to(dtype)
    twin = copy.deepcopy(module).to("spyre")
    expected = outputs_and_gradients(module, data, packed)
    check_equal(outputs_and_gradients(twin, data.to("spyre"), packed), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_without_gradients(kind: str) -> None:
    torch.manual_seed(0)
    module = KINDS[kind](num_layers=2, bias=False).to(torch.bfloat16).eval()
    data = torch.randn(4, 3, 5).to(torch.bfloat16)
    twin = copy.deepcopy(module).to("spyre")
    with torch.inference_mode():
        check_equal(twin(data.to("spyre")), module(data))


def test_a_wrong_hidden_state_is_refused_as_on_the_cpu() -> None:
    data = torch.randn(4, 3, 5).to(torch.bfloat16)
    messages = []
    for device in ("cpu", "spyre"):
        weights = torch.nn.GRU(5, 6).to(torch.bfloat16).to(device)._flat_weights
        hidden = torch.zeros(2, 3, 6, dtype=torch.bfloat16, device=device)
        with pytest.raises(RuntimeError) as raised:
            torch.gru(
                data.to(device), hidden, weights, True, 1, 0.0, False, False, False
            )
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
