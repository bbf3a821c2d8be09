"""Which operators wait for a busy stream: those that CUDA waits for, and a few beside them."""

from __future__ import annotations

import warnings

import pytest
import torch

from tests.conformance import operator_cases

# The result's shape depends on data, or the host needs the result.
DATA_DEPENDENT = {
    "aten::_histogramdd_bin_edges",
    "aten::_to_sparse",
    "aten::_to_sparse.sparse_dim",
    "aten::_unique2",
    "aten::equal",
    "aten::histogram.bin_ct",
    "aten::masked_select",
    "aten::nonzero",
    "aten::nonzero_static",
    "aten::repeat_interleave.Tensor",
    "aten::unique_consecutive",
    "aten::unique_dim",
}
# The call itself must raise what a factorisation finds.
LINEAR_ALGEBRA = (
    "aten::linalg_",
    "aten::_linalg_",
    "aten::_cholesky",
    "aten::cholesky",
    "aten::geqrf",
    "aten::ormqr",
)
# No meta kernel tells their results, or it tells other shapes than the CPU's.
UNPREDICTED = {
    "aten::_ctc_loss",
    "aten::_cummax_helper",
    "aten::_cummin_helper",
    "aten::_embedding_bag_forward_only",
    "aten::_logcumsumexp",
    "aten::_sparse_mm_reduce_impl",
    "aten::sparse_sampled_addmm",
}


def waiting(name: str) -> set[str]:
    """Operators that wait in an op_db entry behind other work, when they have run before."""
    op = operator_cases.operators()[name]
    if not operator_cases.has_dtype(op, torch.float32):
        return set()
    found: set[str] = set()
    for sample in operator_cases.samples(op, torch.float32, False, 1):
        for repeated in (False, True):
            inputs = operator_cases.card_inputs(op, sample)
            torch.spyre.synchronize()
            for _ in range(2):
                torch.mm(operator_cases.busy_matrix(), operator_cases.busy_matrix())
            torch.spyre.reset_operator_calls()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    operator_cases.seeded(op, *inputs)
                except Exception:  # entries of other devices
                    break
            if repeated:
                calls = torch.spyre.operator_calls()
                found |= {name for name, count in calls.items() if count.waited}
    return found


def unexpected(names: list[str]) -> dict[str, set[str]]:
    allowed = DATA_DEPENDENT | UNPREDICTED
    rows = {name: waiting(name) - allowed for name in names}
    return {
        name: left
        for name, row in rows.items()
        if (left := {op for op in row if not op.startswith(LINEAR_ALGEBRA)})
    }


def test_common_operators_do_not_wait() -> None:
    names = (
        "where,masked_fill,index_put,sort,topk,median,max.reduction_no_dim,std,var_mean,roll,flip,"
        "normal,normal.number_mean,multinomial,bernoulli,nn.functional.rrelu,"
        "nn.functional.batch_norm,nn.functional.group_norm,nn.functional.huber_loss,"
        "nn.functional.adaptive_avg_pool2d,nn.functional.max_pool3d,nn.functional.grid_sample,"
        "nn.functional.prelu,nn.functional.hardtanh,nn.functional.unfold,abs,isnan,prod,take,"
        "fft.rfft,linspace,complex,searchsorted,histc"
    )
    assert not unexpected(names.split(","))


def test_what_the_host_needs_does_wait() -> None:
    assert waiting("nonzero") == {"aten::nonzero"}
    assert waiting("masked_select") == {"aten::masked_select"}


@pytest.mark.slow
def test_every_operator() -> None:
    assert not unexpected(list(operator_cases.operators()))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.normal(x, 1.0),
        lambda x: torch.normal(0.0, x),
        lambda x: torch.poisson(x),
        lambda x: torch.multinomial(x, 8, replacement=True),
        lambda x: torch.nn.functional.rrelu(-x, training=True),
        lambda x: torch.bernoulli(x / 2),
    ],
)
def test_queued_draws_give_the_cpus_numbers_in_order(draw: object) -> None:
    """Behind other work, among draws that run at once; then again for the same seed."""

    def draws(device: str) -> list[torch.Tensor]:
        x = torch.linspace(0.1, 1.9, 60).reshape(6, 10).to(device)
        operator_cases.seed(3)
        results = []
        for _ in range(3):
            if device == "spyre":
                torch.mm(operator_cases.busy_matrix(), operator_cases.busy_matrix())
            results += [draw(x), torch.rand(5, device=device)]  # type: ignore[operator]
        return [r.cpu() for r in results]

    expected = draws("cpu")
    for _ in range(2):
        torch.testing.assert_close(draws("spyre"), expected)


def test_wrong_shapes_are_the_calls_own_error() -> None:
    """Also when the operator would be queued."""
    x, y = torch.rand(300, 300, device="spyre"), torch.rand(2, 3, device="spyre")
    for _ in range(2):
        torch.mm(operator_cases.busy_matrix(), operator_cases.busy_matrix())
        torch.where(x > 0.5, x, x)
        torch.roll(x, 1)
        with pytest.raises(RuntimeError, match="must match"):
            torch.where(x > 0.5, x, y)
        with pytest.raises(RuntimeError, match=r"dimension|dims"):
            torch.roll(x, (1, 2), (0,))
    torch.spyre.synchronize()


def test_values_become_the_streams_error() -> None:
    """As on CUDA, where the kernel finds them. A later synchronizing call raises."""
    big = torch.rand(40000, device="spyre")
    torch.multinomial(big, 4, replacement=True)
    negative = -big
    with pytest.raises(RuntimeError, match="invalid multinomial distribution"):
        torch.multinomial(negative, 4, replacement=True)
        torch.spyre.synchronize()


def test_a_queued_kernel_may_choose_another_memory_format() -> None:
    """max_unpool2d restrides its output to channels-last; ours has told its strides by then."""
    x = torch.rand(2, 3, 8, 8)
    pooled, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    expected = torch.nn.functional.max_unpool2d(pooled, indices, 2)
    for layout in (torch.contiguous_format, torch.channels_last):
        given = [t.to("spyre", memory_format=layout) for t in (pooled, indices)]
        for _ in range(4):
            torch.mm(operator_cases.busy_matrix(), operator_cases.busy_matrix())
        result = torch.nn.functional.max_unpool2d(*given, 2)
        torch.testing.assert_close(result.cpu(), expected, check_stride=False)
