"""Functions whose plans and sources are golden: one idea of the code generator each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def _f32(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def _bf16(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.bfloat16)


def _i64(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int64)


def relu_bias(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + b)


def gelu_bfloat16(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.gelu(x) * y


def silu_float16(x: torch.Tensor) -> torch.Tensor:
    return F.silu(x)


def transposed_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.t() + y


def where_and_compare(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return torch.where((x > 0) & m, x, -x)


def integer_arithmetic(i: torch.Tensor) -> torch.Tensor:
    return (i // 3) * 5 + i % 7


def float64_math(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(x) + torch.sin(x)


def float8_round_trip(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float8_e4m3fn).to(torch.float32) * 2


def bitcast(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int32) & 0x7FFFFFFF


def concatenate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, y], 1) + 1


def padded(x: torch.Tensor) -> torch.Tensor:
    return F.pad(x, (3, 5)) * 2


def embedding(w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return F.embedding(i, w)


def index_add(x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.index_put((i,), y, accumulate=True)


def bucketize(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.bucketize(x, b)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return F.softmax(x, -1)


def masked_softmax(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return F.softmax(x.masked_fill(m, -1e9), -1)


def column_softmax(x: torch.Tensor) -> torch.Tensor:
    return F.softmax(x, 0)


def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (x.shape[-1],), w, b)


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, (x.shape[-1],), w)


def row_sum(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)


def column_sum(x: torch.Tensor) -> torch.Tensor:
    return x.sum(0)


def sum_of_all(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


def argmax(x: torch.Tensor) -> torch.Tensor:
    return x.argmax(-1)


def column_variance(x: torch.Tensor) -> torch.Tensor:
    return x.var(0)


def cumulative_sum(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(-1)


def cumulative_max(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.cummax(0)


def max_pool(x: torch.Tensor) -> torch.Tensor:
    return F.max_pool2d(x, 3, 2, 1)


def batch_norm_inference(
    x: torch.Tensor, m: torch.Tensor, v: torch.Tensor
) -> torch.Tensor:
    return F.batch_norm(x, m, v)


def dropout(x: torch.Tensor) -> torch.Tensor:
    return F.dropout(x, 0.25)


def in_place(x: torch.Tensor) -> torch.Tensor:
    return x.mul_(2).add_(1)


def cumulative_sum_of_all(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(0)


def softmax_bfloat16(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).softmax(-1)


_ROWS = (64, 1000)
# function -> inputs. Values play no role: only plans are made.
GRAPHS: dict[Callable[..., Any], tuple[Any, ...]] = {
    relu_bias: (_f32(*_ROWS), _f32(1000)),
    gelu_bfloat16: (_bf16(*_ROWS), _bf16(*_ROWS)),
    silu_float16: (_f32(*_ROWS).half(),),
    transposed_add: (_f32(64, 48), _f32(48, 64)),
    where_and_compare: (_f32(*_ROWS), _f32(*_ROWS) > 0),
    integer_arithmetic: (_i64(*_ROWS),),
    float64_math: (_f32(*_ROWS).double(),),
    float8_round_trip: (_f32(*_ROWS),),
    bitcast: (_f32(*_ROWS),),
    concatenate: (_f32(64, 100), _f32(64, 28)),
    padded: (_f32(64, 100),),
    embedding: (_f32(500, 64), _i64(8, 30)),
    index_add: (_f32(50, 64), _i64(30), _f32(30, 64)),
    bucketize: (_f32(1000), torch.arange(20.0)),
    softmax: (_f32(*_ROWS),),
    masked_softmax: (_f32(*_ROWS).half(), _f32(*_ROWS) > 0),
    column_softmax: (_f32(40, 200),),
    layer_norm: (_bf16(*_ROWS), _bf16(1000), _bf16(1000)),
    rms_norm: (_f32(*_ROWS), _f32(1000)),
    row_sum: (_f32(*_ROWS),),
    column_sum: (_bf16(*_ROWS),),
    softmax_bfloat16: (_bf16(64, 1024),),
    sum_of_all: (_f32(1024, 512),),
    argmax: (_f32(*_ROWS),),
    column_variance: (_f32(*_ROWS),),
    cumulative_sum: (_f32(*_ROWS),),
    cumulative_sum_of_all: (_f32(1 << 18),),
    cumulative_max: (_f32(64, 48),),
    max_pool: (_f32(2, 3, 32, 32),),
    batch_norm_inference: (_f32(2, 16, 14, 14), _f32(16), _f32(16)),
    dropout: (_f32(*_ROWS),),
    in_place: (_f32(*_ROWS),),
}
# The same with sizes known at launch only.
DYNAMIC_GRAPHS = (relu_bias, softmax, column_sum, concatenate)
