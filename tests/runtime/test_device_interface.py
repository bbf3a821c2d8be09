"""Dynamo knows the device, whoever imports Dynamo and when."""

from __future__ import annotations

import pytest

from tests.runtime.test_registration import run_python

ASK = (
    "from torch._dynamo.device_interface import get_interface_for_device as get;"
    "i = get('spyre'); print(i.device_count(), i.current_device(), i.is_available(),"
    " get('spyre:1') is i)"
)


@pytest.mark.parametrize(
    "first",
    ["import torch", "import torch, torch._dynamo", "import torch_spyre, torch"],
)
def test_the_interface_is_there_without_a_compile(first: str) -> None:
    result = run_python(f"{first}; {ASK}")
    assert result.stdout.split() == ["2", "0", "True", "True"], result.stderr


def test_dynamo_may_be_imported_before_the_device() -> None:
    code = f"import torch, torch._dynamo; import torch_spyre; {ASK}"
    result = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert result.stdout.split() == ["2", "0", "True", "True"], result.stderr
