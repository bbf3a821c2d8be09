"""After a fork the child cannot use the device, and is told so; it can still end."""

from __future__ import annotations

from tests.runtime.test_registration import run_python

MESSAGE = "Cannot re-initialize Spyre in forked subprocess"

FORK = """
import os, torch
{before}
pid = os.fork()
if pid == 0:
    code = 7
    try:
        {child}
        code = 0
    except RuntimeError as error:
        code = 3 if {message!r} in str(error) else 5
    os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
{after}
"""


def fork(before: str, child: str, after: str = "") -> list[str]:
    result = run_python(
        FORK.format(before=before, child=child, after=after, message=MESSAGE)
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


USED = "x = torch.ones(1 << 22, device='spyre') + 1"


def test_the_child_of_a_used_device_gets_cudas_message() -> None:
    assert fork(USED, "torch.ones(2, device='spyre')") == ["3"]
    assert fork(USED, "torch.spyre.init()") == ["3"]
    assert fork(USED, "torch.spyre.synchronize()") == ["3"]


def test_the_parent_works_on() -> None:
    after = "print((x + 1).max().item())"
    assert fork(USED, "torch.ones(2, device='spyre')", after) == ["3", "3.0"]


def test_the_child_of_an_unused_device_may_use_it() -> None:
    assert fork("", "assert torch.ones(2, device='spyre').sum().item() == 2") == ["0"]


def test_the_child_may_seed_and_ask() -> None:
    child = (
        "torch.manual_seed(1); assert torch.spyre._is_in_bad_fork();"
        " assert not torch.spyre.is_initialized(); assert torch.spyre.is_available()"
    )
    assert fork(USED, child) == ["0"]


def test_the_child_may_drop_the_parents_tensors() -> None:
    assert fork(USED, "del x") == ["0"]


def test_data_loader_workers_by_fork_serve_host_tensors() -> None:
    code = (
        "import torch\n"
        f"{USED}\n"
        "loader = torch.utils.data.DataLoader(torch.arange(8.), batch_size=4,"
        " num_workers=1, pin_memory=True, multiprocessing_context='fork')\n"
        "print(sum(batch.to('spyre').sum().item() for batch in loader))\n"
    )
    result = run_python(code)
    assert result.stdout.strip() == "28.0", result.stderr
