"""What a capture may refuse of op_db's float32 entries; any other refusal is a failure."""

from __future__ import annotations

import re

# Operators whose shapes data decides, or that give the host a number or a sparse tensor.
OPERATORS = (
    "_to_sparse|_unique2|equal|masked_select|nonzero|repeat_interleave|unique_consecutive|"
    "unique_dim|_ctc_loss|linalg_lstsq|_sparse_mm_reduce_impl|sparse_sampled_addmm"
)
# Entries whose composite code or gradient reads a value (or copies one to the card) on the host.
READ_BY_HOST = (
    r"allclose|cumprod|narrow|__getitem__|(linspace|logspace)\.tensor_overload|"
    r"nn\.functional\.(ctc_loss|gaussian_nll_loss)|"
    r"linalg\.(cholesky|eigvals|ldl_factor|matrix_power|lu_factor|inv|solve|tensorinv|tensorsolve)|"
    r"signal\.windows\.(hamming|hann|blackman|kaiser|general_cosine|general_hamming|nuttall)|"
    r"masked\.(sum|prod|cumsum|cumprod|amax|amin|argmax|argmin|mean|median|norm|softmax|"
    r"log_softmax|softmin|logaddexp|logsumexp)"
)
# PyTorch's gradient takes a way without the host for CUDA by name only.
READ_UNLESS_CUDA = r"(max|min)\.reduction_no_dim|median|nanmedian"


def is_refused(entry: str, message: str) -> bool:
    """Whether `message` is the refusal that an entry (full name) may end with."""
    if "set_current_seed" in message:  # the entry seeds itself, which no capture allows
        return True
    if "stream synchronize: operation not permitted" in message:
        return bool(re.fullmatch(f"{READ_BY_HOST}|{READ_UNLESS_CUDA}", entry))
    return bool(
        re.search(rf"aten::({OPERATORS})[\w.]*: operation not permitted", message)
    )
