"""Attention in a launch plan: what Inductor keeps for a PrivateUse1 device has no CPU
kernel of their own, so the plan calls the CPU's flash attention, as the eager operators do
(csrc/aten/attention.cpp).
"""

from __future__ import annotations

from typing import Any

import torch

FORWARD = torch.ops.aten._scaled_dot_product_fused_attention_overrideable.default
BACKWARD = (
    torch.ops.aten._scaled_dot_product_fused_attention_overrideable_backward.default
)
_CPU_FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_CPU_BACKWARD = (
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
)


def on_cpu_kernel(
    operator: torch._ops.OpOverload, args: dict[str, Any]
) -> tuple[torch._ops.OpOverload, dict[str, Any]] | None:
    """The CPU operator and its arguments by name; None when the plan cannot call it.

    Results 0 and 1 (forward) or 0 to 2 (backward) are the same as `operator`'s. Its others are
    states of a random generator, which nothing reads: dropout takes the math path.
    """
    if args.get("dropout_p"):
        return None
    if operator in (_CPU_FORWARD, _CPU_BACKWARD):
        return operator, args
    if operator is FORWARD:
        names: tuple[str, ...]
        names = ("query", "key", "value", "dropout_p", "is_causal", "scale")
        given = {name: args[name] for name in names if name in args}
        return _CPU_FORWARD, {**given, "attn_mask": args.get("attn_bias")}
    if operator is BACKWARD:
        if args["grad_input_mask"][3]:
            return None
        names = (
            "grad_out", "query", "key", "value", "out", "logsumexp", "dropout_p", "is_causal",
            "scale",
        )  # fmt: skip
        given = {name: args[name] for name in names if name in args}
        return _CPU_BACKWARD, {**given, "attn_mask": args.get("attn_bias")}
    return None


# A CPU model's graph names the CPU's operators.
OPERATORS = (FORWARD, BACKWARD, _CPU_FORWARD, _CPU_BACKWARD)


def kept_results(operator: torch._ops.OpOverload) -> int:
    """How many leading results of `operator` the CPU operator gives."""
    return 2 if operator in (FORWARD, _CPU_FORWARD) else 3
